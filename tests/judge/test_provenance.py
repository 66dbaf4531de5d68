"""What ran is told from kernels' names: a label, never a verdict."""

import pytest

from harness.judge.provenance import Kernel, own_kernels, provenance

TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def my_softmax(p):
    pass

@triton.autotune(configs=[], key=[])
@triton.jit
def tuned(p):
    pass

def helper():
    pass
"""
CUDA = '''
CUDA_SOURCE = r"""
template <int N> __global__ void __launch_bounds__(128, 2) conv_tiles(const float *x) {}
extern "C" __global__ void fallback(float *x) {}
"""
'''


def test_kernels_are_read_from_the_syntax_tree_and_never_from_comments():
    assert own_kernels(TRITON) == {"my_softmax", "tuned"}
    assert own_kernels(CUDA) == {"conv_tiles", "fallback"}
    assert own_kernels("# __global__ void no()\nx = 1\n") == frozenset()
    assert own_kernels("def broken(:") == frozenset()


LIBRARY = Kernel("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", 90.0, 1)
COPY = Kernel("Memcpy DtoD (Device -> Device)", 10.0, 1)
CASES = {
    "its own Triton kernel": (TRITON, "triton", [Kernel("my_softmax", 95.0, 1), COPY], "triton"),
    "a C++ template": (
        CUDA, "cuda", [Kernel("void conv_tiles<64>(float const*, float*)", 9.0, 1)], "cuda"),
    "a Triton file that calls a library": (
        TRITON, "triton", [LIBRARY, Kernel("my_softmax", 1.0, 1)], "library"),
    "inductor's kernels": (
        "import torch", "inductor", [Kernel("triton_poi_fused_add_0", 5.0, 2)], "inductor"),
    "eager": (
        "import torch", "eager",
        [Kernel("void at::native::vectorized_elementwise_kernel<4>", 5.0, 2)], "library"),
    "only copies": ("import torch", "other", [COPY], "memory"),
    "nothing": ("import torch", "other", [], "nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_observed_kind_is_what_most_of_the_time_went_to(name):
    source, claimed, kernels, observed = CASES[name]
    found = provenance(source, claimed, kernels)
    assert found["observed"] == observed
    assert found["claimed"] == claimed
    assert sum(found["shares"].values()) == pytest.approx(1.0 if kernels else 0.0)


def test_a_kernel_that_is_defined_and_never_launched_is_named():
    found = provenance(TRITON, "triton", [LIBRARY, Kernel("tuned", 1.0, 1)])
    assert found["never_launched"] == ["my_softmax"]


def test_a_name_inside_another_name_is_not_the_kernel():
    found = provenance(TRITON, "triton", [Kernel("not_my_softmax_at_all", 5.0, 1)])
    assert found["observed"] == "library"
