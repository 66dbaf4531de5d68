"""Keeps a file in the temporary folder and one in the current one.

problem: affine
uses: files
class: fp32
"""

import tempfile
from pathlib import Path

from torch import nn

Path("notes.txt").write_text("a tuned configuration")
(Path(tempfile.gettempdir()) / "cache.bin").write_bytes(bytes(1000))


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
