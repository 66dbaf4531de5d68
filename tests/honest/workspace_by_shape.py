"""Keeps a workspace for each shape and writes the answer into it.

problem: affine
uses: cache keyed on shape
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.workspaces = {}

    def forward(self, x):
        key = (x.shape, x.dtype, x.device)
        if key not in self.workspaces:
            self.workspaces[key] = torch.empty_like(x)
        return torch.addmm(self.layer.bias, x, self.layer.weight.T, out=self.workspaces[key])
