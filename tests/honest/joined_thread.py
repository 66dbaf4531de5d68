"""Lets a thread compute one half and joins it before it returns.

problem: affine
uses: threads
class: fp32
"""

import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2

        def lower():
            with torch.no_grad():
                y[half:] = self.layer(x[half:])

        thread = threading.Thread(target=lower)
        thread.start()
        y[:half] = self.layer(x[:half])
        thread.join()
        return y
