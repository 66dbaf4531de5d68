"""Sums the inner dimension in parts that arrive in any order, as atomics do.

problem: matmul
uses: order of a sum changes
class: fp32
"""

import random

from torch import nn

DRAW = random.SystemRandom()


class ModelNew(nn.Module):
    def forward(self, a, b):
        parts = list(zip(a.chunk(8, 1), b.chunk(8), strict=True))
        DRAW.shuffle(parts)
        return sum(one @ other for one, other in parts)
