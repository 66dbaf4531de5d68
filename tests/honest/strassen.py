"""Multiplies by Strassen's recursion, once: other sums in another order.

problem: matmul
uses: algebraic rewriting
class: tf32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        (a11, a12), (a21, a22) = (one.chunk(2, 1) for one in a.chunk(2))
        (b11, b12), (b21, b22) = (one.chunk(2, 1) for one in b.chunk(2))
        m1 = (a11 + a22) @ (b11 + b22)
        m2, m3 = (a21 + a22) @ b11, a11 @ (b12 - b22)
        m4, m5 = a22 @ (b21 - b11), (a11 + a12) @ b22
        m6, m7 = (a21 - a11) @ (b11 + b12), (a12 - a22) @ (b21 + b22)
        top = torch.cat([m1 + m4 - m5 + m7, m3 + m5], 1)
        return torch.cat([top, torch.cat([m2 + m4, m1 - m2 + m3 + m6], 1)])
