"""Figures from samples; the oracles are numpy, the standard library and simulation."""

from __future__ import annotations

import math
import random
import statistics as stdlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.record import statistics
from harness.record.statistics import Interval, speedup, speedup_of, summarise, summary_of
from tests.record import examples

times = st.floats(1e-4, 1e4)
samples = st.lists(times, min_size=1, max_size=60)


def placed(generator: random.Random, blocks: int = 20, level: float = 3.5) -> list[float]:
    """Trials as facts.md saw them: each block on pages of its own, little noise inside it."""
    levels = [level * (1 + generator.choice([0.0, 0.0, 0.0, 0.05, 0.06])) for _ in range(blocks)]
    return [place + generator.gauss(0, 0.01) for place in levels for _ in range(5)]


@given(samples)
def test_the_plain_figures_are_those_of_numpy(values: list[float]) -> None:
    found = summarise(values)
    assert found.trials == len(values)
    assert found.median_ms == pytest.approx(np.median(values))
    assert found.mean_ms == pytest.approx(np.mean(values))
    assert found.p05_ms == pytest.approx(np.percentile(values, 5))
    assert found.p95_ms == pytest.approx(np.percentile(values, 95))
    assert (found.min_ms, found.max_ms) == (min(values), max(values))
    if len(values) > 1:
        assert found.std_ms == pytest.approx(stdlib.stdev(values), abs=1e-9)
    else:
        assert found.std_ms is None


@settings(deadline=None)
@given(samples)
def test_the_interval_holds_the_median_and_lies_within_the_samples(values: list[float]) -> None:
    found = summarise(values)
    assert min(values) <= found.interval.low <= found.median_ms
    assert found.median_ms <= found.interval.high <= max(values)


def test_the_same_samples_always_give_the_same_interval() -> None:
    values = placed(random.Random(1))
    assert summarise(values) == summarise(values)
    golden = summarise([float(value) for value in range(1, 101)]).interval
    assert (golden.low, golden.high) == (30.5, 72.0)  # normal theory: 50.5 ± 2.15 * 10.7 at most


def test_a_resample_is_the_median_of_the_drawn_blocks() -> None:
    blocks = ((1.0, 2.0, 3.0), (10.0,), (5.0, 6.0), (7.0, 7.5), (2.5, 9.0), (4.0, 4.5, 4.6))
    generator = np.random.RandomState(statistics.SEED)
    draws = generator.multinomial(6, [1 / 6] * 6, size=statistics.RESAMPLES)
    slow = [
        stdlib.median([t for block, n in zip(blocks, counts, strict=True) for t in block * n])
        for counts in draws
    ]
    fast = statistics._resampled_medians(blocks, seed=statistics.SEED)
    assert fast.tolist() == slow


def drifting(generator: random.Random, blocks: int = 20) -> list[float]:
    """Each block has a level of its own, without steps."""
    levels = [3.5 + generator.gauss(0, 0.05) for _ in range(blocks)]
    return [level + generator.gauss(0, 0.01) for level in levels for _ in range(5)]


def independent(generator: random.Random, blocks: int = 20) -> list[float]:
    """Trials that do not know their block."""
    return [3.5 + generator.gauss(0, 0.05) for _ in range(5 * blocks)]


@pytest.mark.parametrize("blocks", [6, 20])
@pytest.mark.parametrize("draw", [placed, drifting, independent])
def test_the_interval_covers_the_median_as_often_as_it_says(
    draw: Callable[[random.Random, int], list[float]], blocks: int
) -> None:
    """400 runs: 95 % is met within what chance does to 400 of them (three standard errors)."""
    truth = stdlib.median(draw(random.Random(0), 20_000))
    generator = random.Random(2)
    held = 0
    for _ in range(400):
        interval = summarise(draw(generator, blocks)).interval
        held += interval.low <= truth <= interval.high
    assert held / 400 == pytest.approx(0.95, abs=0.033)


@pytest.mark.parametrize(("blocks", "student"), [(6, 2.571), (20, 2.093), (60, 2.001)])
def test_the_tails_are_those_of_students_t(blocks: int, student: float) -> None:
    """The oracle is a printed table of t at 97.5 %."""
    expected = stdlib.NormalDist().cdf(-student * math.sqrt(blocks / (blocks - 1)))
    assert statistics._tail(blocks) == pytest.approx(expected, rel=0.02)


