"""Two outputs of unequal sensitivity: a product, and a sum most of whose digits cancel."""

import torch
from torch import nn

rows = 256
columns = 64


class Model(nn.Module):
    def forward(self, x):
        return {"doubled": 2 * x, "cancelled": (x + 1e5) - 1e5}


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
