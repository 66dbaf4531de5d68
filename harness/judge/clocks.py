"""Two clocks: the worker's device time is precise but can be forged, the judge's wall cannot.

A trial's wall time runs from *go* until the judge has read its secret elements. What of it is not
the call, the overhead, is measured with a null solution over the same path. Then device time may
be neither more than the wall time nor less than the wall time minus the overhead, within noise,
judged by the medians: single trials are late for reasons of their own.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Wall time that an honest trial may show beside device time and overhead, as a share of device
# time: a blocked wait wakes slower after a long call than after a null one (91 to 161 µs for
# 2 ms), and a busy neighbour slows the path. The forger's window is as wide.
SLACK_SHARE = 0.2
SLACK_MS = {"cuda": 0.3, "cpu": 1.0}  # the same in absolute terms, for calls of under 1.5 and 5 ms
TAIL_MS = {"cuda": 0.2, "cpu": 1.0}  # from the end event to the device's own quiet, honest: 0.02


@dataclass(frozen=True)
class Overhead:
    """Of a null trial on this workload, in ms: the median, and how far its p95 lies above it."""

    median_ms: float
    noise_ms: float


def overhead(walls_ms: Sequence[float], devices_ms: Sequence[float]) -> Overhead:
    """From null trials."""
    rest = sorted(wall - device for wall, device in zip(walls_ms, devices_ms, strict=True))
    middle = statistics.median(rest)
    high = rest[min(len(rest) - 1, int(0.95 * len(rest)))]
    return Overhead(max(middle, 0.0), max(high - middle, 0.0))


@dataclass(frozen=True)
class Agreement:
    """Medians in ms. `excess_ms` is wall less device less overhead, `window_ms` what is allowed."""

    device_ms: float
    wall_ms: float
    tail_ms: float
    excess_ms: float
    window_ms: float
    reason: str | None


def agreement(
    devices_ms: Sequence[float],
    walls_ms: Sequence[float],
    tails_ms: Sequence[float],
    over: Overhead,
    *,
    spin_ms: float,
    kind: str,
) -> Agreement:
    """Whether both clocks tell one story; `kind` is cpu or cuda.

    The spin lies before the start event and overlaps the launch, so up to `spin_ms` of wall time
    are explained by it.
    """
    device = statistics.median(devices_ms)
    wall = statistics.median(walls_ms)
    tail = statistics.median(tails_ms)
    excess = wall - device - over.median_ms
    window = max(4 * over.noise_ms, SLACK_MS[kind], SLACK_SHARE * device) + spin_ms
    reason = None
    if device > wall:
        reason = "device_time_over_wall"
    elif excess > window:
        reason = "clocks_disagree"
    elif tail > max(TAIL_MS[kind], SLACK_SHARE * device):
        reason = "work_after_the_end_event"
    return Agreement(device, wall, tail, excess, window, reason)
