"""Three metrics, because each alone has a hole."""

import math

import pytest
import torch

from harness.judge.compare import Accumulator

EPS = torch.finfo(torch.float32).eps


def errors(found, truth, chunks=1):
    made = Accumulator(tuple(truth.shape), EPS)
    for one, other in zip(found.chunk(chunks), truth.chunk(chunks), strict=True):
        made.add(one, other)
    return made.errors()


@pytest.fixture
def truth():
    return torch.randn(8, 16, 32, 32, generator=torch.Generator().manual_seed(1)).double()


def test_equal_outputs_have_no_error(truth):
    found = errors(truth, truth)
    assert found.metrics == (0.0, 0.0, 0.0)
    assert found.masks_equal


def test_chunks_give_what_the_whole_gives(truth):
    noisy = truth + 1e-3 * torch.randn_like(truth)
    whole, parts = errors(noisy, truth), errors(noisy, truth, chunks=4)
    assert parts.metrics == pytest.approx(whole.metrics, rel=1e-12)


def test_relative_l2_is_the_norm_of_the_difference_over_that_of_the_truth(truth):
    assert errors(truth * 1.01, truth).rel_l2 == pytest.approx(0.01)


# Partial work: what was left undone, and how much larger the worst block must be than the norm.
PARTIAL = {
    "one of 128 tiles": lambda y: y.view(128, -1)[77].zero_(),
    "a row of the batch": lambda y: y[5].zero_(),
    "a channel": lambda y: y[:, 3].zero_(),
    "a column": lambda y: y[..., 9].zero_(),
    "nine of a thousand elements in one place": lambda y: y.view(-1)[: y.numel() // 111].zero_(),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_work_left_undone_in_one_place_fills_a_block(truth, name):
    found = truth.clone()
    PARTIAL[name](found)
    assert errors(found, truth).worst_block > 0.2


def test_a_channel_of_tiny_scale_is_judged_at_its_own(truth):
    truth[:, 3] *= 1e-6
    found = truth.clone()
    found[:, 3] *= 1.5
    got = errors(found, truth)
    assert got.rel_l2 < 1e-6
    assert got.worst_block > 0.4


def test_a_block_of_zeros_does_not_divide_by_zero(truth):
    truth[:, 3] = 0
    got = errors(truth, truth)
    assert got.worst_block == 0.0
    assert errors(truth + 1e-9, truth).worst_block < math.inf


def test_a_truth_of_zeros_makes_any_error_a_large_one():
    nothing = torch.zeros(64, 128, dtype=torch.float64)
    assert errors(nothing, nothing).metrics == (0.0, 0.0, 0.0)
    assert errors(nothing + 1e-3, nothing).rel_l2 > 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_finite_masks_must_be_equal(truth, value):
    found = truth.clone()
    found.view(-1)[17] = value
    assert not errors(found, truth).masks_equal


def test_infinities_must_have_their_sign_and_nan_its_place(truth):
    special = truth.clone()
    special.view(-1)[0], special.view(-1)[1] = math.inf, math.nan
    assert errors(special, special).masks_equal
    other = special.clone()
    other.view(-1)[0] = -math.inf
    assert not errors(other, special).masks_equal


@pytest.mark.parametrize("shape", [(), (1,), (7,), (5000,), (3, 5), (300, 300), (2, 3, 5, 7)])
def test_any_shape_has_errors_that_are_numbers(shape):
    truth = torch.randn(shape, dtype=torch.float64)
    got = errors(truth + 1e-3, truth) if shape else _zero_dim(truth)
    assert all(math.isfinite(one) for one in got.metrics)
    assert got.rel_l2 > 0


def _zero_dim(truth):
    made = Accumulator((), EPS)
    made.add(truth + 1e-3, truth)
    return made.errors()


@pytest.mark.parametrize("scale", [0, 1])
def test_one_wrong_integer_among_zeros_is_seen(scale):
    truth = torch.zeros(600, 600, dtype=torch.int64)
    truth[:300] = scale
    made = Accumulator((600, 600), 0.0)
    found = truth.clone()
    found[500, 3] += 1
    made.add(found, truth)
    assert made.errors().worst_block > 1e3
    assert made.errors().max_abs > 1


def test_the_last_partial_block_counts():
    truth = torch.randn(5000, dtype=torch.float64)
    found = truth.clone()
    found[4900:] = 0
    assert errors(found, truth).worst_block > 0.1
