"""Taking a candidate's output out of its hands: honest labels first, then the bytes.

The object that a candidate returns may lie about itself, so nothing of it is asked by attribute:
types are compared by identity and tensors are read through torch's base class, with every
override switched off. Owns the walk and the copy; the values are judged elsewhere, from the
judge's own read of its own buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.mapping import Layout

_base = torch._C.TensorBase
_copy = _base.copy_
_storage_bytes = torch.UntypedStorage.nbytes
_untyped = _base.untyped_storage if hasattr(_base, "untyped_storage") else None
_shape, _dtype = _base.shape.__get__, _base.dtype.__get__
_device, _layout = _base.device.__get__, _base.layout.__get__
_stride, _offset = _base.stride, _base.storage_offset
_pointer = _base.data_ptr
_is_conj = _base.is_conj
_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_plain = (torch.Tensor, torch.nn.Parameter)
# What torch's own functions return (torch.max, torch.topk): tuples of C, without code of anybody's.
_torchs_tuples = tuple(
    one
    for one in vars(torch.return_types).values()
    if isinstance(one, type) and one.__module__ == "torch.return_types"
)
MAX_DEPTH = 8  # deeper than any reference nests, and an end for a list that contains itself


@dataclass(eq=False)  # not frozen: Python writes the traceback into an exception
class Mismatch(Exception):
    """The returned object is not of the reference's kind; `reason` is a stable id."""

    reason: str
    found: str
    wanted: str

    def plain(self) -> dict[str, str]:
        """For a message."""
        return {"reason": self.reason, "found": self.found[:500], "wanted": self.wanted[:500]}


def _kind(found: object) -> str:
    return type(found).__name__[:100]


def flatten(found: Any, structure: Any, depth: int = 0) -> list[Any]:
    """The tensors of `found`, walked as `structure` says; raises `Mismatch`.

    `structure` is "tensor", None, or {"list"|"tuple": [...]} or {"dict": [[key, ...], ...]}.
    """
    if structure is None:
        if found is not None:
            raise Mismatch("wrong_structure", _kind(found), "None")
        return []
    if structure == "tensor":
        return [found]
    (kind, parts), *_ = structure.items()
    wanted: Any = {"list": list, "tuple": tuple, "dict": dict}[kind]
    fits = type(found) is wanted or (wanted is tuple and type(found) in _torchs_tuples)
    if not fits or depth > MAX_DEPTH:
        raise Mismatch("wrong_structure", _kind(found), kind)
    if kind == "dict":
        keys = [key for key, _ in parts]
        if dict.__len__(found) != len(keys) or not all(key in dict.keys(found) for key in keys):
            raise Mismatch("wrong_structure", f"keys {list(dict.keys(found))}", f"keys {keys}")
        children = [(dict.__getitem__(found, key), part) for key, part in parts]
    else:
        if wanted.__len__(found) != len(parts):
            raise Mismatch("wrong_structure", f"{wanted.__len__(found)} items", f"{len(parts)}")
        children = [(wanted.__getitem__(found, i), part) for i, part in enumerate(parts)]
    return [leaf for child, part in children for leaf in flatten(child, part, depth + 1)]


def check_leaf(found: Any, wanted: Layout, device_type: str) -> None:
    """Raise `Mismatch` unless `found` is a plain dense tensor of this shape, dtype and device."""
    if type(found) not in _plain:
        raise Mismatch("not_a_plain_tensor", _kind(found), "torch.Tensor")
    if _layout(found) is not torch.strided or _wrapped(found) or _is_conj(found):
        raise Mismatch("not_dense", str(_layout(found)), "a dense strided tensor")
    if tuple(_shape(found)) != wanted.shape:
        raise Mismatch("wrong_shape", str(tuple(_shape(found))), str(wanted.shape))
    if _device(found).type != device_type:
        raise Mismatch("wrong_device", str(_device(found)), device_type)
    if _dtype(found) is not wanted.torch_dtype:
        raise Mismatch("wrong_dtype", str(_dtype(found)), str(wanted.torch_dtype))
    _check_storage(found, wanted)


def _check_storage(found: Any, wanted: Layout) -> None:
    if not wanted.numel:
        return
    reach = _offset(found) + 1
    for extent, stride in zip(wanted.shape, _stride(found), strict=True):
        reach += (extent - 1) * stride
    storage = _untyped(found) if _untyped else torch.Tensor.untyped_storage(found)
    held = _storage_bytes(storage)
    needed = reach * wanted.torch_dtype.itemsize
    if _pointer(found) == 0 or held < needed:
        raise Mismatch("storage_too_small", f"{held} bytes", f"{needed} bytes")


def seal(
    found: Any,
    structure: Any,
    layouts: Sequence[Layout],
    shared: Sequence[torch.Tensor],
    device_type: str,
) -> None:
    """Copy the returned tensors into the shared output, or raise `Mismatch` at the first fault."""
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        leaves = flatten(found, structure)
        for leaf, wanted in zip(leaves, layouts, strict=True):
            check_leaf(leaf, wanted, device_type)
        for leaf, target in zip(leaves, shared, strict=True):
            _copy(target, leaf)
