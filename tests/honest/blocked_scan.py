"""A running sum in blocks, then the blocks' own running sum.

problem: cumsum
uses: another order of sums
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        inside = x.view(x.shape[0], -1, 64).cumsum(2)
        before = inside[:, :, -1].cumsum(1) - inside[:, :, -1]
        return (inside + before[:, :, None]).view_as(x)
