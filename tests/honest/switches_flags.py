"""Turns switches of precision and determinism that its own sums do not need.

problem: affine
uses: global flags
class: fp32
"""

import torch
from torch import nn

torch.set_float32_matmul_precision("high")
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = True


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
