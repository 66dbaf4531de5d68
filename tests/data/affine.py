"""A small problem for tests: one linear layer, 8,192 outputs, weights and a bias."""

import torch
from torch import nn

rows = 128
features = 64


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(rows, features)]


def get_init_inputs():
    return [features]
