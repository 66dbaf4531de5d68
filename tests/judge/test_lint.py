"""A problem that cannot tell a right answer from none is degenerate."""

import pytest

from harness.judge.lint import lint
from tests.judge import problems

# KernelBench's known cases in small, and what lint finds: null answers that pass.
CASES = {
    "a linear layer": (problems.text(
        "return self.l(x)", construct="self.l = nn.Linear(m, m)"), ()),
    "softmax": (problems.text("return torch.softmax(x, dim=1)"), ()),
    "Frobenius norm": (problems.text("return x / torch.norm(x, p='fro')"), ()),
    "min over an axis": (problems.text("return torch.min(x, dim=1)[0]"), ()),
    "L2 norm": (problems.text("return x / torch.norm(x, p=2, dim=1, keepdim=True)"), ()),
    "mean squared error": (problems.text(
        "return torch.mean((x - y) ** 2)", inputs="x, y",
        drawn="[torch.rand(n, m), torch.rand(n, m)]"), ()),
    "the identity": (problems.text("return x * 1.0"), ("input",)),
    "nearly the identity": (problems.text("return x + 1e-9 * x"), ("input",)),
    "zeros": (problems.text("return x * 0"), ("zeros", "mean", "other_inputs")),
    "a constant": (problems.text("return torch.full_like(x, 3.0)"), ("mean", "other_inputs")),
    "sum of a softmax": (problems.text("return torch.softmax(x, dim=1).sum(dim=1)"),
                         ("mean", "other_inputs")),
    "labels only, all equal": (problems.text("return (x > 2).long()"),
                               ("zeros", "mean", "input", "other_inputs")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_null_answer_fails_unless_the_problem_is_degenerate(tmp_path, name):
    source, accepted = CASES[name]
    found = lint(problems.workload(tmp_path, source), "tf32")
    assert found.accepted == accepted
    assert not found.rejects_itself
    assert found.degenerate is bool(accepted)


def test_parameters_that_do_not_matter_are_noted(tmp_path):
    source = problems.text("return x * 2", construct="self.l = nn.Linear(m, m)")
    assert lint(problems.workload(tmp_path, source), "tf32").notes
