from __future__ import annotations

import pytest

from harness.faults import UsageError
from harness.floor.traffic import policy_named, traffic
from harness.spec.tensor import Signature, TensorSpec

CONVOLUTION = Signature(
    inputs=(TensorSpec("x", (16, 64, 1024, 1024), "float32"),),
    outputs=(TensorSpec("y", (16, 128, 1024, 1024), "float32"),),
    parameters=(TensorSpec("conv1d.weight", (128, 64, 1, 1), "float32"),),
    flops=2 * 64 * 128 * 16 * 1024 * 1024,
    generators=("rand",),
)
PARTS = {"inputs": 4_294_967_296, "parameters": 32_768, "outputs": 8_589_934_592}


def test_complete_counts_every_tensor_once_and_the_arithmetic():
    moved = traffic(CONVOLUTION)
    assert moved.bytes == 12_884_934_656
    assert moved.parts == PARTS
    assert moved.flops / moved.bytes == pytest.approx(21.3, abs=0.05)


def test_headroom_counts_inputs_alone():
    moved = traffic(CONVOLUTION, "headroom-v1")
    assert (moved.bytes, moved.flops, moved.parts) == (
        4_294_967_296,
        0,
        {"inputs": 4_294_967_296},
    )


def test_integers_booleans_and_0d_outputs_count_at_their_own_width():
    loss = Signature(
        inputs=(TensorSpec("scores", (8, 4), "float32"), TensorSpec("labels", (8,), "int64")),
        outputs=(TensorSpec("loss", (), "float32"), TensorSpec("mask", (8,), "bool")),
        parameters=(),
        flops=0,
        generators=("rand", "randint(0, 4)"),
    )
    assert traffic(loss).bytes == 8 * 4 * 4 + 8 * 8 + 4 + 8


def test_an_unknown_policy_is_one_line_with_the_nearest():
    assert policy_named("headroom-v1") == "headroom-v1"
    with pytest.raises(UsageError) as refused:
        policy_named("complete-v1")
    assert str(refused.value).startswith(
        "--policy: found 'complete-v1'; wanted a policy; did you mean 'complete-v2'?"
    )
