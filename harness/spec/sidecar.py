"""What stands beside a problem's module in its YAML file; every key is optional.

Owns the keys and their types. Does not know the module: whether an axis exists is asked when a
size is chosen.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from harness.spec.strict_model import FromList, Setting, StrictModel, read, wanted
from harness.spec.strict_yaml import load_mapping
from harness.spec.tensor import DTYPE_BYTES

FULL = "full"  # the axes as the module declares them; every problem has it
AUTO = "auto"  # full or smoke, whichever suits the device; never a size of its own
_SIZE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


def _dtype(name: str) -> str:
    if name not in DTYPE_BYTES:
        raise wanted(f"one of {', '.join(DTYPE_BYTES)}")
    return name


def _lengths(shape: tuple[int | str, ...]) -> tuple[int | str, ...]:
    for length in shape:
        if isinstance(length, bool) or (isinstance(length, int) and length < 0):
            raise wanted("lengths of 0 or more, or axes' names")
    return shape


class Size(StrictModel):
    """Other values for axes, and keyword arguments of the constructor, under one name."""

    axes: dict[str, Setting] = Field(default_factory=dict)
    init: dict[str, Setting | None] = Field(default_factory=dict)


class DeclaredTensor(StrictModel):
    """A tensor as the sidecar spells it: a length is a number or an expression over the axes."""

    name: str
    dtype: Annotated[str, AfterValidator(_dtype)]
    shape: Annotated[tuple[int | str, ...], FromList, AfterValidator(_lengths)]
    generator: str | None = None


class DeclaredTensors(StrictModel):
    """What goes in and what comes out, in the order of `get_inputs` and of walking the result."""

    inputs: Annotated[tuple[DeclaredTensor, ...], FromList] = ()
    outputs: Annotated[tuple[DeclaredTensor, ...], FromList] = ()


def _sizes(sizes: dict[str, Size]) -> dict[str, Size]:
    for name, size in sizes.items():
        if name == AUTO or not _SIZE.match(name):
            raise wanted(f"sizes' names of letters, digits, `_`, `.`, `-` and never {AUTO}")
        if name == FULL and (size.axes or size.init):
            raise wanted(f"{FULL} without axes or init: it is what the module declares")
    return sizes


class Sidecar(StrictModel):
    """All that a problem says about itself beside its code.

    `semantics_version` rises when what the problem computes changes; older records are then not
    comparable. `writes_inputs` says that the reference itself writes its inputs.
    """

    title: str | None = None
    family: str | None = None
    semantics_version: Annotated[int, Field(ge=1)] = 1
    sizes: Annotated[dict[str, Size], AfterValidator(_sizes)] = Field(default_factory=dict)
    tensors: DeclaredTensors | None = None
    license: str | None = None
    source: str | None = None
    writes_inputs: bool = False


def beside(module: Path, where: str) -> Sidecar:
    """Return the sidecar of `module`, an empty one where there is no file; UsageError if bad."""
    path = module.with_suffix(".yaml")
    if not path.is_file():
        return Sidecar()
    return read(Sidecar, load_mapping(path, where), where)
