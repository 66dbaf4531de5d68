"""PyTorch's own convolution (cuDNN on a GPU, TF32 by default there)."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """A 1×1 convolution left to the library."""

    def __init__(self, in_channels, out_channels, bias=False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix the channels of each pixel of `x` (batch, channels, height, width)."""
        return self.conv1d(x)
