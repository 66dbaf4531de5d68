"""A Triton kernel, in the interpreter where there is no device.

problem: relu
uses: Triton
class: fp32
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rectify(x, y, count, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = place < count
    tl.store(y + place, tl.maximum(tl.load(x + place, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rectify[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), SIZE=4096)
        return y
