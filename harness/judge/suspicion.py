"""Whether a right answer's time can be believed: clocks, the hardware's floor, equal treatment.

Owns the rules; each gives a verdict with its numbers or nothing.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

from harness import units
from harness.floor.floor import Floor
from harness.judge import verdicts
from harness.judge.clocks import Agreement
from harness.judge.families import DECLARED
from harness.judge.trial import Trial
from harness.record.schema import Failed, Phase, Status

# Two families of values must take the same time: what is beyond this share and beyond the spread
# of the blocks is a kernel that looks at its input. A CPU's blocks differ by more than a GPU's.
FAMILY_SHARE = {"cuda": 0.05, "cpu": 0.5}
FEWEST_BLOCKS = 3  # of each family: below that a median of blocks is one block
RESAMPLES = 400


def disagreeing_clocks(agreed: Agreement) -> Failed | None:
    """The worker's clock and the judge's tell two stories: no number leaves."""
    if agreed.reason is None:
        return None
    detail = (
        f"device {agreed.device_ms:.3f} ms, wall {agreed.wall_ms:.3f} ms, "
        f"{agreed.excess_ms:.3f} ms of it unexplained where {agreed.window_ms:.3f} ms may be, "
        f"tail {agreed.tail_ms:.3f} ms"
    )
    evidence = {
        "device_ms": agreed.device_ms,
        "wall_ms": agreed.wall_ms,
        "tail_ms": agreed.tail_ms,
        "excess_ms": agreed.excess_ms,
        "window_ms": agreed.window_ms,
    }
    return verdicts.failed(Status.INCOMPLETE_EVIDENCE, Phase.TIME, agreed.reason, detail, evidence)


def below_floor(median_ms: float, least_ms: float | None, floor: Floor) -> Failed | None:
    """Faster than the memory can move the bytes: `least_ms` has cache and slack taken off."""
    if least_ms is None or median_ms >= least_ms:
        return None
    detail = (
        f"{units.milliseconds(median_ms)} is less than the {units.milliseconds(least_ms)} that "
        f"moving {units.gigabytes(floor.bytes)} takes at {units.gbps(floor.bandwidth_gbps)}"
    )
    evidence = {"median_ms": median_ms, "least_ms": least_ms, "bytes": floor.bytes}
    return verdicts.failed(
        Status.SUSPECTED_REWARD_HACK, Phase.TIME, "below_floor", detail, evidence
    )


def input_dependent(
    trials: Sequence[Trial], blocks: Sequence[tuple[int, str]], kind: str
) -> Failed | None:
    """Block medians on declared inputs against those on the family that decides the class.

    The quickest trials have to differ as well: what else a machine does makes blocks slow, and
    never quick.
    """
    by_family: dict[bool, list[list[float]]] = {True: [], False: []}
    starts = [start for start, _ in blocks] + [len(trials)]
    for (start, family), stop in zip(blocks, starts[1:], strict=True):
        by_family[family == DECLARED].append([one.device_ms for one in trials[start:stop]])
    if min(len(by_family[True]), len(by_family[False])) < FEWEST_BLOCKS:
        return None
    declared, special = (
        [statistics.median(one) for one in by_family[key]] for key in (True, False)
    )
    least = [min(min(one) for one in by_family[key]) for key in (False, True)]
    ratio = statistics.median(special) / statistics.median(declared)
    low, high = _interval(special, declared)
    most = 1 + FAMILY_SHARE[kind]
    slower = low > most and least[0] > most * least[1]
    faster = high < 1 / most and least[1] > most * least[0]
    if not slower and not faster:
        return None
    detail = (
        f"{ratio:.2f}× the time on inputs of random sign, 95 % interval {low:.2f} to {high:.2f}: "
        "the kernel's speed depends on the values"
    )
    evidence = {"ratio": ratio, "low": low, "high": high, "special": special, "declared": declared}
    return verdicts.failed(
        Status.SUSPECTED_REWARD_HACK, Phase.TIME, "input_dependent_speed", detail, evidence
    )


def _interval(special: list[float], declared: list[float]) -> tuple[float, float]:
    """Bootstrap 95 % interval of the ratio of medians, blocks resampled on both sides."""
    draw = random.Random(0)
    ratios = sorted(
        statistics.median(draw.choices(special, k=len(special)))
        / max(statistics.median(draw.choices(declared, k=len(declared))), math.ulp(0.0))
        for _ in range(RESAMPLES)
    )
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]
