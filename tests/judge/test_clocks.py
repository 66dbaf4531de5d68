"""The two clocks: forged times of any kind are caught, honest noise of up to 20 % is not."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.judge.clocks import Overhead, Reading, agreement, overhead

OVER = Overhead(median_ms=0.3, noise_ms=0.05)


def honest(device_ms, count, seed, noise=0.2, late=0.1):
    """Wall = device + overhead + noise; one trial in ten is late by several ms."""
    draw = random.Random(seed)
    return [
        Reading(
            device_ms=one,
            wall_ms=one + OVER.median_ms + draw.uniform(0, noise) * device_ms / 2
            + (draw.expovariate(0.3) if draw.random() < late else 0.0),
            tail_ms=0.02,
        )
        for one in (device_ms * draw.uniform(1 - noise / 2, 1 + noise / 2) for _ in range(count))
    ]  # fmt: skip


@given(
    device=st.floats(0.005, 50.0),
    count=st.integers(5, 100),
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["cpu", "cuda"]),
)
@settings(max_examples=300)
def test_honest_noise_of_up_to_a_fifth_is_never_a_disagreement(device, count, seed, kind):
    found = agreement(honest(device, count, seed), OVER, spin_ms=0.0, kind=kind)
    assert found.reason is None


@given(
    device=st.floats(5.0, 50.0),
    factor=st.floats(0.0, 0.5),
    share=st.floats(0.55, 1.0),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=300)
def test_a_median_that_was_forged_to_half_or_less_is_caught(device, factor, share, seed):
    """Whoever forges the median has to forge more than half of the trials."""
    draw = random.Random(seed)
    readings = [
        Reading(one.device_ms * factor, one.wall_ms, one.tail_ms)
        if draw.random() < share or index < 60
        else one
        for index, one in enumerate(honest(device, 100, seed))
    ]
    found = agreement(readings, OVER, spin_ms=0.0, kind="cuda")
    assert found.reason == "clocks_disagree"


def test_a_fifth_of_the_trials_forged_is_caught_too():
    """Good placement is the 20th percentile of blocks: 30 forged trials of 100 would move it."""
    readings = honest(5.0, 100, 3)
    forged = [Reading(0.5, one.wall_ms, one.tail_ms) for one in readings[:30]]
    found = agreement(forged + readings[30:], OVER, spin_ms=0.0, kind="cuda")
    assert found.reason == "clocks_disagree"


def test_one_late_null_trial_does_not_open_the_window():
    quiet = [Reading(1.0, 1.3 + 0.01 * (i % 3), 0.0) for i in range(19)]
    assert overhead([*quiet, Reading(1.0, 99.0, 0.0)]).noise_ms < 0.05


def test_device_time_above_the_wall_is_impossible():
    readings = [Reading(9.0, 5.0, 0.0)] * 20
    found = agreement(readings, OVER, spin_ms=0.0, kind="cuda")
    assert found.reason == "device_time_over_wall"


def test_work_after_the_end_event_is_a_disagreement():
    readings = [Reading(1.0, 1.9, 0.6)] * 20
    found = agreement(readings, Overhead(0.3, 0.2), spin_ms=0.0, kind="cuda")
    assert found.reason == "clocks_disagree"


def test_waiting_for_a_processor_is_not_the_candidates():
    readings = [Reading(1.0, 21.3, 0.0, stalled_ms=20.0)] * 20
    assert agreement(readings, OVER, spin_ms=0.0, kind="cpu").reason is None


def test_the_spin_explains_wall_time_up_to_its_own_length():
    readings = [Reading(1.0, 1.3 + 0.8, 0.0)] * 20
    assert agreement(readings, OVER, spin_ms=0.0, kind="cuda").reason == "clocks_disagree"
    assert agreement(readings, OVER, spin_ms=0.6, kind="cuda").reason is None


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_overhead_is_the_median_of_what_is_not_the_call(count):
    found = overhead([Reading(1.0, 1.5, 0.0)] * count)
    assert found == Overhead(0.5, 0.0)
