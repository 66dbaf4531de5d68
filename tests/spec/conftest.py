from __future__ import annotations

import pytest

CONVOLUTION = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, bias=False):
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 1, bias=bias)

    def forward(self, x):
        return self.mix(x)


batch, channels = 4, 2 * 8
height = width = 64
shape = (batch, channels, height, width)


def get_inputs():
    return [torch.rand(shape)]


def get_init_inputs():
    return [channels]
"""

SIDECAR = """\
title: Mixing
sizes:
  smoke:
    axes: {height: 8}
    init: {bias: true}
tensors:
  inputs:
    - {name: x, dtype: float32, shape: [batch, channels, height, width // 2 * 2], generator: rand}
  outputs:
    - {name: y, dtype: float32, shape: [batch, channels, height, width]}
"""


@pytest.fixture
def root(tmp_path):
    """A repository with three problems, two of them numbered, and solutions for one."""
    level = tmp_path / "problems" / "level1"
    level.mkdir(parents=True)
    (level / "7_mixing.py").write_text(CONVOLUTION)
    (level / "7_mixing.yaml").write_text(SIDECAR)
    (level / "12_other.py").write_text(CONVOLUTION)
    (tmp_path / "problems" / "mine.py").write_text(CONVOLUTION)
    solutions = tmp_path / "solutions" / "level1" / "7_mixing"
    (solutions / "tuned").mkdir(parents=True)
    for name in ("eager", "tuned/wide", "_draft"):
        (solutions / f"{name}.py").write_text("import torch\nclass ModelNew: pass\n")
    (tmp_path / "configs").mkdir()
    return tmp_path
