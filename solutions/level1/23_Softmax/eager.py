"""PyTorch's own softmax."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """A row softmax left to the library."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the exponentials of each row of `x` (rows, columns)."""
        return torch.softmax(x, dim=1)
