"""Pointwise convolution as one matrix product per image, in TF32 (operands truncated).

Each program takes a tile of consecutive pixels, loads its input channels once, and walks the
output channels a few rows at a time, so that the accumulators stay small and each slice is
stored while the next is multiplied. In Triton's interpreter the same kernel runs with few and
large programs and exact products.
"""

import os

import torch
import triton
import triton.language as tl
from torch import nn

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

# On a device: the fastest of some 600 variants on an H200 took 128 pixels and 32 output channels
# at a time. In the interpreter each operation costs about 50 µs whatever its size, so there the
# tiles are as large as the image allows.
PIXELS = 4096 if INTERPRETED else 128
ROWS = 128 if INTERPRETED else 32
WARPS = 4
STAGES = 2
# More than ptxas takes unasked (69): given a limit it takes 100, and the kernel gains 2 % on an
# H200 at any limit from 96 to 168.
REGISTERS = 128
# More input channels than this do not stay in registers: they are read in chunks, for each slice.
MAX_CHUNK = 256 if INTERPRETED else 64
PRECISION = "ieee" if INTERPRETED else "tf32"  # the interpreter rounds nothing to TF32


@triton.jit
def load_pixels(x_image, channel, in_channels, pixel, pixels):
    """Load x[channel, pixel] of one image, zero outside it.

    Its lines are the last to leave the caches, so that the output's leave first: 4 % on an H200.
    """
    offsets = channel.to(tl.int64)[:, None] * pixels + pixel[None, :]
    inside = (channel < in_channels)[:, None] & (pixel < pixels)[None, :]
    return tl.load(x_image + offsets, mask=inside, other=0.0, eviction_policy="evict_last")


@triton.jit
def load_weights(weight, row, out_channels, channel, in_channels):
    """Load weight[row, channel], zero outside it."""
    offsets = row.to(tl.int64)[:, None] * in_channels + channel[None, :]
    inside = (row < out_channels)[:, None] & (channel < in_channels)[None, :]
    return tl.load(weight + offsets, mask=inside, other=0.0)


@triton.jit
def pointwise_conv(
    x,
    weight,
    bias,
    y,
    pixels,
    tiles,
    in_channels,
    out_channels,
    HAS_BIAS: tl.constexpr,
    ONE_CHUNK: tl.constexpr,
    CHUNK: tl.constexpr,
    PIXELS: tl.constexpr,
    ROWS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """y[image, :, tile] = weight @ x[image, :, tile] (+ bias), one program per image and tile."""
    # 64 bits from here on: an image's first element can lie beyond 2^31 elements.
    image = (tl.program_id(0) // tiles).to(tl.int64)
    pixel = (tl.program_id(0) % tiles).to(tl.int64) * PIXELS + tl.arange(0, PIXELS)
    x_image = x + image * in_channels * pixels
    y_image = y + image * out_channels * pixels
    channel = tl.arange(0, CHUNK)
    if ONE_CHUNK:
        x_tile = load_pixels(x_image, channel, in_channels, pixel, pixels)
    for first_row in range(0, out_channels, ROWS):
        row = first_row + tl.arange(0, ROWS)
        if ONE_CHUNK:
            w_tile = load_weights(weight, row, out_channels, channel, in_channels)
            total = tl.dot(w_tile, x_tile, input_precision=PRECISION)
        else:
            total = tl.zeros((ROWS, PIXELS), dtype=tl.float32)
            for first_channel in range(0, in_channels, CHUNK):
                chunk = first_channel + channel
                w_tile = load_weights(weight, row, out_channels, chunk, in_channels)
                x_tile = load_pixels(x_image, chunk, in_channels, pixel, pixels)
                total = tl.dot(w_tile, x_tile, total, input_precision=PRECISION)
        if HAS_BIAS:
            total += tl.load(bias + row, mask=row < out_channels, other=0.0)[:, None]
        # Nothing reads the output again here: `.cs` marks its lines first to leave the caches.
        offsets = row.to(tl.int64)[:, None] * pixels + pixel[None, :]
        inside = (row < out_channels)[:, None] & (pixel < pixels)[None, :]
        tl.store(y_image + offsets, total.to(y.dtype.element_ty), mask=inside, cache_modifier=".cs")


def tile(extent: int, limit: int) -> int:
    """Return the tile length for `extent`: a power of two, at least 16 as `tl.dot` wants."""
    return max(16, min(limit, triton.next_power_of_2(extent)))


def pointwise(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Convolve `x` (batch, in, height, width) with `weight` (out, in, 1, 1); output contiguous."""
    x = x.contiguous()
    weight = weight.contiguous()
    batch, in_channels, height, width = x.shape
    out_channels = weight.shape[0]
    pixels = height * width
    y = torch.empty((batch, out_channels, height, width), dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    block = tile(pixels, PIXELS)
    chunk = tile(in_channels, MAX_CHUNK)
    one_chunk = in_channels <= chunk
    tiles = triton.cdiv(pixels, block)
    pointwise_conv[(batch * tiles,)](
        x,
        weight,
        weight if bias is None else bias.contiguous(),
        y,
        pixels,
        tiles,
        in_channels,
        out_channels,
        HAS_BIAS=bias is not None,
        ONE_CHUNK=one_chunk,
        CHUNK=chunk,
        PIXELS=block,
        ROWS=tile(out_channels, ROWS),
        PRECISION=PRECISION,
        num_warps=WARPS,
        num_stages=STAGES,
        maxnreg=REGISTERS if one_chunk else None,  # chunks need more: they would spill
    )
    return y


class ModelNew(nn.Module):
    """A 1×1 convolution whose parameters are read at each call."""

    def __init__(self, in_channels, out_channels, bias=False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix the channels of each pixel of `x` (batch, channels, height, width)."""
        return pointwise(x, self.conv1d.weight, self.conv1d.bias)
