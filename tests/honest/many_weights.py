"""Has more weights than one message carries.

problem: deep
uses: many parameters
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int, layers: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(features, features) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.addmm(layer.bias, x, layer.weight.T).tanh_()
        return x
