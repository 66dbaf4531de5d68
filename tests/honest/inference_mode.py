"""Runs in torch's inference mode.

problem: affine
uses: inference tensors
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    @torch.inference_mode()
    def forward(self, x):
        return self.layer(x)
