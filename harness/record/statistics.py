"""Everything that is derived from raw samples: medians, intervals, speed-ups, distances to a floor.

Owns the formulas. Stores nothing, ranks nothing, reads no file. Intervals resample blocks and not
trials, because trials on the same buffers resemble each other; they are the same on every machine
for the same samples.

Known biases: a percentile bootstrap of few blocks is too narrow (20 blocks: 93 of 100 hold the
truth), so its tails are shortened as for Student's t (Hesterberg 2015, "What teachers should know
about the bootstrap", the expanded percentile interval), which holds it in 94 to 98 of 100
(tests/record/test_statistics.py). The pooled median repeats less well than `good_ms` when
placement in memory matters.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.record.schema import Record

if TYPE_CHECKING:  # numpy takes a tenth of a second to import
    import numpy

RESAMPLES = 2000  # the ends of a 95 % interval then move by less than its tenth between seeds
SEED = 87  # any constant: the same samples must always give the same interval
CONFIDENCE = 0.95
FEWEST_BLOCKS = 6  # 2 * 0.5^5 = 6 %: the range of five block medians misses the median too often
NOISY = 0.05  # IQR above 5 % of the median: the machine was not quiet
GOOD_PLACEMENT = 0.2  # measurement.md 2: the 20th percentile of block medians repeats best
CACHED = 4096  # summaries kept: a table asks for the same one in several columns
BLOCK = 5  # trials in a block, for samples that came without their blocks

Blocks = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Interval:
    """A 95 % interval; both ends are included."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Tell whether the two intervals share a point."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Summary:
    """What a set of samples says; all times in ms. `std_ms` is of the sample (n - 1)."""

    trials: int
    median_ms: float
    interval: Interval
    mean_ms: float
    std_ms: float | None
    p05_ms: float
    p95_ms: float
    min_ms: float
    max_ms: float
    good_ms: float
    iqr_ratio: float

    @property
    def noisy(self) -> bool:
        """Whether the middle half of the samples spreads too far to trust small differences."""
        return self.iqr_ratio > NOISY


@dataclass(frozen=True)
class Speedup:
    """How many times faster than the baseline: above 1 is faster, below 1 slower."""

    ratio: float
    interval: Interval


def summarise(samples_ms: Sequence[float], starts: Sequence[int] = ()) -> Summary:
    """Summarise samples whose blocks begin at `starts` (blocks of 5 where none are given)."""
    if not samples_ms:
        raise ValueError("no samples to summarise")
    return _summarise(tuple(samples_ms), tuple(starts))


@functools.lru_cache(maxsize=CACHED)
def _summarise(samples_ms: tuple[float, ...], starts: tuple[int, ...]) -> Summary:
    ordered = sorted(samples_ms)
    median = statistics.median(ordered)
    spread = percentile(ordered, 0.75) - percentile(ordered, 0.25)
    return Summary(
        trials=len(ordered),
        median_ms=median,
        interval=median_interval(samples_ms, starts),
        mean_ms=statistics.fmean(ordered),
        std_ms=statistics.stdev(ordered) if len(ordered) > 1 else None,
        p05_ms=percentile(ordered, 0.05),
        p95_ms=percentile(ordered, 0.95),
        min_ms=ordered[0],
        max_ms=ordered[-1],
        good_ms=good_placement(samples_ms, starts),
        iqr_ratio=spread / median if median > 0 else 0.0,
    )


def summary_of(record: Record) -> Summary | None:
    """Summarise a record's samples; None where it has none."""
    if record.timing is None or not record.timing.samples_ms:
        return None
    return summarise(record.timing.samples_ms, starts_of(record))


def starts_of(record: Record) -> tuple[int, ...]:
    """List where the blocks of a record's samples begin."""
    return () if record.timing is None else tuple(block.start for block in record.timing.blocks)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Interpolate linearly between the two nearest of the sorted values, as numpy does."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def blocks_of(samples: Sequence[float], starts: Sequence[int] = ()) -> Blocks:
    """Cut samples into their blocks."""
    cuts = list(starts) or list(range(0, len(samples), BLOCK))
    ends = [*cuts[1:], len(samples)]
    return tuple(tuple(samples[start:end]) for start, end in zip(cuts, ends, strict=True))


def good_placement(samples_ms: Sequence[float], starts: Sequence[int] = ()) -> float:
    """Return the 20th percentile of block medians: what the kernel does when its pages lie well."""
    medians = sorted(statistics.median(block) for block in blocks_of(samples_ms, starts))
    return percentile(medians, GOOD_PLACEMENT)


def median_interval(samples_ms: Sequence[float], starts: Sequence[int] = ()) -> Interval:
    """Return the 95 % interval of the median; the whole range where blocks are too few for one."""
    blocks = blocks_of(samples_ms, starts)
    if len(blocks) < FEWEST_BLOCKS:
        return Interval(min(samples_ms), max(samples_ms))
    drawn = _resampled_medians(blocks, seed=SEED)
    return _middle(drawn, around=statistics.median(samples_ms), blocks=len(blocks))


