"""Forty layers: more weights than one message carries descriptors."""

import torch
from torch import nn

rows = 128
features = 64
layers = 40


class Model(nn.Module):
    def __init__(self, features: int, layers: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(features, features) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def get_inputs():
    return [torch.rand(rows, features)]


def get_init_inputs():
    return [features, layers]
