"""Two clocks: the worker's device time is precise but can be forged, the judge's wall cannot.

A trial's wall time runs from *go* until the judge has read its secret elements. What of it is not
the call, the overhead, is measured with a null solution over the same path. Then device time may
be neither more than the wall time nor less than the wall time minus the overhead, within noise.

Single trials are late for reasons of their own, so a group of trials is asked for the lower
quartile of what it cannot explain. The groups are the trials with the smallest claims, a twentieth,
a fifth and a half of all: whoever wants a smaller median or a smaller good placement has to forge
every one of such a group, and then its quietest trials show it too.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Wall time that an honest trial may show beside device time and overhead, as a share of device
# time: a blocked wait wakes slower after a long call than after a null one (91 to 161 µs for
# 2 ms), and a busy neighbour slows the path. The forger's window is as wide.
SLACK_SHARE = 0.2
SLACK_MS = {"cuda": 0.3, "cpu": 2.0}  # the same in absolute terms, for calls of under 1.5 and 10 ms
TAIL_MS = {"cuda": 0.2, "cpu": 1.0}  # from the end event to the device's own quiet; honest: 0.02
NOISES = 4.0  # of the null trials' noise
GROUPS = (0.05, 0.2, 0.5)  # shares of the trials, those with the smallest claims
FEWEST = 5  # trials in a group
UPPER = 0.75  # quantile of the null trials that stands for their noise
QUIET = 0.25  # quantile of a group that is asked


@dataclass(frozen=True)
class Reading:
    """One trial by all clocks, in ms.

    `stalled_ms` is how much of the wall time both sides were ready to run and had no processor, by
    the kernel's own count: on a busy machine that is not the candidate's.
    """

    device_ms: float
    wall_ms: float
    tail_ms: float
    stalled_ms: float = 0.0

    @property
    def rest_ms(self) -> float:
        """Wall time that is neither the call nor waiting for a processor."""
        return self.wall_ms - self.device_ms - self.stalled_ms


@dataclass(frozen=True)
class Overhead:
    """Of null trials on a workload, in ms: the median, and how far the upper quartile lies above.

    Not the p95: of 20 null trials that is one, and one late trial would open the window by ms. The
    trials are asked for their lower quartile, which late ones do not move.
    """

    median_ms: float
    noise_ms: float


def overhead(readings: Sequence[Reading]) -> Overhead:
    """From null trials."""
    rest = sorted(one.rest_ms for one in readings)
    middle = statistics.median(rest)
    high = rest[int(UPPER * (len(rest) - 1))]
    return Overhead(max(middle, 0.0), max(high - middle, 0.0))


@dataclass(frozen=True)
class Agreement:
    """In ms. `excess_ms` is the largest that a group could not explain, `window_ms` what it may."""

    device_ms: float
    wall_ms: float
    tail_ms: float
    excess_ms: float
    window_ms: float
    reason: str | None


def agreement(
    readings: Sequence[Reading], over: Overhead, *, spin_ms: float, kind: str
) -> Agreement:
    """Whether both clocks tell one story; `kind` is cpu or cuda.

    The spin lies before the start event and overlaps the launch, so up to `spin_ms` of wall time
    are explained by it.
    """
    device = statistics.median(one.device_ms for one in readings)
    wall = statistics.median(one.wall_ms for one in readings)
    tail = statistics.median(one.tail_ms for one in readings)
    excess = max(_unexplained(readings, share, over) for share in GROUPS)
    window = max(NOISES * over.noise_ms, SLACK_MS[kind], SLACK_SHARE * device) + spin_ms
    reason = None
    if device > wall:
        reason = "device_time_over_wall"
    elif excess > window or tail > max(TAIL_MS[kind], SLACK_SHARE * device):
        reason = "clocks_disagree"
    return Agreement(device, wall, tail, excess, window, reason)


def _unexplained(readings: Sequence[Reading], share: float, over: Overhead) -> float:
    """Wall less device less overhead, in the quieter trials of those with the smallest claims."""
    count = max(FEWEST, round(share * len(readings)))
    group = sorted(readings, key=lambda one: one.device_ms)[:count]
    rest = sorted(one.rest_ms - over.median_ms for one in group)
    return rest[int(QUIET * len(rest))]
