"""Clears the upper triangle of its own product in place.

problem: lower
uses: in-place operators on a result
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a @ b).tril_()
