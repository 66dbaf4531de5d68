"""A mean squared error from a norm.

problem: aux_loss
uses: a 0-d output
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, predicted, wanted):
        difference = (predicted - wanted).flatten().double()
        return (0.01 * torch.dot(difference, difference) / difference.numel()).float()
