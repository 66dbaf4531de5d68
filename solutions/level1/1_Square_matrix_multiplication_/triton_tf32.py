"""Tiled matrix product in TF32 (operands truncated) with fp32 sums.

Programs are numbered so that a group of tile rows shares the same columns of B while they are
still in the L2 cache.
"""

import os

import torch
import triton
import triton.language as tl
from torch import nn

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

# The interpreter spends about 50 µs on each operation whatever its size: few and large tiles there.
LIMIT_M = 512 if INTERPRETED else 128
LIMIT_N = 512 if INTERPRETED else 128
LIMIT_K = 512 if INTERPRETED else 32
GROUP = 8  # tile rows that share a column of B in L2: 8 × 128 rows of A are 16 MiB at K = 4096
WARPS = 8
STAGES = 3
PRECISION = "ieee" if INTERPRETED else "tf32"  # the interpreter rounds nothing to TF32


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """c[tile] = a[rows, :] @ b[:, columns], one program per BLOCK_M × BLOCK_N tile."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    group_size = GROUP * tl.cdiv(N, BLOCK_N)
    first_m = tl.program_id(0) // group_size * GROUP
    height = tl.minimum(tiles_m - first_m, GROUP)
    within = tl.program_id(0) % group_size
    # 64 bits: a row's offset, row × K, can pass 2^31 elements.
    m = (first_m + within % height).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = (within // height).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_tile = a + (m[:, None] * K + k[None, :])
    b_tile = b + (k[:, None] * N + n[None, :])
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first_k in range(0, K, BLOCK_K):
        left = tl.load(a_tile, mask=(m < M)[:, None] & (k < K - first_k)[None, :], other=0.0)
        right = tl.load(b_tile, mask=(k < K - first_k)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    inside = (m < M)[:, None] & (n < N)[None, :]
    offsets = m[:, None] * N + n[None, :]
    tl.store(c + offsets, total.to(c.dtype.element_ty), mask=inside)


def tile(extent: int, limit: int) -> int:
    """Return the tile length for `extent`: a power of two, at least 16 as `tl.dot` wants."""
    return max(16, min(limit, triton.next_power_of_2(extent)))


class ModelNew(nn.Module):
    """A matrix product for any two matrices that fit."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """Multiply `A` (M, K) by `B` (K, N)."""
        A, B = A.contiguous(), B.contiguous()
        (M, K), N = A.shape, B.shape[1]
        C = torch.empty((M, N), dtype=A.dtype, device=A.device)
        if C.numel() == 0:
            return C
        block_m, block_n = tile(M, LIMIT_M), tile(N, LIMIT_N)
        matmul[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
            A,
            B,
            C,
            M,
            N,
            K,
            BLOCK_M=block_m,
            BLOCK_N=block_n,
            BLOCK_K=tile(K, LIMIT_K),
            GROUP=GROUP,
            PRECISION=PRECISION,
            num_warps=WARPS,
            num_stages=STAGES,
        )
        return C
