"""The buffers of one evaluation: address sets of inputs, the output, the probe, the flush.

Owns what lies in shared memory and in which order it is touched; knows neither truth nor clock.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.judge.buffers import SharedTensor
from harness.judge.oracle import Tensors
from harness.judge.workload import ADDRESS_SETS, Workload
from harness.mapping import Layout

PROBES = 256  # secret elements read when the answer arrives: 32 µs on an H200
FLUSHES = 2  # times the L2, written and read
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}


def as_integers(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of a contiguous tensor, flat, as integers: NaN compares as what it is."""
    return tensor.contiguous().view(-1).view(INTEGERS[tensor.dtype.itemsize])


class Probe:
    """Secret random places of the output and what stood there when the answer came."""

    def __init__(self, output: list[SharedTensor], device: torch.device) -> None:
        self._leaves = [as_integers(one.tensor) for one in output]
        self._places = [
            torch.randint(0, max(leaf.numel(), 1), (PROBES,), device=device).sort().values
            for leaf in self._leaves
        ]
        self._found: list[torch.Tensor] = []
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def read(self) -> None:
        """Read all places; on return the values are on the host and final."""
        self._found = [
            leaf[places].cpu() if leaf.numel() else leaf.cpu()
            for leaf, places in zip(self._leaves, self._places, strict=True)
        ]

    def agrees(self, leaf: int, private: torch.Tensor, first: int) -> bool:
        """Whether a private copy, whose elements start at flat index `first`, has those values."""
        bits = as_integers(private)
        places = self._places[leaf] - first
        inside = (places >= 0) & (places < bits.numel())
        wanted = self._found[leaf][inside.cpu()]
        return bool(torch.equal(bits[places[inside]].cpu(), wanted))


class Arena:
    """Every buffer that the judge shares with one worker, and the L2 flush."""

    def __init__(self, workload: Workload, *, sets: int = ADDRESS_SETS, cold: bool = True) -> None:
        self.device = workload.device
        self.cold = cold
        self.sets: list[list[SharedTensor]] = []
        self.output: list[SharedTensor] = []
        writable = workload.sized.problem.sidecar.writes_inputs
        try:
            for _ in range(sets):
                self.sets.append([])
                for layout in workload.layouts:
                    self.sets[-1].append(SharedTensor(layout, self.device, read_only=not writable))
            for one in workload.outputs:
                self.output.append(
                    SharedTensor(_contiguous(one.shape, one.dtype), self.device, read_only=False)
                )
        except BaseException:
            self.close()
            raise
        self._flushed = self._flush_buffer()

    def _flush_buffer(self) -> torch.Tensor | None:
        if self.device.type != "cuda" or not self.cold:
            return None
        l2 = torch.cuda.get_device_properties(self.device).L2_cache_size
        return torch.empty(FLUSHES * l2 // 4, dtype=torch.int32, device=self.device)

    def fill(self, number: int, tensors: Tensors) -> None:
        """New values into one address set, in place."""
        for shared, tensor in zip(self.sets[number], tensors, strict=True):
            shared.tensor.copy_(tensor)

    def poison(self) -> None:
        """NaN into the whole output."""
        for shared in self.output:
            shared.poison()

    def flush(self) -> None:
        """Push the inputs out of the L2 that writing them has filled, unless it is to stay warm."""
        if self._flushed is None:
            return
        from cuda.bindings import driver

        driver.cuCtxResetPersistingL2Cache()
        self._flushed.add_(1)
        self._flushed.sum()
        torch.cuda.synchronize(self.device)

    def probe(self) -> Probe:
        """Fresh secret places."""
        return Probe(self.output, self.device)

    def input_request(self, number: int) -> tuple[dict[str, Any], tuple[int, ...]]:
        """What maps one address set in the worker."""
        shared = self.sets[number]
        request = {"op": "inputs", "set": number, "tensors": [one.spec() for one in shared]}
        return request, tuple(one.descriptor for one in shared)

    def output_request(self) -> tuple[dict[str, Any], tuple[int, ...]]:
        """What maps the output in the worker."""
        request = {"op": "output", "tensors": [one.spec() for one in self.output]}
        return request, tuple(one.descriptor for one in self.output)

    def close(self) -> None:
        """Give all memory back."""
        for shared in [one for group in [*self.sets, self.output] for one in group]:
            shared.close()
        self.sets, self.output = [], []
        self._flushed = None


def _contiguous(shape: tuple[int, ...], dtype: torch.dtype) -> Layout:
    strides = torch.empty(shape, device="meta").stride()
    return Layout(tuple(shape), tuple(strides), str(dtype).removeprefix("torch."))
