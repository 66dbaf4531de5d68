"""Tensors that the judge shares with a worker as file descriptors.

On a CPU a sealed memfd, on a GPU an allocation of CUDA's virtual memory management: each holds one
tensor and nothing else. What is `read_only` cannot be written by the worker at all, by the memory
system and not by a check afterwards. Owns allocation and sharing; knows no values.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Any

import torch

from harness.mapping import Layout, checked, map_device, map_memfd, wrap_device

F_ADD_SEALS, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 1, 2, 4
F_SEAL_FUTURE_WRITE = 16  # Linux 5.1; fcntl names it only from Python 3.13
POISON = 0xFF  # as bytes: NaN in every floating type, -1 in every signed integer


class SharedTensor:
    """One tensor in a buffer of its own; the worker may write it only if not `read_only`."""

    def __init__(self, layout: Layout, device: torch.device, *, read_only: bool) -> None:
        self.layout = layout
        self._device = device
        if device.type == "cuda":
            self._share_device()
        else:
            self._share_memory(read_only=read_only)
        self.tensor = layout.over(self.raw)

    def _share_memory(self, *, read_only: bool) -> None:
        self.held = max(self.layout.nbytes, 1)
        self.descriptor = os.memfd_create("tensor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.held)
        self.raw = map_memfd(self.descriptor, self.held, writable=True)
        seals = F_SEAL_SHRINK | F_SEAL_GROW  # a worker that truncates it would kill the judge
        if read_only:
            seals |= F_SEAL_FUTURE_WRITE  # our own mapping above stays writable
        fcntl.fcntl(self.descriptor, F_ADD_SEALS, seals | F_SEAL_SEAL)

    def _share_device(self) -> None:
        from cuda.bindings import driver

        index = self._device.index or 0
        prop = driver.CUmemAllocationProp()
        prop.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        prop.location.id = index
        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        prop.requestedHandleTypes = kind
        option = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        granule = int(checked(driver.cuMemGetAllocationGranularity(prop, option)))
        self.held = max(1, -(-self.layout.nbytes // granule)) * granule
        code, handle = driver.cuMemCreate(self.held, prop, 0)
        if code == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise torch.OutOfMemoryError(f"no device memory for {self.held} bytes")
        handle = checked((code, handle))
        self.descriptor = int(checked(driver.cuMemExportToShareableHandle(handle, kind, 0)))
        self._address = map_device(handle, self.held, index, writable=True)
        checked(driver.cuMemRelease(handle))
        self.raw = wrap_device(self._address, self.held, index)

    def poison(self) -> None:
        """Fill with NaN, so that what a call does not write cannot be right."""
        self.raw.fill_(POISON)

    def spec(self) -> dict[str, Any]:
        """What the worker needs beside the descriptor to map it."""
        return {**self.layout.plain(), "held": self.held}

    def close(self) -> None:
        """Give the memory back (a worker's mapping keeps its own hold until that worker ends)."""
        if self.descriptor < 0:
            return
        os.close(self.descriptor)
        self.descriptor = -1
        del self.tensor, self.raw
        if self._device.type == "cuda":
            from cuda.bindings import driver

            torch.cuda.synchronize(self._device)
            checked(driver.cuMemUnmap(self._address, self.held))
            checked(driver.cuMemAddressFree(self._address, self.held))


def page_rounded(nbytes: int, device: torch.device) -> int:
    """Bytes that a shared tensor of `nbytes` takes: whole pages, 2 MiB granules on a GPU."""
    granule = 2 << 20 if device.type == "cuda" else mmap.PAGESIZE
    return max(1, -(-nbytes // granule)) * granule
