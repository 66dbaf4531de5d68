"""Convolves by the fast Fourier transform.

problem: filter
uses: another algorithm
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, taps):
        wide = torch.fft.rfft(x.double()) * torch.fft.rfft(taps.double())
        return torch.fft.irfft(wide, n=x.shape[1]).float()
