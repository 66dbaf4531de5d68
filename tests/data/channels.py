"""A linear layer one channel of which is a millionth of the others."""

import torch
from torch import nn

rows = 512
features = 64


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        scale = torch.ones(x.shape[1], dtype=x.dtype, device=x.device)
        scale[5] = 1e-6
        return self.layer(x) * scale


def get_inputs():
    return [torch.rand(rows, features)]


def get_init_inputs():
    return [features]
