"""One measuring run at a time per device, by a file lock that dies with its owner."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_held: dict[str, int] = {}  # by this process: a second judge in it would wait for itself


@contextlib.contextmanager
def device_lock(device: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of `device` (a UUID or a name); `on_wait` is told if another run has it.

    Judges of one process share it: they take turns by themselves.
    """
    _held[device] = _held.get(device, 0) + 1
    try:
        if _held[device] > 1:
            yield
            return
        with _file(device).open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait(f"another run is measuring on {device}; waiting for it to end")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
    finally:
        _held[device] -= 1


def _file(device: str) -> Path:
    name = "".join(one if one.isalnum() else "-" for one in device)
    return Path(tempfile.gettempdir()) / f"kernel-eval-{os.getuid()}-{name}.lock"
