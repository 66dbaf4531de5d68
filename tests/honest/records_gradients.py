"""Switches gradients on for itself and returns what still hangs on its graph.

problem: affine
uses: gradient mode
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        with torch.enable_grad():
            return self.layer(x)
