"""The least of the leasts of two halves.

problem: minimum
uses: few outputs
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        left, right = x.chunk(2, dim=1)
        return torch.minimum(left.amin(1), right.amin(1))
