"""The reference itself, in its own words.

problem: affine
uses: nothing special
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
