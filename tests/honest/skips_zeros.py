"""Looks whether there is anything to do, and does it all if there is.

problem: affine
uses: a branch on values that is always right
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        if not x.any():
            return self.layer.bias.expand(x.shape[0], -1)
        return self.layer(x)
