"""Builds its dictionary in another order.

problem: two
uses: dictionaries
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return {"cancelled": (x + 1e5) - 1e5, "doubled": x + x}
