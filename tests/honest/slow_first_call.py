"""Takes its time in the first call, as a compiler does.

problem: affine
uses: work in the first call
class: fp32
"""

import time

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.ready = False

    def forward(self, x):
        if not self.ready:
            time.sleep(1.0)
            self.ready = True
        return self.layer(x)
