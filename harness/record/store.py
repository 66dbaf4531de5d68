"""Run folders and record files: how evidence gets onto a disk and is found again.

Owns appending, repairing, reading and finding. A line is committed by its newline: what lies
behind the last one is a write that was cut off, and is removed and named before the next. Knows
neither what a record means nor how it ranks.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from harness.faults import HarnessFault, UsageError
from harness.record.schema import (
    BadRecord,
    EnvironmentSection,
    Record,
    Revocation,
    Verification,
    dump,
    dump_event,
    parse,
    parse_event,
)

RECORDS = "records.jsonl"
EVENTS = "events.jsonl"
CONFIG = "config.yaml"
ENVIRONMENT = "environment.json"
TAIL = 65_536  # bytes looked at once while searching the last newline from the end

Line = TypeVar("Line", Record, Verification | Revocation)


@dataclass(frozen=True)
class Loaded:
    """What was read: each record once, the events, and one line for every line refused."""

    records: tuple[Record, ...]
    events: tuple[Verification | Revocation, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class RunFolder:
    """One run's folder. `notes` says what had to be repaired when it was opened."""

    path: Path
    notes: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        """The run's id, which is the folder's name."""
        return self.path.name

    @classmethod
    def create(
        cls, out: Path, run_id: str, *, config: str, environment: EnvironmentSection
    ) -> RunFolder:
        """Make `out/run_id` with the resolved config and the environment; UsageError if it can't.

        The record file is made here too, so that a folder that takes no records is found before
        the first evaluation and not after it.
        """
        folder = out / run_id
        with _writing(folder):
            folder.mkdir(parents=True)
            (folder / CONFIG).write_text(config, encoding="utf-8")
            text = environment.model_dump_json(by_alias=True, indent=2)
            (folder / ENVIRONMENT).write_text(text + "\n", encoding="utf-8")
            (folder / RECORDS).touch()
            _sync_folder(folder)
        return cls(folder)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open a run that was begun before, and take off what a cut write left at its end."""
        if not (path / RECORDS).is_file():
            raise UsageError(
                str(path), found=f"no {RECORDS}", wanted="the folder of a run, as --out made it"
            )
        with _writing(path):
            note = repair(path / RECORDS)
        return cls(path, (note,) if note else ())

    def config(self) -> str:
        """Read the resolved config that the run was begun with."""
        try:
            return (self.path / CONFIG).read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            raise UsageError(
                str(self.path / CONFIG), found="no readable file", wanted="the run's config"
            ) from None

    def append(self, record: Record) -> str | None:
        """Write `record` and wait until the disk has it; returns what had to be repaired."""
        return append(self.path / RECORDS, dump(record))

    def load(self) -> Loaded:
        """Read what the run has left so far."""
        return read_all([self.path])


class _writing:
    """Turns an operating system's refusal into the one line that a person can act on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise UsageError(
                str(self.path),
                found=error.strerror or type(error).__name__,
                wanted="a results folder that can be written",
                remedy="name another with --out",
            ) from error


def append(path: Path, line: str) -> str | None:
    """Commit one line to `path` as one write under a lock; returns what had to be repaired.

    A line that the disk took only in part (it is full) has no newline, so the next reader passes
    over it and the next writer removes it.
    """
    encoded = (line + "\n").encode("utf-8")
    if b"\n" in encoded[:-1]:
        raise HarnessFault(f"{path}: a record is one line")
    with _writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            note = _cut_tail(descriptor, path)
            written = os.write(descriptor, encoded)
            if written != len(encoded):
                raise OSError(28, "the disk took only part of a record")  # ENOSPC by another name
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return note


def append_event(folder: Path, event: Verification | Revocation) -> str | None:
    """Commit one event line beside the records of `folder`."""
    return append(folder / EVENTS, dump_event(event))


def repair(path: Path) -> str | None:
    """Remove an uncommitted end of `path`; returns a line that says so, None if there is none."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return _cut_tail(descriptor, path)
    finally:
        os.close(descriptor)


def _cut_tail(descriptor: int, path: Path) -> str | None:
    size = os.fstat(descriptor).st_size
    end = size
    while end > 0:
        start = max(0, end - TAIL)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end == size:
        return None
    os.ftruncate(descriptor, end)
    return f"{path}: removed {size - end} bytes of a line that was never finished"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_all(paths: Sequence[Path]) -> Loaded:
    """Read every record and event under `paths` (files, or folders and all below them).

    The same record in two files counts once; two records that share an id are a problem, and the
    first one stays. A path that is not there is a usage error, a bad line is only a problem.
    """
    records: dict[str, Record] = {}
    events: dict[str, Verification | Revocation] = {}
    problems: list[str] = []
    for file in _files(paths):
        if file.name == EVENTS:
            _keep(_lines(file, parse_event, problems), events, problems)
        else:
            _keep(_lines(file, parse, problems), records, problems)
    return Loaded(tuple(records.values()), tuple(events.values()), tuple(problems))


def once_a_file(problems: Sequence[str]) -> tuple[str, ...]:
    """Shorten `Loaded.problems` to one line for each file: its first, and how many follow."""
    files: dict[str, list[str]] = {}
    for line in problems:
        files.setdefault(re.split(r"jsonl(:\d+)?: ", line, maxsplit=1)[0], []).append(line)
    return tuple(
        lines[0] + (f" (and {len(lines) - 1} more of this file)" if lines[1:] else "")
        for lines in files.values()
    )


def find(records: Sequence[Record], query: str) -> Record:
    """Find the record whose id is, or alone begins with, `query`; else a usage error."""
    found = [record for record in records if record.id == query]
    found = found or [record for record in records if query and record.id.startswith(query)]
    if len(found) == 1:
        return found[0]
    said = "no such record" if not found else f"{len(found)} records that begin so"
    raise UsageError(
        "record", key=query, found=said, wanted="a record's id, as `leaderboard --csv` lists it"
    )


def _files(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*.jsonl"))
        elif path.is_file():
            below = [path]
        else:
            raise UsageError(
                str(path), found="no such file", wanted="a record file or a folder of them"
            )
        for file in below:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _lines(
    file: Path, read: Callable[[bytes], Line], problems: list[str]
) -> Iterator[tuple[str, Line]]:
    """Yield each good line with its place; name each bad one."""
    try:
        content = file.read_bytes()
    except OSError as error:
        problems.append(f"{file}: {error.strerror}")
        return
    *committed, tail = content.split(b"\n")
    for number, line in enumerate(committed, start=1):
        where = f"{file}:{number}"
        try:
            yield where, read(line)
        except BadRecord as error:
            problems.append(f"{where}: {error}")
    if tail:
        problems.append(f"{file}: the last line was never finished and is left out")


def _keep(lines: Iterator[tuple[str, Line]], into: dict[str, Line], problems: list[str]) -> None:
    for where, line in lines:
        known = into.setdefault(line.id, line)
        if known != line:
            problems.append(f"{where}: another line with the id {line.id} is already here")
