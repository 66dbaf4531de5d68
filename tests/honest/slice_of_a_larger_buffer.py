"""Returns a part of a padded buffer.

problem: affine
uses: storage larger than the view
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        padded = x.new_zeros(x.shape[0], x.shape[1] + 8)
        padded[:, : x.shape[1]] = self.layer(x)
        return padded[:, : x.shape[1]]
