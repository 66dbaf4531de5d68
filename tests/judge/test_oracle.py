"""Truth is the reference in fp64, in chunks only where chunks equal the whole."""

import pytest
import torch

from harness.judge import oracle as oracles
from harness.judge.oracle import Oracle, take_leaves
from harness.judge.reference import ReferenceFault
from tests.judge import problems

CONV = problems.text(
    "return self.conv(x)",
    axes="n = 6\nc = 5",
    construct="self.conv = nn.Conv2d(c, 7, 1)",
    drawn="[torch.rand(n, c, 9, 8)]",
)
# name: source, whether truth may be cut along the batch
SEPARABLE = {
    "convolution": (CONV, True),
    "softmax of rows": (problems.text("return torch.softmax(x, dim=1)"), True),
    "matmul, rows of the first operand": (
        problems.text("return x @ y", inputs="x, y",
                      drawn="[torch.rand(128, 64), torch.rand(64, 32)]"), True),
    "softmax of columns": (problems.text("return torch.softmax(x, dim=0)"), False),
    "batch norm that is training": (
        problems.text("return self.norm(x)", construct="self.norm = nn.BatchNorm1d(m)"), False),
    "a mean of all": (problems.text("return x.mean()"), False),
    "cumulative sum down the batch": (problems.text("return torch.cumsum(x, dim=0)"), False),
    "the batch reversed": (problems.text("return x.flip(0)"), False),
    "the batch's own index": (
        problems.text("return x + torch.arange(x.shape[0]).unsqueeze(1)"), False),
    "a batch of one length only": (
        problems.text("return x.reshape(n, m) * 2"), False),
}  # fmt: skip


@pytest.mark.parametrize("name", SEPARABLE)
def test_truth_is_cut_only_where_chunks_equal_the_whole(tmp_path, name):
    source, separable = SEPARABLE[name]
    reference = problems.reference(tmp_path, source)
    drawn = reference.draw(1, "cpu")
    model = reference.construct(2, "cpu", torch.float32)
    found = Oracle(model, drawn.parts, random_forward=False)
    found.find_split(drawn.tensors, 0)
    assert (found.split.axis == 0) is separable


def test_chunks_together_are_the_whole(tmp_path, monkeypatch):
    reference = problems.reference(tmp_path, CONV)
    drawn = reference.draw(1, "cpu")
    found = Oracle(reference.construct(2, "cpu", None), drawn.parts, random_forward=False)
    found.find_split(drawn.tensors, 0)
    monkeypatch.setattr(oracles, "CHUNK_BYTES", 20_000)
    out_bytes = 6 * 7 * 9 * 8 * 4
    chunks = list(found.chunks(drawn.tensors, out_bytes))
    assert len(chunks) > 2
    joined = torch.cat([found.forward(chunk, 0)[0] for chunk in chunks])
    assert torch.allclose(joined, found.forward(drawn.tensors, 0)[0], rtol=1e-13)


def test_truth_is_fp64_and_leaves_integers_and_booleans_alone(tmp_path):
    source = problems.text(
        "assert mask.dtype == torch.bool and labels.dtype == torch.int64\n"
        "return (x * mask).gather(1, labels)",
        inputs="x, mask, labels",
        drawn="[torch.rand(8, 4), torch.rand(8, 4) > 0.5, torch.randint(0, 4, (8, 2))]",
    )
    reference = problems.reference(tmp_path, source)
    drawn = reference.draw(1, "cpu")
    found = Oracle(reference.construct(2, "cpu", None), drawn.parts, random_forward=False)
    assert found.forward(drawn.tensors, 0)[0].dtype is torch.float64


def test_operands_are_rounded_inputs_and_weights_both(tmp_path):
    reference = problems.reference(tmp_path, CONV)
    drawn = reference.draw(1, "cpu")
    found = Oracle(reference.construct(2, "cpu", None), drawn.parts, random_forward=False)
    true = found.forward(drawn.tensors, 0)[0]
    rounded = found.forward(drawn.tensors, 0, "r:bf16")[0]
    error = float((rounded - true).norm() / true.norm())
    assert 1e-4 < error < 1e-2


def test_structures_are_walked_and_what_is_no_tensor_is_the_problems_fault():
    a, b = torch.zeros(1), torch.ones(1)
    structure, leaves = take_leaves((a, [b, None], {"k": a}))
    parts = ["tensor", {"list": ["tensor", None]}, {"dict": [["k", "tensor"]]}]
    parts = ["tensor", {"list": ["tensor", None]}, {"dict": [["k", "tensor"]]}]
    assert structure == {"tuple": parts}
    assert [one is other for one, other in zip(leaves, (a, b, a), strict=True)] == [True] * 3
    with pytest.raises(ReferenceFault, match="unsupported_output"):
        take_leaves(3.0)


def test_tf32_is_off_in_the_judge():
    oracles.true_fp32()
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    assert torch.backends.cudnn.conv.fp32_precision == "ieee"
