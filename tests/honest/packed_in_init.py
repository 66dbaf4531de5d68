"""Packs weight and bias into one matrix when it is constructed.

problem: affine
uses: weights packed in __init__
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.packed = torch.cat([self.layer.weight.detach().T, self.layer.bias.detach()[None]])

    def forward(self, x):
        return x @ self.packed[:-1] + self.packed[-1]
