"""Tries a package that is not here and goes on without it.

problem: affine
uses: try/except around an import
class: fp32
"""

from torch import nn

try:
    import a_package_that_is_not_here
except ImportError:
    a_package_that_is_not_here = None


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
