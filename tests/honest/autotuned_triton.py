"""A Triton kernel with two configurations to choose from.

problem: relu
uses: Triton and its autotuner
class: fp32
device: cuda
"""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"SIZE": 2048}), triton.Config({"SIZE": 4096})], key=["count"]
)
@triton.jit
def rectify(x, y, count, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = place < count
    tl.store(y + place, tl.maximum(tl.load(x + place, mask=inside), 0.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rectify[lambda meta: (triton.cdiv(x.numel(), meta["SIZE"]),)](x, y, x.numel())
        return y
