"""What a person sees at the end: the tables as golden text, each failure one line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness.publish.cells import BOARD_HEADINGS
from harness.publish.console import leaderboard_tables, remarks, run_tables
from harness.publish.remedies import remedy
from harness.record import schema
from harness.record.schema import Status
from tests.publish import boards
from tests.record import examples

RUN = """
1/87 conv_pointwise_2D, full float32, on H200

  solution      status          class           median   × floor    vs baseline
 ───────────────────────────────────────────────────────────────────────────────
  eager         passed          tf32    3.54 ms ± 0.01     1.32×       baseline
  inductor      passed          tf32    10.1 ms ± 0.03     3.77×   2.86× slower
  triton_tf32   passed          tf32    3.40 ms ± 0.01     1.27×   1.04× faster
  cuda_tf32     compile_error   –                    –         –              –

floor 2.68 ms (memory-bound): 12.9 GB, 4,800 GB/s · median ± the wider half of its 95 % interval; even: the intervals do not tell them apart
cuda_tf32: compile_error in load (syntax_error): line 3: '(' was never closed; fix the line that the detail names
"""  # noqa: E501
BOARD = """
1/87 conv_pointwise_2D, full float32, on H200, class tf32

  #   solution      backend    class           median   good placement   × floor    vs baseline          vs #1   trials   trust
 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
  1   triton_tf32   triton     tf32    3.40 ms ± 0.01          3.39 ms     1.27×   1.04× faster          first      100   reproducible
  2   eager         eager      tf32    3.54 ms ± 0.01          3.53 ms     1.32×       baseline   1.04× slower      100   reproducible
  3   inductor      inductor   tf32    10.1 ms ± 0.03          10.1 ms     3.77×   2.86× slower   2.98× slower      100   reproducible

batch_size 16 · torch 2.11.0+cu128, triton 3.6.0, cuda 12.8, driver 570.86.15 · cold cache · protocol 1

median ± the wider half of its 95 % interval; good placement: 20th percentile of block medians; even: the 95 % intervals do not tell them apart
not ranked, not_passed (compile_error: syntax_error): cuda_tf32
"""  # noqa: E501


def run_text(*records: schema.Record, width: int = 120) -> str:
    console = boards.screen(width=width)
    run_tables(records, console)
    return boards.text_on(console)


def test_the_final_table_of_a_run() -> None:
    assert run_text(*boards.records()) == RUN.strip("\n")


def test_the_leaderboard_of_a_cohort() -> None:
    console = boards.screen(width=80)
    leaderboard_tables(boards.ranking(), console)
    assert boards.text_on(console) == BOARD.strip("\n")


def test_a_narrow_terminal_keeps_the_columns_that_matter_whole() -> None:
    console = boards.screen(terminal=True, width=80)
    leaderboard_tables(boards.ranking(), console)
    head = next(line for line in boards.text_on(console).splitlines() if "solution" in line)
    shown = [name for name in BOARD_HEADINGS if name in head]
    assert shown == ["#", "solution", "class", "median", "× floor", "vs baseline"]


def test_each_workload_of_a_run_has_its_own_table() -> None:
    other = examples.record(problem=examples.problem(name="23_Softmax", number=23))
    text = run_text(examples.record(), other)
    assert [line for line in text.splitlines() if " on H200" in line] == [
        "1/87 conv_pointwise_2D, full float32, on H200",
        "1/23 Softmax, full float32, on H200",
    ]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASSED])
def test_every_failure_is_one_line_with_what_to_do_about_it(status: Status) -> None:
    verdict = examples.failed(status, "unheard_of", detail="what\nhappened\x1b[2J to\tit")
    (line,) = remarks(examples.record(verdict=verdict, timing=None))
    assert line.startswith(f"eager: {status} in check (unheard_of): what happened")
    assert line.endswith(f"; {remedy(verdict)}")
    assert line.isprintable()


def test_a_reason_that_is_known_has_a_remedy_of_its_own() -> None:
    known = examples.failed(Status.COMPILE_ERROR, "no_model")
    unknown = examples.failed(Status.COMPILE_ERROR, "else")
    assert "ModelNew" in remedy(known)
    assert remedy(known) != remedy(unknown)


def test_a_deadlines_remedy_names_the_deadline_of_its_phase() -> None:
    verdict = examples.failed(Status.TIMEOUT, "build_deadline", phase=schema.Phase.BUILD)
    assert "-o deadlines_s.build=N" in remedy(verdict)


REMARKS: dict[str, dict[str, Any]] = {
    "never ranked": {"timing": examples.timing(engine="interpreter")},
    "noisy: IQR 18.2 % of the median": {"samples_ms": (1.0, 1.2) * 20},
    "device clock only": {"timing": examples.timing((0.005,) * 40, bound_us=20.0)},
}


@pytest.mark.parametrize(("said", "changes"), REMARKS.items(), ids=list(REMARKS))
def test_a_number_to_be_careful_with_says_so(said: str, changes: dict[str, Any]) -> None:
    (line,) = remarks(examples.record(**changes))
    assert said in line


def test_a_quiet_record_needs_no_remark() -> None:
    assert remarks(examples.record()) == []


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "a\nb", "\x1b[31mred", "\u202eevil"])
def test_a_name_is_never_markup_nor_a_command_to_the_terminal(name: str) -> None:
    verdict = examples.failed(Status.RUNTIME_ERROR, "exception", detail=name)
    record = examples.record(name=name, verdict=verdict)
    for console in (boards.screen(), boards.screen(terminal=True)):
        run_tables([record], console)
        leaderboard_tables(boards.ranking(examples.record(name=name)), console)
        text = re.sub(r"\x1b\[\d*m", "", boards.text_on(console))  # bold is the table's own
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "[red]x[/red]" in text or name != "[red]x[/red]"


def test_a_failure_stays_one_line_on_a_narrow_terminal() -> None:
    verdict = examples.failed(Status.RUNTIME_ERROR, "exception", detail="word " * 30)
    text = run_text(examples.record(verdict=verdict), width=40)
    assert len([line for line in text.splitlines() if "word" in line]) == 1


def test_what_is_not_ranked_is_counted_by_reason() -> None:
    slow = examples.failed(Status.TIMEOUT, "time_deadline")
    console = boards.screen()
    leaderboard_tables(
        boards.ranking(
            examples.record(name="a", verdict=slow), examples.record(name="b", verdict=slow)
        ),
        console,
    )
    text = boards.text_on(console)
    assert "no record can be ranked yet" in text
    assert "not ranked, not_passed (timeout: time_deadline): a, b" in text


def test_speedups_say_which_way_they_point() -> None:
    fast = boards.solved("fast", 1.77, "triton")
    slow = boards.solved("slow", 7.08, "triton")
    even = boards.solved("even", 3.54, "triton")
    text = run_text(fast, slow, even)
    assert "2.00× faster" in text
    assert "2.00× slower" in text
    assert "1.00× even" in text


def test_who_shares_the_first_rank_is_not_called_slower() -> None:
    wide = (1.0,) * 5 + (1.4,) * 5  # two blocks: the interval is the whole range
    other = examples.solution("other", digest="sha256:" + "b" * 64)
    first = examples.record(samples_ms=wide)
    second = examples.record(solution=other, samples_ms=(1.1,) * 5 + (1.5,) * 5)
    console = boards.screen()
    leaderboard_tables(boards.ranking(first, second), console)
    row = next(line for line in boards.text_on(console).splitlines() if "other" in line)
    assert row.split()[0] == "1"
    assert "1.08× even" in row
