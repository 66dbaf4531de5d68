"""Adds partial sums by atomics, in whatever order they come.

problem: matmul
uses: atomics
class: fp32
device: cuda
"""

import torch
import triton
import triton.language as tl
from torch import nn

PARTS = 8


@triton.jit
def add(part, y, count, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    source = part + tl.program_id(1) * count
    tl.atomic_add(y + place, tl.load(source + place, mask=place < count), mask=place < count)


class ModelNew(nn.Module):
    def forward(self, a, b):
        rows, inner = a.shape
        left = a.view(rows, PARTS, inner // PARTS).transpose(0, 1)
        parts = torch.bmm(left, b.view(PARTS, inner // PARTS, -1))
        y = torch.zeros(rows, b.shape[1], device=a.device)
        add[(triton.cdiv(y.numel(), 1024), PARTS)](parts, y, y.numel(), SIZE=1024)
        return y
