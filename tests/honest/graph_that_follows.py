"""Copies its input into a graph's own buffer and replays the graph.

problem: affine
uses: a captured graph
class: fp32
device: cuda
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.layer = nn.Linear(features, features)
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.given = x.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.layer(self.given)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.answer = self.layer(self.given)
        self.given.copy_(x)
        self.graph.replay()
        return self.answer
