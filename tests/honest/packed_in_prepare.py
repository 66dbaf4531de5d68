"""Packs the weights that it was given when it is told to prepare.

problem: affine
uses: weights packed in prepare()
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def prepare(self):
        self.packed = torch.cat([self.layer.weight.detach().T, self.layer.bias.detach()[None]])

    def forward(self, x):
        return x @ self.packed[:-1] + self.packed[-1]
