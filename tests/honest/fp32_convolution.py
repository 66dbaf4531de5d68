"""Problem 87 in true fp32, as a product.

problem: 1/87
uses: an fp32-exact convolution
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, bias: bool = False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x):
        return torch.einsum("oc,bchw->bohw", self.conv1d.weight[:, :, 0, 0], x)
