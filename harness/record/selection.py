"""Which records somebody asks about: those of a problem, those of a device.

Owns how a problem and a device may be named. Reads no record file and ranks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.faults import UsageError
from harness.record.ranking import hardware_name
from harness.record.schema import Record
from harness.spec import hardware
from harness.spec import problem as problems
from harness.spec.nearest import nearest


def of_problem(records: Sequence[Record], asked: str, root: Path) -> list[Record]:
    """By the name that records hold, else by whatever `--problem` names elsewhere."""
    named = [one for one in records if asked in (one.problem.name, _number_of(one))]
    if named:
        return named
    found = {(one.name, one.level, one.number) for one in problems.find(asked, root)}
    return [
        one for one in records if (one.problem.name, one.problem.level, one.problem.number) in found
    ]


def _number_of(record: Record) -> str:
    return f"{record.problem.level}/{record.problem.number}"


def on_hardware(records: Sequence[Record], asked: str) -> list[Record]:
    """By a device's whole name or its row's, else by the start of one; UsageError if unknown."""
    wanted = asked.strip().casefold()
    named = {one: _device_names(one) for one in {one.environment.device for one in records}}
    whole = {device for device, names in named.items() if wanted in map(str.casefold, names)}
    begun = {
        device
        for device, names in named.items()
        if wanted and any(name.casefold().startswith(wanted) for name in names)
    }
    rows = [row.name for row in hardware.everything()]
    if not begun and not (wanted and any(row.casefold().startswith(wanted) for row in rows)):
        known = [hardware_name(device) for device in sorted(named)]
        raise UsageError(
            "--hardware",
            found=repr(asked),
            wanted=f"a device that has records, or a row of {hardware.SPELLED}",
            remedy=nearest(asked, [*known, *rows]),
        )
    return [one for one in records if one.environment.device in (whole or begun)]


def _device_names(device: str) -> list[str]:
    row = hardware.of_device(device)
    return [device, hardware_name(device), *([row.name] if row else [])]
