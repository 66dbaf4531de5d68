"""Convolves by the fast Fourier transform, in fp32 throughout.

problem: filter
uses: another algorithm, with rounding of its own
class: fp32
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, taps):
        return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(taps), n=x.shape[1])
