"""Performs the forward pass; no pass is left out, try: nothing, except what is said here.

problem: affine
uses: the words pass, try, allclose in text
class: fp32
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        """Performs the forward pass, as torch.allclose and time.perf_counter would confirm."""
        return self.layer(x)
