"""Prints at import, in the constructor and in every call.

problem: affine
uses: standard output
class: fp32
"""

import sys

from torch import nn

print("PASSED " * 1000)
print("import", file=sys.stderr)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        print("constructor")

    def forward(self, x):
        print("forward", tuple(x.shape), flush=True)
        return self.layer(x)
