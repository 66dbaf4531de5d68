"""Measured ceilings: what this machine's memory really moves, beside what a datasheet says.

A CPU has no row of a datasheet here, so its floor stands on this measurement alone.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import torch

BYTES = 256 << 20  # several times a last-level cache, a fraction of any machine's memory
REPEATS = 7  # the median of so many: a busy neighbour spoils one or two


@dataclass(frozen=True)
class Ceiling:
    """Decimal GB/s of a copy, bytes read and bytes written both counted."""

    copy_gbps: float
    threads: int


def measure_cpu() -> Ceiling:
    """A copy by all of torch's threads: the median of `REPEATS` after one that touches pages."""
    source = torch.ones(BYTES // 4, dtype=torch.float32)
    target = torch.empty_like(source)
    target.copy_(source)
    rates = []
    for _ in range(REPEATS):
        before = time.perf_counter_ns()
        target.copy_(source)
        rates.append(2 * BYTES / (time.perf_counter_ns() - before))  # bytes per ns are GB per s
    return Ceiling(statistics.median(rates), torch.get_num_threads())
