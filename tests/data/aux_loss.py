"""A weighted mean squared error: one number, whose expectation is 0.01 / 6."""

import torch
from torch import nn

rows = 64
columns = 256


class Model(nn.Module):
    def forward(self, predicted, wanted):
        return 0.01 * torch.mean((predicted - wanted) ** 2)


def get_inputs():
    return [torch.rand(rows, columns), torch.rand(rows, columns)]


def get_init_inputs():
    return []
