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
QUICK = 0.2  # quantile of trials; the clocks bound how many can be forged unseen
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


def compiling(trials: Sequence[Trial]) -> Failed | None:
    """Compiling belongs to prepare: a call that compiles is no call of the finished kernel."""
    more = trials[-1].compiles - trials[0].compiles
    if more <= 0:
        return None
    return verdicts.failed(
        Status.INCOMPLETE_EVIDENCE,
        Phase.TIME,
        "compiled_while_timing",
        f"{more} graph(s) were compiled between the first and the last timed call",
        {"compiles": more},
    )


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
    """The times on declared inputs against those on each other family that was timed."""
    by_family: dict[str, list[list[float]]] = {DECLARED: []}
    starts = [start for start, _ in blocks] + [len(trials)]
    for (start, family), stop in zip(blocks, starts[1:], strict=True):
        samples = [one.device_ms for one in trials[start:stop]]
        by_family.setdefault(family, []).append(samples)
    declared = by_family.pop(DECLARED)
    for family, special in by_family.items():
        if min(len(declared), len(special)) >= FEWEST_BLOCKS:
            found = _two_families(declared, special, family, 1 + FAMILY_SHARE[kind])
            if found is not None:
                return found
    return None


def _two_families(
    declared: list[list[float]], special: list[list[float]], family: str, most: float
) -> Failed | None:
    """Block medians of two families may differ by `most` and beyond their spread.

    Their quicker trials have to differ as well: what else a machine does makes blocks slow, and
    never quick.
    """
    medians = [[statistics.median(one) for one in group] for group in (special, declared)]
    quick = [_quick(group) for group in (special, declared)]
    ratio = statistics.median(medians[0]) / statistics.median(medians[1])
    low, high = _interval(medians[0], medians[1])
    slower = low > most and quick[0] > most * quick[1]
    faster = high < 1 / most and quick[1] > most * quick[0]
    if not slower and not faster:
        return None
    detail = (
        f"{ratio:.2f}× the time on {family} inputs, 95 % interval {low:.2f} to {high:.2f}: "
        "the kernel's speed depends on the values"
    )
    evidence = {"family": family, "ratio": ratio, "low": low, "high": high}
    evidence |= {"special": medians[0], "declared": medians[1]}
    return verdicts.failed(
        Status.SUSPECTED_REWARD_HACK, Phase.TIME, "input_dependent_speed", detail, evidence
    )


def _quick(blocks: list[list[float]]) -> float:
    """A low quantile of all trials: not the least, which one forged time would set."""
    samples = sorted(one for block in blocks for one in block)
    return samples[int(QUICK * len(samples))]


def _interval(special: list[float], declared: list[float]) -> tuple[float, float]:
    """Bootstrap 95 % interval of the ratio of medians, blocks resampled on both sides."""
    draw = random.Random(0)
    ratios = sorted(
        statistics.median(draw.choices(special, k=len(special)))
        / max(statistics.median(draw.choices(declared, k=len(declared))), math.ulp(0.0))
        for _ in range(RESAMPLES)
    )
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]
