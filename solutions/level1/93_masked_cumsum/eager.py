"""PyTorch's own product and cumulative sum, two kernels."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """A masked running sum left to the library."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Sum along `dim` the elements of `x` where `mask` is true."""
        return torch.cumsum(x * mask, dim=self.dim)
