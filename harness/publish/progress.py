"""What a person sees while a run goes on: a live line on a terminal, plain lines elsewhere.

Owns how events become text and how much time is left. Takes the events as they come, asks nothing
of the judge, and says nothing on stdout: the Console that is handed in decides where it draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.judge.events import (
    EvaluationDone,
    EvaluationStarted,
    Event,
    Listener,
    Note,
    PhaseStarted,
    TrialDone,
)
from harness.publish.cells import one_line, outcome
from harness.publish.console import print_line
from harness.units import milliseconds

REFRESH_HZ = 4  # often enough to look alive, too seldom to take time from the judge's core
QUARTERS = 4  # plain lines: a run of 100 trials says four times how far it is

Clock = Callable[[], float]


class Course:
    """Where the running evaluation stands: what has been said, when it began, what is left."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._place, self._solution = "", ""
        self._phase, self._deadline_s, self._began = "", 0.0, clock()
        self._trial: TrialDone | None = None
        self._first_trial = 0.0

    def take(self, event: Event) -> None:
        """Follow one event."""
        now = self._clock()
        if isinstance(event, EvaluationStarted):
            self._place = f"[{event.index}/{event.total}]"
            self._solution = one_line(event.solution)
            self._phase, self._trial = "", None
        elif isinstance(event, PhaseStarted):
            self._phase, self._deadline_s, self._began = event.phase, event.deadline_s, now
            self._trial = None
        elif isinstance(event, TrialDone):
            self._first_trial = now if self._trial is None else self._first_trial
            self._trial = event

    def line(self) -> str:
        """Say it in one line, for now."""
        parts = [f"{self._place} {self._solution}".strip(), self._phase, self.left()]
        if self._trial is not None:
            trial = self._trial
            parts[2:2] = [f"trial {trial.done}/{trial.total}", milliseconds(trial.ms)]
        return " · ".join(part for part in parts if part)

    def left(self) -> str:
        """Say how much time is left: from the trials so far, else until the deadline."""
        trial, now = self._trial, self._clock()
        if not self._phase:
            return ""
        if trial is None or trial.done < 2:
            return f"at most {_seconds(max(0.0, self._deadline_s - (now - self._began)))} left"
        each = (now - self._first_trial) / (trial.done - 1)
        return f"about {_seconds(each * max(0, trial.total - trial.done))} left"


def headline(event: Event) -> str | None:
    """Return the line that stays behind for an event, on a terminal as well as in a log."""
    if isinstance(event, Note):
        return one_line(event.text)
    if isinstance(event, EvaluationDone):
        return f"{one_line(event.record.solution.name)}: {outcome(event.record)}"
    return None


@contextmanager
def watching(console: Console, clock: Clock = time.monotonic) -> Iterator[Listener]:
    """Yield the listener that shows a run on `console`: live on a terminal, else plain lines."""
    course = Course(clock)
    if not console.is_terminal:
        yield _plain(course, console)
        return
    with Live(
        console=console,
        refresh_per_second=REFRESH_HZ,
        transient=True,
        redirect_stdout=False,  # records go to stdout, and would land on stderr otherwise
        redirect_stderr=False,
        get_renderable=lambda: Text(course.line(), no_wrap=True, overflow="ellipsis"),
    ):
        yield _live(course, console)


def _live(course: Course, console: Console) -> Listener:
    def listen(event: Event) -> None:
        course.take(event)
        said = headline(event)
        if said is not None:
            print_line(said, console)

    return listen


def _plain(course: Course, console: Console) -> Listener:
    def listen(event: Event) -> None:
        course.take(event)
        said = headline(event) or _milestone(event, course)
        if said is not None:
            print_line(said, console)

    return listen


def _milestone(event: Event, course: Course) -> str | None:
    """Return a log's line for a start, a phase or a quarter of the trials."""
    if isinstance(event, EvaluationStarted):
        what = f"{one_line(event.solution)} on {one_line(event.problem)}, {one_line(event.size)}"
        return f"[{event.index}/{event.total}] {what}"
    if isinstance(event, PhaseStarted):
        return course.line()
    if isinstance(event, TrialDone) and _quarter(event.done, event.total):
        return course.line()
    return None


def _quarter(done: int, total: int) -> bool:
    return done * QUARTERS // max(1, total) > (done - 1) * QUARTERS // max(1, total)


def _seconds(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
