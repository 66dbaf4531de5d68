"""Where the largest of each row stands: an integer output of floating inputs."""

import torch
from torch import nn

rows = 4200
columns = 512


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
