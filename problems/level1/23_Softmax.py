"""Softmax along each row: exponentials divided by their sum."""

import torch
from torch import nn


class Model(nn.Module):
    """Maps (batch_size, dim) to rows of the same shape that are positive and sum to one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
