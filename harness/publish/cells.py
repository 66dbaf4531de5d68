"""The words and numbers that tables for people share, whatever draws the table.

Owns how a record's derived figures read, and how text of any origin becomes one printable line.
Draws nothing and writes no file; scaling a number is `units`' business.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.record.ranking import Board, Cohort, Standing, Trust, hardware_name
from harness.record.schema import Passed, Record
from harness.record.statistics import Speedup, Summary, speedup_of, summary_of
from harness.units import gbps, gigabytes, interval, milliseconds, ratio

NOTHING = "–"
LONGEST = 240  # characters of somebody's message on a line; the record holds the whole

BOARD_HEADINGS = (
    "#",
    "solution",
    "backend",
    "class",
    "median",
    "good placement",
    "× floor",
    "vs baseline",
    "vs #1",
    "trials",
    "trust",
)
RUN_HEADINGS = ("solution", "status", "class", "median", "× floor", "vs baseline")
TEXT_COLUMNS = frozenset({"solution", "backend", "status", "class", "trust"})  # the rest: figures
SPARE_COLUMNS = ("backend", "trials", "good placement", "trust", "vs #1")  # given up in this order
LEGEND = (
    "median ± the wider half of its 95 % interval; good placement: 20th percentile of block "
    "medians; even: the 95 % intervals do not tell them apart"
)

RUN_LEGEND = (
    "median ± the wider half of its 95 % interval; even: the intervals do not tell them apart"
)


def one_line(text: str, longest: int = LONGEST) -> str:
    """Make `text` one printable line: a message of a candidate could move the cursor otherwise."""
    spaced = " ".join(text.split())
    clean = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in spaced)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def median_cell(summary: Summary | None) -> str:
    """Return the median and how far its interval reaches."""
    if summary is None:
        return NOTHING
    return interval(summary.interval.low, summary.interval.high, summary.median_ms)


def floor_cell(record: Record, summary: Summary | None) -> str:
    """Return how many times the floor the median is."""
    if summary is None or record.floor is None or record.floor.floor_ms <= 0:
        return NOTHING
    return ratio(summary.median_ms / record.floor.floor_ms)


def baseline_cell(record: Record, speedup: Speedup | None) -> str:
    """Return the speed-up with the way that it points; `even` where the interval holds 1."""
    if record.baseline is not None and record.baseline.record_id == record.id:
        return "baseline"
    if speedup is None or speedup.ratio <= 0:
        return NOTHING
    if speedup.interval.low <= 1 <= speedup.interval.high:
        return f"{ratio(speedup.ratio)} even"
    if speedup.ratio > 1:
        return f"{ratio(speedup.ratio)} faster"
    return f"{ratio(1 / speedup.ratio)} slower"


def best_cell(standing: Standing) -> str:
    """Return how much longer than the first of its board it takes; `even` where they share it."""
    if standing.vs_best <= 1:
        return "first"
    return f"{ratio(standing.vs_best)} {'even' if standing.rank == 1 else 'slower'}"


def trust_cell(trust: Trust, *, stale: bool) -> str:
    """Return the trust, and that it is old."""
    return f"{trust}, stale" if stale else str(trust)


def status_cell(record: Record) -> str:
    """Return the status, and that an interpreter ran it."""
    interpreted = record.timing is not None and record.timing.engine == "interpreter"
    return f"{record.verdict.status} (interpreter)" if interpreted else str(record.verdict.status)


def class_cell(record: Record) -> str:
    """Return the class that was reached."""
    reached = record.precision.class_ if record.precision is not None else None
    return reached or NOTHING


def problem_title(record: Record) -> str:
    """Name the problem as a person types it, with its own name."""
    problem = record.problem
    if problem.level is None or problem.number is None:
        return one_line(problem.name)
    name = problem.name.removeprefix(f"{problem.number}_")
    return f"{problem.level}/{problem.number} {one_line(name)}"


def board_title(board: Board) -> str:
    """Name a board: workload, hardware and class."""
    record = board.standings[0].record
    cohort = board.cohort
    return (
        f"{problem_title(record)}, {one_line(cohort.size)} {cohort.dtype}, "
        f"on {one_line(cohort.hardware)}, class {board.accuracy}"
    )


def board_caption(board: Board) -> str:
    """Say what else the records of a board have in common."""
    cohort = board.cohort
    axes = board.standings[0].record.problem.axes
    shown = ", ".join(f"{name} {value}" for name, value in axes.items())
    parts = [one_line(shown), _software(cohort), f"{cohort.cache} cache"]
    parts.append(f"protocol {cohort.protocol_version}")
    if cohort.origin == "imported":
        parts.append("imported figures")
    return " · ".join(part for part in parts if part)


def _software(cohort: Cohort) -> str:
    named = ("torch", "triton", "cuda", "driver")
    values = {name: getattr(cohort, name) for name in named}
    return ", ".join(f"{name} {one_line(value)}" for name, value in values.items() if value)


def board_row(standing: Standing) -> tuple[str, ...]:
    """Return a standing's cells, one for each of BOARD_HEADINGS."""
    record, summary = standing.record, standing.summary
    return (
        str(standing.rank),
        one_line(record.solution.name),
        record.solution.backend,
        class_cell(record),
        median_cell(summary),
        milliseconds(summary.good_ms),
        floor_cell(record, summary),
        baseline_cell(record, standing.speedup),
        best_cell(standing),
        str(summary.trials),
        trust_cell(standing.trust, stale=standing.stale),
    )


def run_row(record: Record) -> tuple[str, ...]:
    """Return a finished evaluation's cells, one for each of RUN_HEADINGS."""
    summary = summary_of(record)
    return (
        one_line(record.solution.name),
        status_cell(record),
        class_cell(record),
        median_cell(summary),
        floor_cell(record, summary),
        baseline_cell(record, speedup_of(record)),
    )


def run_caption(records: Sequence[Record]) -> str:
    """Say what the floor is that a run's medians are held against, and how to read them."""
    floors = dict.fromkeys(
        f"floor {milliseconds(floor.floor_ms)} ({floor.bound}-bound): {gigabytes(floor.bytes)}, "
        f"{gbps(floor.bandwidth_gbps)}{' measured here' if floor.hardware is None else ''}"
        for floor in (record.floor for record in records)
        if floor is not None
    )
    timed = any(summary_of(record) is not None for record in records)
    return " · ".join([*floors, *([RUN_LEGEND] if timed else [])])


def outcome(record: Record) -> str:
    """Say in a few words how an evaluation ended."""
    summary = summary_of(record)
    if not isinstance(record.verdict, Passed):
        return f"{status_cell(record)}: {record.verdict.reason}"
    parts = [status_cell(record), class_cell(record), median_cell(summary)]
    return ", ".join(part for part in parts if part != NOTHING)


def workload_title(record: Record) -> str:
    """Name the workload and the machine of one record."""
    device = one_line(hardware_name(record.environment.device))
    problem = record.problem
    return f"{problem_title(record)}, {one_line(problem.size)} {problem.dtype}, on {device}"
