"""Finds the first of the largest by a comparison.

problem: where
uses: integer outputs
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        largest = x == x.amax(1, keepdim=True)
        return torch.where(largest, places, x.shape[1]).amin(1)
