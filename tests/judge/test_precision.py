"""Rounding, budgets and the ledger: what a class is and when a call is within it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.judge import precision
from harness.judge.precision import Budget, Errors, Ledger

finite = st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32)


@given(st.lists(finite, min_size=1, max_size=20), st.sampled_from(["tf32", "fp16", "bf16"]))
def test_rounding_is_idempotent_and_within_half_a_spacing(values, class_):
    x = torch.tensor(values, dtype=torch.float32)
    once = precision.rounded(x, class_)
    assert torch.equal(once, precision.rounded(once, class_))
    normal = (x.abs() > 1e-4) & (x.abs() < 6e4)
    bits = {"tf32": 11, "fp16": 11, "bf16": 8}[class_]
    assert bool(((once - x).abs()[normal] <= x.abs()[normal] * 2.0**-bits).all())


def test_rounding_agrees_with_torchs_own_bf16():
    x = torch.randn(10_000)
    assert torch.equal(precision.rounded(x, "bf16"), x.bfloat16().float())


@given(st.lists(finite, min_size=1, max_size=20), st.sampled_from(["tf32", "bf16"]))
def test_truncation_never_grows_a_value(values, class_):
    x = torch.tensor(values, dtype=torch.float32)
    cut = precision.truncated(x, class_)
    assert bool((cut.abs() <= x.abs()).all())


def test_integers_and_special_values_are_left_alone():
    labels = torch.arange(5)
    assert precision.rounded(labels, "bf16") is labels
    special = torch.tensor([math.nan, math.inf, -math.inf, 0.0])
    assert torch.equal(
        torch.nan_to_num(precision.rounded(special, "tf32")), torch.nan_to_num(special)
    )


def errors(size, *, equal=True, peak=1.0):
    return Errors(size, size, size, peak, equal, 10_000)


def test_a_budget_is_the_margin_times_the_larger_native_error_plus_ulps():
    found = precision.budget("tf32", [errors(1e-4), errors(2e-4)], eps=1e-7)
    assert found.rel_l2 == pytest.approx(4 * 2e-4 + 4e-7)


def test_a_class_whose_native_error_is_not_finite_does_not_judge():
    found = precision.budget("fp16", [errors(1e-4, equal=False)], eps=1e-7)
    assert precision.usage(errors(0.5), found) == 0.0


def test_looser_classes_allow_at_least_what_tighter_ones_do_save_where_those_do_not_judge():
    small, large, never = Budget(1, 1, 1), Budget(2, 2, 2), Budget(*[math.inf] * 3)
    given_ = {"fp32": large, "tf32": small, "fp16": never, "bf16": small}
    found = precision.nested(given_)
    assert found["tf32"] == large
    assert found["bf16"] == large
    assert found["fp16"] == never


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_error_that_is_not_a_number_uses_more_than_any_budget(bad):
    found = Errors(bad, 0.0, 0.0, 1.0, True, 10)
    assert precision.usage(found, Budget(1, 1, 1)) == math.inf


def test_unequal_masks_use_more_than_any_budget():
    assert precision.usage(errors(0.0, equal=False), Budget(1, 1, 1)) == math.inf


def budgets(limit):
    return {class_: Budget(limit, limit, limit) for class_ in precision.CLASSES}


def test_one_call_outside_the_budget_of_a_large_output_is_enough():
    ledger = Ledger(small=False)
    for _ in range(50):
        ledger.add(errors(0.5), budgets(1.0))
    assert ledger.reached("tf32") == "fp32"
    ledger.add(errors(1.5), budgets(1.0))
    assert ledger.reached("tf32") is None
    assert ledger.hopeless("tf32")


def test_small_outputs_are_judged_by_the_rms_of_their_calls_and_a_bound_on_each():
    ledger = Ledger(small=True)
    for _ in range(50):
        ledger.add(errors(0.5), budgets(1.0))
    ledger.add(errors(3.0), budgets(1.0))
    assert ledger.reached("tf32") == "fp32", "one unlucky draw is no wrong answer"
    ledger.add(errors(4.5), budgets(1.0))
    assert ledger.hopeless("tf32"), "but four times the budget is"
    steady = Ledger(small=True)
    for _ in range(50):
        steady.add(errors(1.5), budgets(1.0))
    assert steady.reached("tf32") is None, "nor are calls that are all a little too far"


def test_the_tightest_class_that_holds_is_reached():
    ledger = Ledger(small=False)
    ledger.add(errors(5.0), {"fp32": Budget(1, 1, 1), "tf32": Budget(9, 9, 9),
                             "fp16": Budget(9, 9, 9), "bf16": Budget(99, 99, 99)})  # fmt: skip
    assert ledger.reached("bf16") == "tf32"
    assert ledger.reached("fp32") is None
