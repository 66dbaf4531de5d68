"""The lower triangle of a product: half of the output is zero, always at the same places."""

import torch
from torch import nn

N = 128


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(a @ b)


def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]


def get_init_inputs():
    return []
