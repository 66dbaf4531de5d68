"""Product of two square matrices."""

import torch
from torch import nn


class Model(nn.Module):
    """Maps two (N, N) matrices to their (N, N) product."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return A @ B


N = 4096


def get_inputs():
    return [torch.rand(N, N), torch.rand(N, N)]


def get_init_inputs():
    return []