def test_resampling_trials_instead_of_blocks_would_claim_too_much() -> None:
    values = placed(random.Random(3))
    by_block = summarise(values).interval
    by_trial = summarise(values, range(len(values))).interval
    assert by_trial.high - by_trial.low < by_block.high - by_block.low


@pytest.mark.parametrize("count", [1, 5, 12, 25])
def test_too_few_blocks_give_the_whole_range_and_never_a_narrow_interval(count: int) -> None:
    values = [1.0 + index / 100 for index in range(count)]
    assert summarise(values).interval == Interval(min(values), max(values))


def test_good_placement_is_the_twentieth_percentile_of_block_medians() -> None:
    values = [level for level in range(1, 22) for _ in range(5)]
    assert summarise([float(v) for v in values]).good_ms == 5.0


def test_blocks_follow_the_record_and_the_last_may_be_shorter() -> None:
    assert statistics.blocks_of([1, 2, 3, 4], (0, 3)) == ((1, 2, 3), (4,))
    assert [len(block) for block in statistics.blocks_of(range(12))] == [5, 5, 2]


def test_noise_is_named_when_the_middle_half_spreads_over_five_per_cent() -> None:
    assert not summarise([1.0] * 20).noisy
    assert summarise([1.0, 1.2] * 20).noisy


def test_no_samples_are_no_summary() -> None:
    with pytest.raises(ValueError, match="no samples"):
        summarise([])
    verdict = examples.failed(examples.schema.Status.TIMEOUT, "deadline")
    assert summary_of(examples.record(verdict=verdict, timing=None)) is None


def test_a_speedup_points_the_way_that_its_name_says() -> None:
    fast, slow = [1.0, 1.01] * 20, [2.0, 2.02] * 20
    faster, slower = speedup(fast, slow), speedup(slow, fast)
    assert faster is not None
    assert slower is not None
    assert faster.ratio == pytest.approx(2)
    assert slower.ratio == pytest.approx(0.5)
    assert 1 < faster.interval.low <= 2 <= faster.interval.high


def test_the_interval_of_a_speedup_holds_one_for_the_same_kernel_twice() -> None:
    generator = random.Random(4)
    held = 0
    for _ in range(100):
        found = speedup(placed(generator), placed(generator))
        assert found is not None
        held += found.interval.low <= 1 <= found.interval.high
    assert held >= 90


def test_what_slows_both_sides_of_a_pair_cancels() -> None:
    generator = random.Random(5)
    drift = [1 + 0.2 * generator.random() for _ in range(20)]
    mine = [d * 1.0 for d in drift for _ in range(5)]
    theirs = [d * 1.5 for d in drift for _ in range(5)]
    paired, apart = speedup(mine, theirs, paired=True), speedup(mine, theirs)
    assert paired is not None
    assert apart is not None
    assert paired.interval.high - paired.interval.low < 1e-9
    assert apart.interval.high - apart.interval.low > 0.01


def test_a_speedup_of_few_blocks_is_as_wide_as_it_can_be() -> None:
    found = speedup([1.0, 2.0], [2.0, 4.0])
    assert found is not None
    assert (found.interval.low, found.interval.high) == (1.0, 4.0)


def test_a_time_of_zero_gives_no_ratio() -> None:
    assert speedup([0.0, 1.0], [1.0]) is None


def test_a_record_is_compared_with_the_baseline_it_carries() -> None:
    record = examples.record(samples_ms=(1.0,) * 40, baseline=examples.baseline((3.0,) * 40))
    found = speedup_of(record)
    assert found is not None
    assert found.ratio == 3.0
    assert speedup_of(examples.record()) is None


def test_the_floor_figures_are_those_of_the_design() -> None:
    """measurement.md 3: H100 SXM, 3.85 ms, so eager's 4.66 ms is really 1.21 times the floor."""
    record = examples.record(samples_ms=(4.66,) * 10, floor=examples.floor(floor_ms=3.85))
    assert statistics.times_floor(record) == pytest.approx(1.21, abs=0.005)
    assert statistics.achieved_gbps(record) == pytest.approx(2765, abs=1)
    assert statistics.times_floor(examples.record(floor=None)) is None
