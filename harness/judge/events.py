"""What a running evaluation tells those who watch: frozen events, and no knowledge of who listens.

Import-light on purpose: the progress display and the command line read these without torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.record.schema import Record


@dataclass(frozen=True)
class EvaluationStarted:
    """One solution on one workload begins; `index` counts from 1 up to `total` in this run."""

    solution: str
    problem: str
    size: str
    index: int
    total: int


@dataclass(frozen=True)
class PhaseStarted:
    """A phase (load, build, prepare, check, time) begins and must end within its deadline."""

    solution: str
    phase: str
    deadline_s: float


@dataclass(frozen=True)
class TrialDone:
    """One timed call was judged; `ms` is its device time."""

    solution: str
    done: int
    total: int
    ms: float


@dataclass(frozen=True)
class EvaluationDone:
    """The evaluation ended and this is the record that it left."""

    record: Record


@dataclass(frozen=True)
class Note:
    """Something a person should know that is no verdict, in one line."""

    text: str


Event = EvaluationStarted | PhaseStarted | TrialDone | EvaluationDone | Note
Listener = Callable[[Event], None]
