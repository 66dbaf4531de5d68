"""A shared descriptor as a tensor; a leaf that judge and worker both load.

On a CPU the descriptor is a memfd, on a GPU an allocation of CUDA's virtual memory management.
Owns mapping and wrapping; does not know what a tensor is for, nor who may write to it.
"""

from __future__ import annotations

import mmap
import os
import warnings
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Layout:
    """How a tensor lies in its buffer: `shape`, `strides` in elements, dtype without "torch."."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @staticmethod
    def parse(found: dict[str, Any]) -> Layout:
        """From the plain form of a message."""
        return Layout(tuple(found["shape"]), tuple(found["strides"]), found["dtype"])

    def plain(self) -> dict[str, Any]:
        """For a message."""
        return {"shape": list(self.shape), "strides": list(self.strides), "dtype": self.dtype}

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype as torch's own object."""
        found = getattr(torch, self.dtype)
        assert isinstance(found, torch.dtype)
        return found

    @property
    def numel(self) -> int:
        """Elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.numel * int(self.torch_dtype.itemsize)

    def over(self, raw: torch.Tensor) -> torch.Tensor:
        """`raw` (uint8, at least `nbytes`) seen as this tensor."""
        flat = raw[: self.nbytes].view(self.torch_dtype)
        return flat.as_strided(self.shape, self.strides)


def layout_of(tensor: torch.Tensor) -> Layout:
    """Keeps the strides where they are dense and do not overlap, else contiguous ones."""
    dense = torch.empty_like(tensor, device="meta")  # torch's own rule for what can be preserved
    return Layout(tuple(tensor.shape), dense.stride(), str(tensor.dtype).removeprefix("torch."))


def map_memfd(descriptor: int, nbytes: int, *, writable: bool) -> torch.Tensor:
    """The first `nbytes` of a memfd as a uint8 tensor; a write to a read-only one is a SIGSEGV."""
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    mapped = mmap.mmap(descriptor, max(nbytes, 1), mmap.MAP_SHARED, protection)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a read-only buffer must not be written
        return torch.frombuffer(mapped, dtype=torch.uint8, count=max(nbytes, 1))


class _Span:
    """Device memory in the form that torch accepts without a copy."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),  # True would make torch refuse, whatever the mapping allows
            "version": 3,
        }


def wrap_device(address: int, nbytes: int, device: int) -> torch.Tensor:
    """`nbytes` at a device address as a uint8 tensor; the caller keeps the mapping alive."""
    return torch.as_tensor(_Span(address, nbytes), device=torch.device("cuda", device))


def checked(result: tuple[Any, ...]) -> Any:
    """The values of a driver call, or `RuntimeError` with the driver's own name of the error."""
    code, *values = result
    if int(code) != 0:
        raise RuntimeError(f"CUDA driver: {code!r}")
    return values[0] if values else None


def map_device(handle: Any, nbytes: int, device: int, *, writable: bool) -> int:
    """The device address at which an allocation handle of `nbytes` (whole granules) is mapped."""
    from cuda.bindings import driver

    address = int(checked(driver.cuMemAddressReserve(nbytes, 0, 0, 0)))
    checked(driver.cuMemMap(address, nbytes, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = device
    flags = driver.CUmemAccess_flags
    access.flags = (
        flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        if writable
        else flags.CU_MEM_ACCESS_FLAGS_PROT_READ
    )
    checked(driver.cuMemSetAccess(address, nbytes, [access], 1))
    return address


def import_device(descriptor: int, nbytes: int, device: int, *, writable: bool) -> torch.Tensor:
    """The allocation behind a descriptor as a uint8 tensor of `nbytes` (whole granules)."""
    from cuda.bindings import driver

    kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    handle = checked(driver.cuMemImportFromShareableHandle(descriptor, kind))
    address = map_device(handle, nbytes, device, writable=writable)
    checked(driver.cuMemRelease(handle))  # the mapping keeps the memory
    os.close(descriptor)
    return wrap_device(address, nbytes, device)
