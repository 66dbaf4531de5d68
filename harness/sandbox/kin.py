"""A worker and all that it started, as one: stopped, let go on, and what time it used.

While the judge prepares a call nothing of a candidate may run, or it would see the inputs and begin
before the clock does. Owns the walk through `/proc`; does not know what a call is.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Collection
from pathlib import Path

STOP_S = 2.0  # stopping takes 0.1 ms; longer means that one forks faster than we stop
STILL = frozenset("TtZX")  # stopped, traced, dead in two ways: runs nothing
NS_PER_MS = 1e6
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LIMITS = [getattr(resource, one) for one in dir(resource) if one.startswith("RLIMIT_")]
REAPED_FIELDS = slice(13, 15)  # of /proc/PID/stat behind the name: cutime, cstime


def _stat(path: Path) -> list[str]:
    """The fields of a `stat` file behind the name in brackets, none where nobody is there."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _tasks(pid):
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def kin(pid: int, server: int, others: Collection[int]) -> list[int]:
    """`pid`, what comes from it, and orphans of the same server; `others` are its other workers."""
    orphans = [one for one in _children(server) if one != pid and one not in others]
    found, new = [], [pid, *orphans]
    while new:
        found += new
        new = [child for parent in new for child in _children(parent) if child not in found]
    return found


def _still(pid: int) -> bool:
    states = (_stat(task / "stat") for task in _tasks(pid))
    return all(not fields or fields[0] in STILL for fields in states)


def stop(pid: int, server: int, others: Collection[int]) -> tuple[int, ...] | None:
    """Stop all of `kin` and return it when none of it runs; None where that cannot be reached."""
    until = time.monotonic() + STOP_S
    stopped: list[int] = []
    while time.monotonic() < until:
        found = kin(pid, server, others)
        new = [one for one in found if one not in stopped]
        for one in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGSTOP)
        stopped += new
        if not new and all(_still(one) for one in found):
            return tuple(found)
    return None


def go_on(pids: tuple[int, ...]) -> None:
    """Let those that were stopped run again."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def settings(pid: int) -> tuple[object, ...]:
    """What a process hands down to those that it forks: processors, priority, policy, limits."""
    try:
        return (
            os.sched_getaffinity(pid),
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getscheduler(pid),
            *(resource.prlimit(pid, one) for one in LIMITS),
        )
    except OSError:
        return ()


def used_ms(pid: int) -> float:
    """Processor time of a process so far: all its threads, and the children that it has reaped."""
    try:
        own = time.clock_gettime_ns((~pid << 3) | 2)  # CPUCLOCK_SCHED of a process, from its id
    except OSError:
        return 0.0
    reaped = sum(map(int, _stat(Path(f"/proc/{pid}/stat"))[REAPED_FIELDS]))
    return own / NS_PER_MS + reaped * 1e3 / TICKS_PER_S


def thread_ms(pid: int, thread: int) -> tuple[float, float]:
    """Of one thread so far: time on a processor, time ready to run without one.

    Kept by the kernel, so no candidate can change it; zeros where this kernel does not keep it.
    """
    try:
        fields = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
        return int(fields[0]) / NS_PER_MS, int(fields[1]) / NS_PER_MS
    except (OSError, IndexError, ValueError):
        return 0.0, 0.0
