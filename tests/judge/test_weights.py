"""How the reference's weights reach a solution, and what is said when they cannot."""

import pytest

from harness.judge.weights import Matched, Unmatched, match
from tests.judge import problems
from tests.judge.test_statuses import HEAD, RIGHT

W, B = ("layer.weight", (8, 4), True), ("layer.bias", (8,), True)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([W, B], Matched("by_name", ("layer.weight", "layer.bias"))),
        ([B, W], Matched("by_name", ("layer.weight", "layer.bias"))),
        ([W, B, ("workspace", (99,), False)], Matched("by_name", ("layer.weight", "layer.bias"))),
        ([("w", (8, 4), True), ("b", (8,), True)], Matched("by_shape", ("w", "b"))),
        ([("b", (8,), True), ("w", (8, 4), True)], Matched("by_shape", ("w", "b"))),
        ([("w", (4, 8), True), ("b", (8,), True)], None),
        ([W], None),
        ([W, B, ("extra", (8,), True)], None),
        ([], None),
    ],
)
def test_weights_go_by_name_then_by_shape_and_order_then_not_at_all(found, expected):
    got = match([W, B], found)
    assert got == expected if expected is not None else isinstance(got, Unmatched)


def test_two_of_one_shape_in_another_order_are_not_guessed():
    wanted = [("a", (8,), True), ("b", (8,), True), ("c", (4,), True)]
    found = [("z", (4,), True), ("x", (8,), True), ("y", (8,), True)]
    assert isinstance(match(wanted, found), Unmatched)


PACKED = (
    HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        layer = nn.Linear(features, features)
        self.packed = layer.weight.detach().t().contiguous()
        self.bias = layer.bias.detach()

    def forward(self, x):
        return torch.addmm(self.bias, x, self.packed)
"""
)
STALE = (
    HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.packed = self.layer.weight.detach().t().contiguous()

    def forward(self, x):
        return torch.addmm(self.layer.bias, x, self.packed)
"""
)
OTHER_DRAW = PACKED.replace("layer = nn.Linear", "torch.rand(1)\n        layer = nn.Linear")
PREPARED = (
    HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        torch.rand(7)  # another draw than the reference's: only loading can make it right
        self.layer = nn.Linear(features, features)

    def prepare(self):
        self.packed = self.layer.weight.detach().t().contiguous()

    def forward(self, x):
        return torch.addmm(self.layer.bias, x, self.packed)
"""
)


@pytest.mark.parametrize(
    ("source", "policy"),
    [
        (HEAD + RIGHT, "by_name"),
        (HEAD + RIGHT.replace("layer", "own_name"), "by_shape"),
        (PACKED, "seeded"),
        (STALE, "by_name"),
        (PREPARED, "by_name"),
    ],
)
def test_each_honest_way_of_taking_weights_passes_under_its_policy(bench, source, policy):
    record = bench.evaluate(source)
    assert record.verdict.status.value == "passed", record.verdict
    assert record.weights.policy == policy


def test_weights_that_match_neither_way_have_a_reason_of_their_own(bench):
    verdict = bench.evaluate(OTHER_DRAW).verdict
    assert (verdict.status.value, verdict.reason) == ("incorrect_numerical", "weights_unmatched")
    assert "layer.weight[64, 64]" in verdict.detail


NORM = problems.text("return self.norm(x)", construct="self.norm = nn.LayerNorm(m)")
FORGETS = (
    HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return nn.functional.layer_norm(x, (64,))
"""
)


def test_affine_parameters_are_not_constants_so_forgetting_them_fails(bench, tmp_path):
    """A fresh layer norm multiplies by one and adds zero: only drawn values show a kernel that
    forgets them."""
    path = tmp_path / "norm.py"
    path.write_text(NORM)
    record = bench.evaluate(FORGETS, str(path))
    assert record.verdict.status.value == "incorrect_numerical"
    right = FORGETS.replace("nn.functional.layer_norm(x, (64,))", "self.norm(x)")
    assert bench.evaluate(right, str(path)).verdict.status.value == "passed"
