"""What a workload's tensors are: names, shapes and dtypes, without any tensor.

Owns sizes in elements and bytes. Does not know torch: dtypes are spelled as torch spells them,
without "torch.", and are filled in by whoever ran the reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

DTYPE_BYTES: Mapping[str, int] = MappingProxyType(
    {
        "bool": 1,
        "uint8": 1,
        "int8": 1,
        "uint16": 2,
        "int16": 2,
        "uint32": 4,
        "int32": 4,
        "uint64": 8,
        "int64": 8,
        "float8_e4m3fn": 1,
        "float8_e4m3fnuz": 1,
        "float8_e5m2": 1,
        "float8_e5m2fnuz": 1,
        "float8_e8m0fnu": 1,
        "float16": 2,
        "bfloat16": 2,
        "float32": 4,
        "float64": 8,
        "complex32": 4,
        "complex64": 8,
        "complex128": 16,
    }
)


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a workload; `shape` is () for a 0-d one. ValueError for an unknown dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in DTYPE_BYTES:
            raise ValueError(f"{self.name}: unknown dtype {self.dtype!r}")
        if any(length < 0 for length in self.shape):
            raise ValueError(f"{self.name}: negative length in {self.shape}")

    @property
    def numel(self) -> int:
        """Elements: 1 for a 0-d tensor."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, as if stored densely."""
        return self.numel * DTYPE_BYTES[self.dtype]


@dataclass(frozen=True)
class Signature:
    """Everything that the reference takes and gives, and the operations that it needs.

    `outputs` are flattened in walking order; `flops` counts a multiply-add as two; `generators`
    says how each input is drawn, in the order of `inputs`.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    parameters: tuple[TensorSpec, ...]
    flops: int
    generators: tuple[str, ...]
