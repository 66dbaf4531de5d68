"""Draws the same dropout from the same generator.

problem: dropout
uses: random numbers in forward
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        return self.drop(torch.addmm(self.layer.bias, x, self.layer.weight.T))
