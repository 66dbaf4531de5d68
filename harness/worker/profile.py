"""What one call runs on the device, by name: an unscored pass after all timed ones.

A label and no evidence: a candidate that knows it is profiled may run something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

LISTED = 60  # kernels by their share of the time; more are summed up
MAX_NAME = 300  # characters; templates of libraries run to thousands


def kernels(call: Callable[[], Any]) -> list[list[Any]]:
    """[name, microseconds on the device, launches] of each kernel, the longest first."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        call()
        torch._C._cuda_synchronize()
    rows = [
        [one.key[:MAX_NAME], float(one.self_device_time_total), int(one.count)]
        for one in profiler.key_averages()
        if one.self_device_time_total > 0
    ]
    rows.sort(key=lambda row: -row[1])
    rest = rows[LISTED:]
    if rest:
        rows = [*rows[:LISTED], ["(others)", sum(r[1] for r in rest), sum(r[2] for r in rest)]]
    return rows
