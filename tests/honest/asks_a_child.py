"""Asks another program something at import and waits for it to end.

problem: affine
uses: child processes
class: fp32
"""

import subprocess

from torch import nn

ANSWER = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
