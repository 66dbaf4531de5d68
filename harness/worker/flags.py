"""The global switches of torch, as they stand: notes for the record, never a verdict.

Each is read by itself, because after a candidate used one interface reading through another may
raise. Nothing here reaches the judge's own process or the baseline's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import torch

from harness.worker import candidate

UNREADABLE = "unreadable"


def _dynamo(name: str) -> Callable[[], object]:
    """A setting of dynamo, if dynamo was ever imported: reading it must not import it."""

    def read() -> object:
        module = sys.modules.get("torch._dynamo.config")
        return getattr(module, name) if module else "not imported"

    return read


READ: dict[str, Callable[[], object]] = {
    "matmul_precision": torch.get_float32_matmul_precision,
    "cuda_matmul_fp32_precision": lambda: torch.backends.cuda.matmul.fp32_precision,
    "cudnn_conv_fp32_precision": lambda: torch.backends.cudnn.conv.fp32_precision,
    "cudnn_rnn_fp32_precision": lambda: torch.backends.cudnn.rnn.fp32_precision,
    "mkldnn_matmul_fp32_precision": lambda: torch.backends.mkldnn.matmul.fp32_precision,
    "fp16_reduced_reduction": (
        lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    ),
    "bf16_reduced_reduction": (
        lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    ),
    "cudnn_enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn_benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn_deterministic": lambda: torch.backends.cudnn.deterministic,
    "mkldnn_enabled": lambda: torch.backends.mkldnn.enabled,
    "flash_sdp": torch.backends.cuda.flash_sdp_enabled,
    "deterministic": torch.are_deterministic_algorithms_enabled,
    "default_dtype": torch.get_default_dtype,
    "default_device": torch.get_default_device,
    "grad_enabled": torch.is_grad_enabled,
    "inference_mode": torch.is_inference_mode_enabled,
    "autocast_cpu": lambda: torch.is_autocast_enabled("cpu"),
    "autocast_cuda": lambda: torch.is_autocast_enabled("cuda"),
    "anomaly_detection": torch.is_anomaly_enabled,
    "threads": torch.get_num_threads,
    "interop_threads": torch.get_num_interop_threads,
    "flush_denormal": lambda: float(torch.tensor(1e-45) * 1) == 0.0,
    "dynamo_disabled": _dynamo("disable"),
    "dynamo_recompile_limit": _dynamo("recompile_limit"),
    "cuda_environment": lambda: os.environ.get("CUDA_LAUNCH_BLOCKING", "unset"),
}


def read_all() -> dict[str, str]:
    """Every switch by name, one that cannot be read as `UNREADABLE`."""
    found = {}
    for name, read in READ.items():
        value, fault = candidate.attempt(read)
        found[name] = UNREADABLE if fault else str(value)[:60]
    return found
