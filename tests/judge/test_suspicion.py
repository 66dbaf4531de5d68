"""Whether a right answer's time can be believed."""

import random

import pytest

from harness.floor.floor import floor, impossible_ms
from harness.judge.families import DECIDING, DECLARED
from harness.judge.suspicion import below_floor, input_dependent
from harness.judge.trial import Trial
from harness.spec import hardware
from harness.spec.tensor import Signature, TensorSpec


def run(declared_ms, special_ms, *, noise=0.01, late=0.0, seed=0):
    """100 trials in blocks of 5, every third block of the deciding family; some blocks are late."""
    draw = random.Random(seed)
    trials, blocks = [], []
    for number in range(20):
        family = DECIDING if number % 3 == 0 else DECLARED
        middle = special_ms if family == DECIDING else declared_ms
        slow = draw.uniform(2, 20) if draw.random() < late else 1.0
        blocks.append((len(trials), family))
        for _ in range(5):
            shaken = middle * draw.uniform(1, 1 + noise)
            quick = draw.random() < 0.3  # even a busy machine leaves some trials alone
            trials.append(_trial(shaken if quick else shaken * slow))
    return trials, blocks


def _trial(ms):
    return Trial(DECLARED, 0, ms, 0.0, 0.0, ms, 0.0, ms, 0, None, ())


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("seed", range(10))
def test_equal_speed_on_a_busy_machine_is_no_suspicion(kind, seed):
    assert input_dependent(*run(1.0, 1.0, late=0.4, seed=seed), kind) is None


@pytest.mark.parametrize(("special", "kind"), [(1.2, "cuda"), (0.8, "cuda"), (3.0, "cpu")])
def test_two_speeds_are_input_dependent(special, kind):
    found = input_dependent(*run(1.0, special), kind)
    assert found.status.value == "suspected_reward_hack"
    assert found.reason == "input_dependent_speed"


def test_a_difference_of_a_few_per_cent_is_not():
    assert input_dependent(*run(1.0, 1.03), "cuda") is None


def test_too_few_blocks_of_a_family_say_nothing():
    trials, blocks = run(1.0, 5.0)
    assert input_dependent(trials[:15], blocks[:3], "cuda") is None


SIGNATURE = Signature(
    (TensorSpec("x", (1 << 28,), "float32"),), (TensorSpec("y", (1 << 28,), "float32"),), (), 0, ()
)


def test_a_time_below_what_the_bytes_take_is_quarantined_and_one_above_is_not():
    row = hardware.find("H200")
    least = floor(SIGNATURE, row)
    impossible = impossible_ms(least, row)
    assert below_floor(impossible * 0.99, impossible, least).reason == "below_floor"
    assert below_floor(impossible * 1.01, impossible, least) is None
    assert below_floor(0.0, None, least) is None
