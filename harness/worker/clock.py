"""The worker's stopwatch: time from the call of a candidate to the end of all its work.

Everything that it uses is taken from torch before the candidate is imported, so replacing
attributes of `torch` afterwards changes nothing. Code that rewrites torch's own memory can still
forge these numbers: that is why the judge holds a wall clock of its own and believes neither alone.

Known biases: the event pair itself takes time (not measured here, not subtracted); a call whose
launch takes longer than the spin is host-bound and its launch time is counted (`host_ms` beside it
shows this).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

_now = time.perf_counter_ns
NS_PER_MS = 1e6
SPIN_CYCLES_PER_MS = 2_000_000  # at or above the boost clock of current parts: never a short spin


@dataclass(frozen=True)
class Times:
    """One call, in ms: on the device, on the host until it returned, after the end event."""

    device_ms: float
    host_ms: float
    tail_ms: float


class Stopwatch(Protocol):
    """Times one call and returns what it gave; `steps` gets the name of each step as it is done."""

    def time(self, call: Callable[[], Any], spin_ms: float, steps: list[str]) -> tuple[Any, Times]:
        """What `call` gave, and how long it took behind a spin of `spin_ms`."""
        ...


class HostStopwatch:
    """For a CPU: torch's operators return when they are done, so host time is device time."""

    def time(self, call: Callable[[], Any], spin_ms: float, steps: list[str]) -> tuple[Any, Times]:
        """Ignores the spin: there is no queue to fill."""
        steps.append("start")
        before = _now()
        result = call()
        taken = (_now() - before) / NS_PER_MS
        steps += ["call", "end", "sync"]
        return result, Times(device_ms=taken, host_ms=taken, tail_ms=0.0)


class DeviceStopwatch:
    """For a GPU: two events on the stream that was current before the candidate came."""

    def __init__(self) -> None:
        self._stream = torch.cuda.current_stream()
        self._use_stream = torch.cuda.set_stream
        self._sleep = torch._C._cuda_sleep
        self._synchronize = torch._C._cuda_synchronize
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        base = torch._C._CudaEventBase
        self._record, self._wait = base.record, base.synchronize
        self._elapsed = base.elapsed_time
        self._record(self._start, self._stream)  # both exist on the device from here on
        self._record(self._end, self._stream)
        self._synchronize()

    def restore_stream(self) -> None:
        """Make our stream the current one again, whatever the candidate left."""
        self._use_stream(self._stream)

    def time(self, call: Callable[[], Any], spin_ms: float, steps: list[str]) -> tuple[Any, Times]:
        """The spin fills the queue, so the launch of `call` lies behind it and is not counted."""
        self.restore_stream()
        if spin_ms > 0:
            self._sleep(int(spin_ms * SPIN_CYCLES_PER_MS))
            steps.append("spin")
        self._record(self._start, self._stream)
        steps.append("start")
        before = _now()
        result = call()
        returned = _now()
        self._record(self._end, self._stream)
        steps += ["call", "end"]
        self._wait(self._end)
        ended = _now()
        self._synchronize()
        tail = (_now() - ended) / NS_PER_MS
        steps.append("sync")
        self.restore_stream()
        elapsed = float(self._elapsed(self._start, self._end))
        return result, Times(elapsed, (returned - before) / NS_PER_MS, tail)
