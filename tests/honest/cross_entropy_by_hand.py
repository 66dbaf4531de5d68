"""A cross entropy from gathered logits; labels stay integers.

problem: labels
uses: integer inputs
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        chosen = logits.gather(1, labels[:, None])[:, 0]
        return (torch.logsumexp(logits, 1) - chosen).mean()
