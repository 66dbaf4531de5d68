"""A softmax in one pass over tiles, with a running maximum.

problem: softmax
uses: rescaled partial sums
class: fp32
"""

import torch
from torch import nn

TILE = 2048


class ModelNew(nn.Module):
    def forward(self, x):
        highest = x.new_full((x.shape[0], 1), -torch.inf)
        total = torch.zeros_like(highest)
        for tile in x.split(TILE, dim=1):
            raised = torch.maximum(highest, tile.amax(1, keepdim=True))
            total = total * (highest - raised).exp() + (tile - raised).exp().sum(1, keepdim=True)
            highest = raised
        return (x - highest).exp() / total
