"""Shapes and operations come from running on no data; identity from them, not from wording."""

import pytest
import torch

from harness.judge.reference import Reference
from harness.judge.signature import trace, workload_digest
from harness.spec import problem as problem_files
from tests.judge import problems
from tests.judge.conftest import DATA

ROOT = DATA.parent.parent


def of_87(size="full", **overrides):
    (found,) = problem_files.find("1/87", ROOT)
    sized = problem_files.resize(found, size, overrides)
    return sized, trace(Reference(sized, torch.float32)).signature


def test_problem_87_is_what_its_datasheet_says():
    _, signature = of_87()
    assert [one.shape for one in signature.inputs] == [(16, 64, 1024, 1024)]
    assert [one.shape for one in signature.outputs] == [(16, 128, 1024, 1024)]
    assert sum(one.nbytes for one in signature.parameters) == 32_768
    assert signature.flops == 2 * 16 * 1024 * 1024 * 64 * 128
    assert signature.generators == ("torch.rand",)


def test_an_axis_or_a_constructor_argument_changes_shapes_and_identity():
    sized, full = of_87()
    other, tall = of_87(height=512)
    assert tall.outputs[0].shape == (16, 128, 512, 1024)
    assert workload_digest(sized, "fp32", full) != workload_digest(other, "fp32", tall)
    biased, with_bias = of_87("bias")
    smoke, without = of_87("smoke")
    assert {one.name for one in with_bias.parameters} == {"conv1d.weight", "conv1d.bias"}
    assert workload_digest(biased, "fp32", with_bias) != workload_digest(smoke, "fp32", without)


def test_identity_does_not_depend_on_the_wording(tmp_path):
    one = problems.text("return torch.softmax(x, dim=1)")
    other = one.replace("torch.softmax(x, dim=1)", "x.softmax(1)  # the same")
    found = []
    for folder, source in (("a", one), ("b", other)):
        (tmp_path / folder).mkdir()
        sized = problems.sized(tmp_path / folder, source)
        found.append(workload_digest(sized, "fp32", trace(Reference(sized, None)).signature))
    assert found[0] == found[1]
    assert found[0].startswith("sha256:")


@pytest.mark.parametrize(
    ("forward", "random"),
    [
        ("return x + torch.randn(n, m)", True),
        ("return F.dropout(x, 0.5, True)", True),
        ("return F.dropout(x, 0.5, False)", False),
        ("return torch.rand_like(x) * x", True),
        ("return x * 2", False),
    ],
)
def test_a_forward_that_draws_random_numbers_is_recognised(tmp_path, forward, random):
    reference = problems.reference(tmp_path, problems.text(forward))
    assert trace(reference).random_forward is random


def test_dropout_as_a_module_counts_while_it_trains(tmp_path):
    source = problems.text("return self.drop(x)", construct="self.drop = nn.Dropout(0.2)")
    assert trace(problems.reference(tmp_path, source)).random_forward


def test_shapes_that_depend_on_values_are_read_on_the_cpu(tmp_path):
    source = problems.text("return x[: int(x.sum()) % 7 + 1]")
    signature = trace(problems.reference(tmp_path, source)).signature
    assert signature.outputs[0].shape[1] == 64
