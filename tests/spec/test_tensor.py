from __future__ import annotations

import pytest
import torch

from harness.spec.tensor import DTYPE_BYTES, TensorSpec


def test_a_0d_tensor_has_one_element():
    assert (TensorSpec("loss", (), "float32").numel, TensorSpec("loss", (), "float32").nbytes) == (
        1,
        4,
    )


def test_sizes_pass_32_bits():
    output = TensorSpec("y", (16, 128, 1024, 1024), "float32")
    assert (output.numel, output.nbytes) == (2**31, 8_589_934_592)


@pytest.mark.parametrize("name", DTYPE_BYTES)
def test_bytes_of_a_dtype_are_torchs(name):
    assert getattr(torch, name).itemsize == DTYPE_BYTES[name]


@pytest.mark.parametrize(("shape", "dtype"), [((1,), "fp32"), ((-1,), "float32")])
def test_what_is_no_tensor_cannot_be_written_down(shape, dtype):
    with pytest.raises(ValueError, match="x: "):
        TensorSpec("x", shape, dtype)
