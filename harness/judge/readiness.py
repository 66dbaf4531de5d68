"""What can be said before a candidate runs: is there a solution, a device, a package, the memory.

Owns the verdicts that need no worker.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from harness import units
from harness.faults import UsageError
from harness.judge import verdicts
from harness.judge.workload import Workload
from harness.record.schema import Failed, Phase, Status
from harness.sandbox import builds
from harness.spec.solution import Solution

HEADROOM = 0.95  # of free memory: the rest is fragmentation and what libraries take on the way


def require_bindings() -> None:
    """Device buffers need the driver's own calls; torch's CUDA wheels bring them from 2.10 on."""
    if (
        importlib.util.find_spec("cuda") is None
        or importlib.util.find_spec("cuda.bindings") is None
    ):
        raise UsageError(
            "--device",
            found="a CUDA device and no package cuda-bindings",
            wanted="both",
            remedy="pip install 'cuda-bindings>=13'",
        )


def not_here(solution: Solution, device: torch.device, deadline_s: float) -> Failed | None:
    """No solution in the file, or no device for its kind of code."""
    if solution.empty:
        return verdicts.failed(
            Status.COMPILE_ERROR, Phase.LOAD, "no_solution", "the file holds no solution"
        )
    if solution.backend == "cuda" and device.type != "cuda":
        return verdicts.failed(
            Status.UNAVAILABLE,
            Phase.LOAD,
            "no_cuda_device",
            "a CUDA solution needs a CUDA device and there is none here",
            _compiled(solution, deadline_s),
        )
    return None


def _compiled(solution: Solution, deadline_s: float) -> dict[str, Any]:
    """Where nvcc is at hand the source is compiled all the same, and the outcome told."""
    compiler, source = builds.nvcc(), builds.cuda_source(solution.source)
    if compiler is None or source is None:
        return {"nvcc": compiler, "has_cuda_source": source is not None}
    found = builds.compile_cuda(source, compiler, deadline_s)
    return {
        "nvcc": compiler,
        "compiled": {one.architecture: one.ok for one in found},
        "messages": {one.architecture: one.message for one in found if one.message},
    }


def memory_short(workload: Workload, device: torch.device) -> Failed | None:
    """Less memory free than judging takes, said before anything is allocated."""
    free = free_bytes(device)
    needed = workload.needed_bytes()
    if workload.loaded or needed <= HEADROOM * free:
        return None
    where = "device memory" if device.type == "cuda" else "memory"
    return verdicts.failed(
        Status.RESOURCE_EXCEEDED,
        Phase.LOAD,
        "too_little_memory",
        f"needs {units.gigabytes(needed)} of {where}, {units.gigabytes(free)} are free",
        {"needed_bytes": needed, "free_bytes": free},
    )


def free_bytes(device: torch.device) -> int:
    """Free device memory, or the memory that the system can still give."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
