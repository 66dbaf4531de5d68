"""Hardware: what datasheets state about the devices that are known here.

Owns `hardware.yaml` and its look-ups, by a row's name and by the device's own. Does not know the
device at hand, nor what a peak is good for.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from harness.faults import UsageError
from harness.spec.nearest import nearest
from harness.spec.strict_model import FromList, StrictModel, read
from harness.spec.strict_yaml import load_mapping

TABLE = Path(__file__).with_name("hardware.yaml")
SPELLED = "harness/spec/hardware.yaml"  # as a person in the checkout would type it

Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Peaks(StrictModel):
    """Dense TFLOP/s; None where the datasheet states none."""

    fp32: Rate | None = None
    tf32: Rate | None = None
    fp16: Rate | None = None
    bf16: Rate | None = None
    fp64: Rate | None = None
    fp64_tensor: Rate | None = None


class Hardware(StrictModel):
    """One row: a device model, the names it answers to, its rates and where they are stated."""

    name: str
    devices: Annotated[tuple[str, ...], FromList, Field(min_length=1)]
    bandwidth_gbps: Rate
    memory_gb: Rate | None = None
    peaks_tflops: Peaks
    l2_bytes: Annotated[int, Field(gt=0)] | None = None
    source: Annotated[str, Field(min_length=1)]


@cache
def everything() -> tuple[Hardware, ...]:
    """Return every row, in the file's order."""
    return parse(load_mapping(TABLE, SPELLED), SPELLED)


def parse(rows: dict[str, object], where: str) -> tuple[Hardware, ...]:
    """Return rows from their plain form; UsageError for a bad one, or a device in two of them."""
    found = tuple(_row(name, row, where) for name, row in rows.items())
    devices = [device for row in found for device in row.devices]
    twice = next((device for device in devices if devices.count(device) > 1), None)
    if twice is not None:
        raise UsageError(where, key="devices", found=f"{twice!r} twice", wanted="each device once")
    return found


def _row(name: str, row: object, where: str) -> Hardware:
    place = f"{where}: {name}"
    if not isinstance(row, dict) or "name" in row:
        raise UsageError(place, found="no row", wanted="a mapping without a name of its own")
    return read(Hardware, {**row, "name": name}, place)


def find(name: str, *, where: str = "--hardware") -> Hardware:
    """Return the row of that name, or the only one whose name begins so; else UsageError."""
    rows = everything()
    asked = name.strip().casefold()
    exact = [row for row in rows if row.name.casefold() == asked]
    begun = exact or [row for row in rows if asked and row.name.casefold().startswith(asked)]
    if len(begun) == 1:
        return begun[0]
    names = [row.name for row in begun or rows]
    if begun:
        wanted = f"one of {', '.join(names)}"
        raise UsageError(where, found=f"{name!r}, which fits {len(begun)} rows", wanted=wanted)
    wanted = f"a row of {SPELLED}"
    raise UsageError(where, found=repr(name), wanted=wanted, remedy=nearest(name, names))


def of_device(device_name: str) -> Hardware | None:
    """Return the row of a device that calls itself so, None where the file has none."""
    return next((row for row in everything() if device_name in row.devices), None)
