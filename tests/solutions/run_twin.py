"""Runs a CUDA source's own indexing on the CPU and prints one JSON line per case.

Usage: run_twin.py LIBRARY, where LIBRARY is the source compiled against `twin/cuda_runtime.h`.
A process of its own, because a bad address ends it. Truth is an fp64 product of operands rounded
to TF32, so only the order of fp32 additions is left as a difference.
"""

from __future__ import annotations

import ctypes
import json
import sys

import torch

# batch, in_channels, out_channels, pixels, bias, offset of x in elements, shared bytes
HOPPER, AMPERE = 228 * 1024, 164 * 1024
CASES = [
    (2, 64, 128, 1024, False, 0, HOPPER),
    (2, 64, 128, 1024, True, 0, AMPERE),
    (3, 64, 256, 100, True, 0, HOPPER),
    (1, 64, 128, 4, True, 0, AMPERE),
    (5, 64, 128, 260, False, 4, HOPPER),
    (2, 64, 128, 516, False, 1, HOPPER),  # unaligned: the general kernel
    (1, 3, 64, 63, True, 0, HOPPER),
    (1, 65, 130, 77, True, 0, HOPPER),
    (2, 1, 1, 1, False, 0, HOPPER),
    (3, 64, 128, 33, False, 0, HOPPER),
    (1, 64, 127, 36, False, 0, HOPPER),
]


def rounded(values):
    bits = values.contiguous().view(torch.int32).long() + 0x1000 & ~0x1FFF
    return bits.to(torch.int32).view(torch.float32).double()


def measured(library, batch, in_channels, out_channels, pixels, bias, offset, shared):
    x = torch.randn(batch * in_channels * pixels + offset)[offset:].view(batch, in_channels, pixels)
    weight, added = torch.randn(out_channels, in_channels), torch.randn(out_channels)
    count = batch * out_channels * pixels
    y = torch.full((count + 64,), float("nan"))
    library.configure_twin(2, shared)
    status = library.pointwise_conv(
        x.data_ptr(),
        weight.data_ptr(),
        added.data_ptr() if bias else None,
        y.data_ptr(),
        batch,
        in_channels,
        out_channels,
        pixels,
        0,
        None,
    )
    truth = rounded(weight) @ rounded(x) + (added.double()[:, None] if bias else 0.0)
    error = (y[:count].view_as(truth) - truth).norm() / truth.norm()
    return {
        "status": status,
        "error": float(error) if error == error else None,
        "guard_kept": bool(y[count:].isnan().all()),
    }


def main(path: str) -> None:
    torch.manual_seed(5)
    library = ctypes.CDLL(path)
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    library.pointwise_conv.argtypes = [*[pointer] * 4, *[size] * 4, ctypes.c_int, pointer]
    for case in CASES:
        print(json.dumps({"case": case, **measured(library, *case)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
