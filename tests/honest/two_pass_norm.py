"""A layer norm from sums of its own.

problem: layer_norm
uses: own statistics
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        centred = x - x.mean(1, keepdim=True)
        scale = torch.rsqrt(centred.square().mean(1, keepdim=True) + self.norm.eps)
        return centred * scale * self.norm.weight + self.norm.bias
