"""PyTorch's own matrix product (cuBLAS on a GPU, true fp32 by default)."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """A matrix product left to the library."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """Multiply `A` (M, K) by `B` (K, N)."""
        return torch.matmul(A, B)
