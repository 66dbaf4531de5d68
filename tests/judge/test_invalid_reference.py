"""What the problem's own code does wrong is never blamed on a solution."""

import pytest

from tests.judge import problems

OWN = "return x * 2"
# name: problem, reason
BROKEN = {
    "module raises": ("import torch\nclass Model(torch.nn.Module):\n    pass\nraise OSError\n",
                      "module_raised"),
    "no get_inputs": ("import torch\nclass Model(torch.nn.Module):\n    pass\n",
                      "incomplete_problem"),
    "get_inputs raises": (problems.text(OWN, drawn="[1 / 0]"), "get_inputs_raised"),
    "get_inputs gives no list": (problems.text(OWN, drawn="3"), "get_inputs_raised"),
    "get_init_inputs raises": (problems.text(OWN, arguments="[][1]"), "get_init_inputs_raised"),
    "constructor raises": (problems.text(OWN, construct="raise KeyError('x')"),
                           "constructor_raised"),
    "constructor leaves": (problems.text(OWN, construct="raise SystemExit"), "constructor_raised"),
    "forward raises": (problems.text("raise ValueError"), "forward_raised"),
    "no tensor": (problems.text("return None"), "no_output"),
    "a number": (problems.text("return 1.0"), "unsupported_output"),
    "NaN": (problems.text("return torch.log(x - 2)"), "not_finite"),
    "differs from itself": (
        problems.text("import time\nreturn x * (time.perf_counter_ns() % 1000)"),
        "not_deterministic"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_problem_is_an_invalid_reference(bench, tmp_path, name):
    source, reason = BROKEN[name]
    path = tmp_path / "broken.py"
    path.write_text(source)
    verdict = bench.evaluate("class ModelNew: pass", str(path)).verdict
    assert (verdict.status.value, verdict.reason) == ("invalid_reference", reason)


# Problems of every kind that KernelBench has: an identical copy of the reference always passes.
GOOD = {
    "integer labels and a 0-d output": problems.text(
        "return F.cross_entropy(x, y)", inputs="x, y",
        drawn="[torch.rand(n, m), torch.randint(0, m, (n,))]"),
    "a boolean mask": problems.text(
        "return torch.cumsum(x * mask, dim=1)", inputs="x, mask",
        drawn="[torch.rand(n, m), torch.rand(n, m) > 0.5]"),
    "a tuple": problems.text("return x * 2, x.sum(dim=1)"),
    "a dictionary": problems.text("return {'a': x * 2, 'b': [x + 1]}"),
    "scalars and None among the inputs": problems.text(
        "return x * k if z is None else x", inputs="x, k, z",
        drawn="[torch.rand(n, m), 3.5, None]"),
    "infinity as an argument": problems.text(
        "return x.clamp(max=self.top)", construct="self.top = top", parameters=", top",
        arguments="[float('inf')]"),
    "dropout that trains": problems.text(
        "return F.dropout(x, 0.5, True)"),
    "batch norm": problems.text(
        "return self.norm(x)", construct="self.norm = nn.BatchNorm1d(m)"),
    "random state in the constructor": problems.text(
        "return x @ self.w", construct="self.w = nn.Parameter(torch.randn(m, m))"),
    "a transposed input": problems.text("return x * 2", drawn="[torch.rand(m, n).T]"),
    "no inputs that are tensors of floats": problems.text(
        "return y * 2", inputs="y", drawn="[torch.randint(0, 9, (n, m))]"),
    "an integer output": problems.text("return x.argmax(dim=1)"),
    "a logarithm": problems.text("return torch.log(x + 1e-3)"),
    "an embedding": problems.text(
        "return self.e(y)", inputs="y", construct="self.e = nn.Embedding(m, 32)",
        drawn="[torch.randint(0, m, (n,))]"),
    "a lstm with a drawn state": problems.text(
        "h = torch.randn(1, x.shape[1], 16)\nreturn self.r(x, (h, h))[0]",
        construct="self.r = nn.LSTM(m, 16)", drawn="[torch.rand(4, 8, m)]"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_an_identical_copy_of_the_reference_passes(bench, tmp_path, name):
    path = tmp_path / "good.py"
    path.write_text(GOOD[name])
    record = bench.evaluate(GOOD[name] + "\nModelNew = Model\n", str(path))
    assert record.verdict.status.value == "passed", record.verdict
    assert record.precision.class_ == "fp32"
