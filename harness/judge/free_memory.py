"""How much memory is free on the device that is to judge."""

from __future__ import annotations

from pathlib import Path

import torch


def free_bytes(device: torch.device) -> int:
    """Free device memory, or the memory that the system can still give."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
