"""Multiplies in TF32 by torch's own switch.

problem: matmul
uses: the TF32 switch
class: tf32
device: cuda
"""

import torch
from torch import nn

torch.backends.cuda.matmul.fp32_precision = "tf32"


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
