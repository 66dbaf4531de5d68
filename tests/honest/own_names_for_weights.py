"""Calls its parameters otherwise; shapes and order say which is which.

problem: affine
uses: weights matched by shape
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        layer = nn.Linear(features, features)
        self.matrix, self.offset = layer.weight, layer.bias

    def forward(self, x):
        return torch.addmm(self.offset, x, self.matrix.T)
