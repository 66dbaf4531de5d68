"""Floors for the device that judges: its datasheet's row, or a CPU's measured bandwidth."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.floor import ceiling
from harness.floor.floor import Floor, floor, floor_from_ceiling, impossible_ms, precision_named
from harness.floor.traffic import Policy
from harness.spec import hardware
from harness.spec.tensor import Signature

POLICY: Policy = "complete-v2"


class Floors:
    """One device's floors; without a row it says so once and goes on without."""

    def __init__(self, device: torch.device, tell: Callable[[str], None]) -> None:
        self._device, self._tell = device, tell
        self._row: hardware.Hardware | None = None
        self._measured: ceiling.Ceiling | None = None
        if device.type == "cuda":
            name = torch.cuda.get_device_name(device)
            self._row = hardware.of_device(name)
            cache = torch.cuda.get_device_properties(device).L2_cache_size
            if self._row is not None:
                self._row = self._row.model_copy(update={"l2_bytes": cache})
            else:
                tell(
                    f"no floor: {name!r} is not in {hardware.SPELLED}; "
                    "add a row with its datasheet's bandwidth and peaks"
                )

    def of(self, signature: Signature, class_: str) -> Floor | None:
        """The least time for a workload in a class, None where nothing is known."""
        if self._device.type == "cuda":
            if self._row is None:
                return None
            return floor(signature, self._row, policy=POLICY, precision=precision_named(class_))
        if self._measured is None:
            self._measured = ceiling.measure_cpu()
        measured = self._measured
        return floor_from_ceiling(
            signature, measured.copy_gbps, source=f"copy by {measured.threads} threads, measured"
        )

    def impossible_ms(self, found: Floor, *, warm: bool) -> float | None:
        """The time below which bytes cannot have moved; None where that cannot be said."""
        return impossible_ms(found, self._row, warm=warm)
