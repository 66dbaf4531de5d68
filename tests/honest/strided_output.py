"""Returns the right values in column order.

problem: affine
uses: output that is not contiguous
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return (self.layer.weight @ x.T + self.layer.bias[:, None]).T
