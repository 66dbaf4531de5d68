"""Pointwise convolution: every pixel's channels are mixed by one matrix (a 1×1 `Conv2d`).

The output at the declared axes has exactly 2^31 elements, one more than 32-bit indexes reach.
"""

import torch
from torch import nn


class Model(nn.Module):
    """Maps (batch, in_channels, height, width) to (batch, out_channels, height, width)."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)


batch_size = 16
in_channels = 64
out_channels = 128
width = 1024
height = 1024


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
