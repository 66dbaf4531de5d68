"""Returns a plain tuple where the reference returns torch's own kind.

problem: best
uses: tuples
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        where = torch.argmax(x, dim=1)
        return x.gather(1, where[:, None])[:, 0], where
