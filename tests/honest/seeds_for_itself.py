"""Seeds the global generator at construction, for weights that it draws and drops.

problem: affine
uses: torch.manual_seed
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        torch.manual_seed(7)
        self.tuning = torch.randn(3)

    def forward(self, x):
        return self.layer(x)
