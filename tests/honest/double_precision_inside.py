"""Accumulates in fp64: more exact than the reference.

problem: matmul
uses: a better answer than the reference's
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.double() @ b.double()).float()
