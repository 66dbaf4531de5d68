"""A linear layer and a dropout that is on: forward draws random numbers."""

import torch
from torch import nn

rows = 128
features = 64


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        return self.drop(self.layer(x))


def get_inputs():
    return [torch.rand(rows, features)]


def get_init_inputs():
    return [features]
