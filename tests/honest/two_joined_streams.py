"""Computes halves on two streams and joins them before it returns.

problem: affine
uses: streams that are joined
class: fp32
device: cuda
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y[half:] = self.layer(x[half:])
        y[:half] = self.layer(x[:half])
        main.wait_stream(self.side)
        return y
