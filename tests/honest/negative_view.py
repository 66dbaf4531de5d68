"""Returns the imaginary part of a conjugate, which torch negates when it is read.

problem: relu
uses: lazy negation
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return torch.complex(torch.zeros_like(y), -y).conj().imag