def speedup(
    candidate_ms: Sequence[float],
    baseline_ms: Sequence[float],
    *,
    candidate_starts: Sequence[int] = (),
    baseline_starts: Sequence[int] = (),
    paired: bool = False,
) -> Speedup | None:
    """Divide the baseline's median by the candidate's, with the interval from blocks of both.

    Paired runs resample both sides' blocks together, so that what slowed both cancels. None where
    the candidate's time is too small for a ratio.
    """
    if min(candidate_ms) <= 0:
        return None
    ours = blocks_of(candidate_ms, candidate_starts)
    others = blocks_of(baseline_ms, baseline_starts)
    ratio = statistics.median(baseline_ms) / statistics.median(candidate_ms)
    fewest = min(len(ours), len(others))
    if fewest < FEWEST_BLOCKS:
        slowest, fastest = max(candidate_ms), min(candidate_ms)
        return Speedup(ratio, Interval(min(baseline_ms) / slowest, max(baseline_ms) / fastest))
    together = paired and len(ours) == len(others)
    theirs = _resampled_medians(others, seed=SEED)
    mine = _resampled_medians(ours, seed=SEED if together else SEED + 1)
    return Speedup(ratio, _middle(theirs / mine, around=ratio, blocks=fewest))


def speedup_of(record: Record) -> Speedup | None:
    """Compare a record's samples with its baseline's; None where either side has none."""
    timing, baseline = record.timing, record.baseline
    if timing is None or baseline is None or not timing.samples_ms or not baseline.samples_ms:
        return None
    starts = starts_of(record)
    same = len(baseline.samples_ms) == len(timing.samples_ms)
    return speedup(
        timing.samples_ms,
        baseline.samples_ms,
        candidate_starts=starts,
        baseline_starts=starts if same else (),
        paired=any(block.order is not None for block in timing.blocks),
    )


def times_floor(record: Record) -> float | None:
    """Divide the median by the floor: 1 is the least that the hardware allows."""
    summary = summary_of(record)
    if summary is None or record.floor is None or record.floor.floor_ms <= 0:
        return None
    return summary.median_ms / record.floor.floor_ms


def achieved_gbps(record: Record) -> float | None:
    """Divide the floor's bytes by the median: the traffic that the workload needs, per second."""
    summary = summary_of(record)
    if summary is None or record.floor is None or summary.median_ms <= 0:
        return None
    return record.floor.bytes / (summary.median_ms * 1e6)


def _middle(values: numpy.ndarray[Any, Any], *, around: float, blocks: int) -> Interval:
    """Take the middle 95 % of resampled values, widened to the estimate where it lies outside."""
    import numpy as np

    tail = _tail(blocks)
    low, high = (float(end) for end in np.quantile(values, (tail, 1 - tail)))
    return Interval(min(low, around), max(high, around))


def _tail(blocks: int) -> float:
    """Return the share to cut at each end: 2.5 % of many blocks, less of few (Student's t).

    The quantile of t is the usual series in 1/degrees of freedom around the normal one.
    """
    normal = statistics.NormalDist()
    z, freedom = normal.inv_cdf((1 + CONFIDENCE) / 2), blocks - 1
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    student = z + first / freedom + second / freedom**2 + third / freedom**3
    return normal.cdf(-student * math.sqrt(blocks / freedom))


@functools.lru_cache(maxsize=64)  # a run's solutions all carry the same baseline
def _resampled_medians(blocks: Blocks, *, seed: int) -> numpy.ndarray[Any, Any]:
    """Draw as many blocks as there are, with replacement, and take the median of their trials.

    Works on the sorted samples: a resample is how often each block was drawn, its median the
    middle of the samples counted that often.
    """
    import numpy as np

    samples = np.concatenate([np.asarray(block, dtype=np.float64) for block in blocks])
    owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    order = np.argsort(samples, kind="stable")
    samples, owner = samples[order], owner[order]
    drawn = _draws(len(blocks), seed)[:, owner]
    reached = np.cumsum(drawn, axis=1, dtype=drawn.dtype)
    total = reached[:, -1:]
    lower = samples[np.count_nonzero(reached < (total + 1) // 2, axis=1)]
    upper = samples[np.count_nonzero(reached < total // 2 + 1, axis=1)]
    middle: numpy.ndarray[Any, Any] = (lower + upper) / 2
    return middle


@functools.lru_cache(maxsize=64)
def _draws(blocks: int, seed: int) -> numpy.ndarray[Any, Any]:
    """Count how often each block is drawn in each resample. RandomState: numpy froze its stream."""
    import numpy as np

    random = np.random.RandomState(seed)
    return random.multinomial(blocks, [1 / blocks] * blocks, size=RESAMPLES).astype(np.int32)
