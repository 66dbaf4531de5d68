"""Each way of computing problem 87 reaches its own class, and passes where that is asked for.

Tensor cores are imitated by rounding or cutting the operands: the same arithmetic on any machine.
"""

import contextlib

import pytest

from harness import api

CONV = """
import torch
from torch import nn
import torch.nn.functional as F

{operand}

class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, bias=False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, 1, bias=bias)

    def forward(self, x):
        return {forward}
"""
BITS = """
def operand(x):
    bits = x.contiguous().view(torch.int32)
    {rule}
"""
ROUNDED = BITS.format(
    rule="return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)"
)
CUT = BITS.format(rule="return (bits & ~0x1FFF).view(torch.float32)")
BF16 = "def operand(x):\n    return x.bfloat16().float()\n"
FP16 = "def operand(x):\n    return x.half().float()\n"
BOTH = "F.conv2d(operand(x), operand(self.conv1d.weight), self.conv1d.bias)"
ONE = "F.conv2d(operand(x), self.conv1d.weight, self.conv1d.bias)"
THREE = "F.conv2d(hi(x), hi(w)) + F.conv2d(hi(x), lo(w)) + F.conv2d(lo(x), hi(w))"
SPLIT = ROUNDED + "\nhi = operand\ndef lo(x):\n    return operand(x - operand(x))\n"
# name: operand, forward, class reached when the loosest is asked for
WAYS = {
    "exact fp32": ("", "self.conv1d(x)", "fp32"),
    "exact fp32, another order": (
        "", "torch.einsum('nchw,oc->nohw', x, self.conv1d.weight[:, :, 0, 0])", "fp32"),
    "fp64 inside": ("", "F.conv2d(x.double(), self.conv1d.weight.double()).float()", "fp32"),
    "three products of TF32 parts": (
        SPLIT, THREE.replace("(w)", "(self.conv1d.weight)"), "fp32"),
    "TF32 that rounds": (ROUNDED, BOTH, "tf32"),
    "TF32 that truncates": (CUT, BOTH, "tf32"),
    "TF32 on one operand": (ROUNDED, ONE, "tf32"),
    "fp16 operands": (FP16, BOTH, "bf16"),  # tf32 but where fp16's exponent ends, if that is drawn
    "bf16 operands": (BF16, BOTH, "bf16"),
    "bf16 on one operand": (BF16, ONE, "bf16"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judges():
    with contextlib.ExitStack() as stack:
        yield {
            asked: stack.enter_context(api.open(device="cpu", trials=5, checks=8, asked=asked))
            for asked in ("fp32", "tf32", "bf16")
        }


def evaluate(judges, asked, folder, name):
    operand, forward, _ = WAYS[name]
    path = folder / "solution.py"
    path.write_text(CONV.format(operand=operand, forward=forward))
    return judges[asked].evaluate("1/87", path)


@pytest.mark.parametrize("name", [name for name in WAYS if name != "fp16 operands"])
def test_each_way_reaches_its_own_class(judges, tmp_path, name):
    record = evaluate(judges, "bf16", tmp_path, name)
    assert record.verdict.status.value == "passed", record.verdict.detail
    assert record.precision.class_ == WAYS[name][2]


@pytest.mark.parametrize("name", ["exact fp32", "TF32 that rounds", "TF32 that truncates"])
def test_what_reaches_tf32_passes_where_tf32_is_asked_for(judges, tmp_path, name):
    record = evaluate(judges, "tf32", tmp_path, name)
    assert record.verdict.status.value == "passed", record.verdict.detail


@pytest.mark.parametrize("name", ["bf16 operands", "bf16 on one operand", "fp16 operands"])
def test_bf16_and_fp16_do_not_pass_where_tf32_is_asked_for(judges, tmp_path, name):
    """All eight checks are drawn, so the scales where fp16 ends are among them."""
    record = evaluate(judges, "tf32", tmp_path, name)
    assert record.verdict.status.value == "incorrect_numerical"


@pytest.mark.parametrize("name", ["TF32 that rounds", "TF32 that truncates"])
def test_tf32_does_not_pass_where_fp32_is_asked_for(judges, tmp_path, name):
    record = evaluate(judges, "fp32", tmp_path, name)
    assert record.verdict.status.value == "incorrect_numerical"


def test_exact_fp32_passes_where_fp32_is_asked_for(judges, tmp_path):
    assert evaluate(judges, "fp32", tmp_path, "exact fp32").verdict.status.value == "passed"
