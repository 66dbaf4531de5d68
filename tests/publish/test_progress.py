"""Progress: plain lines in a log, a live line on a terminal, and the time that is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.judge.events import (
    EvaluationDone,
    EvaluationStarted,
    Event,
    Note,
    PhaseStarted,
    TrialDone,
)
from harness.publish.progress import Course, watching
from tests.publish import boards
from tests.record import examples


class FakeClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def evaluation(trials: int = 8) -> list[tuple[float, Event]]:
    """Events of one evaluation, each with the seconds that pass before it."""
    return [
        (0, EvaluationStarted("eager", "87_conv_pointwise_2D", "full", 1, 4)),
        (0, PhaseStarted("eager", "load", 60.0)),
        (5, PhaseStarted("eager", "time", 300.0)),
        *[(2.0, TrialDone("eager", n, trials, 3.5)) for n in range(1, trials + 1)],
        (0, EvaluationDone(examples.record())),
        (0, Note("no floor: add the GPU to hardware.yaml")),
    ]


def shown(*, terminal: bool) -> str:
    console, clock = boards.screen(terminal=terminal), FakeClock()
    with watching(console, clock) as listen:
        for passed_s, event in evaluation():
            clock.now_s += passed_s
            listen(event)
    return boards.text_on(console)


PLAIN = """
[1/4] eager on 87_conv_pointwise_2D, full
[1/4] eager · load · at most 1 min 0 s left
[1/4] eager · time · at most 5 min 0 s left
[1/4] eager · time · trial 2/8 · 3.50 ms · about 12 s left
[1/4] eager · time · trial 4/8 · 3.50 ms · about 8 s left
[1/4] eager · time · trial 6/8 · 3.50 ms · about 4 s left
[1/4] eager · time · trial 8/8 · 3.50 ms · about 0 s left
eager: passed, tf32, 3.55 ms ± 0.05
no floor: add the GPU to hardware.yaml
"""


def test_a_log_gets_plain_lines() -> None:
    assert shown(terminal=False) == PLAIN.strip("\n")


def test_a_terminal_gets_a_live_line_and_keeps_only_what_matters() -> None:
    text = shown(terminal=True)
    assert "\x1b[" in text
    assert "eager: passed, tf32" in text
    assert "no floor: add the GPU to hardware.yaml" in text


def test_the_live_line_says_phase_trial_and_time_left() -> None:
    clock = FakeClock()
    course = Course(clock)
    seen = []
    for passed_s, event in evaluation()[:6]:
        clock.now_s += passed_s
        course.take(event)
        seen.append(course.line())
    assert seen[0] == "[1/4] eager"
    assert seen[1] == "[1/4] eager · load · at most 1 min 0 s left"
    assert seen[-1] == "[1/4] eager · time · trial 3/8 · 3.50 ms · about 10 s left"


def test_a_deadline_runs_down_and_never_below_nothing() -> None:
    clock = FakeClock()
    course = Course(clock)
    course.take(PhaseStarted("eager", "build", 10.0))
    clock.now_s += 4
    assert course.left() == "at most 6 s left"
    clock.now_s += 400
    assert course.left() == "at most 0 s left"


def test_a_failure_is_told_at_once() -> None:
    verdict = examples.failed(examples.schema.Status.TIMEOUT, "build_deadline")
    console = boards.screen()
    with watching(console) as listen:
        listen(EvaluationDone(examples.record(verdict=verdict, timing=None)))
    assert boards.text_on(console) == "eager: timeout: build_deadline"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_name_cannot_command_the_terminal(terminal: bool) -> None:
    console = boards.screen(terminal=terminal)
    with watching(console) as listen:
        listen(EvaluationStarted("\x1b[2Jx", "[red]p[/red]\n", "full", 1, 1))
        listen(Note("a\nb\x07"))
    text = boards.text_on(console)
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "a b" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_an_interrupt_passes_through(terminal: bool) -> None:
    with pytest.raises(KeyboardInterrupt), watching(boards.screen(terminal=terminal)):
        raise KeyboardInterrupt


SCRIPT = """
import sys
from rich.console import Console
from harness.judge.events import Note
from harness.publish.progress import watching
with watching(Console(stderr=True, force_terminal=True)) as listen:
    listen(Note("a note"))
    print('{"a": "record"}')
sys.exit('torch' in sys.modules or 'pandas' in sys.modules)
"""


def test_stdout_holds_only_records_while_a_terminal_shows_progress() -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=root, capture_output=True, text=True, check=False
    )
    assert ran.stdout == '{"a": "record"}\n'
    assert "a note" in ran.stderr
    assert ran.returncode == 0, "the display imports neither torch nor pandas"
