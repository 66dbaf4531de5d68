"""The leaderboard as CSV: one row for each record, ranked or not, and the way back.

Owns the columns and their types. Text stands exactly as it is in the record, so a spreadsheet may
take a name for a formula; read the file with `read`, which takes no name for a missing value.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from harness.faults import UsageError
from harness.record.ranking import Ranking, Standing, class_of, hardware_name, trust
from harness.record.schema import Record
from harness.record.statistics import Speedup, achieved_gbps, speedup_of, summary_of, times_floor

if TYPE_CHECKING:
    import pandas

Cell = str | int | float | None

# Column by column in the file's order; the first 31 names are read by scripts and never change.
COLUMNS: dict[str, str] = {
    "rank": "Int64",
    "problem": "str",
    "size": "str",
    "hardware": "str",
    "class": "str",
    "solution": "str",
    "backend": "str",
    "status": "str",
    "median_ms": "float64",
    "ci95_low_ms": "float64",
    "ci95_high_ms": "float64",
    "mean_ms": "float64",
    "std_ms": "float64",
    "p05_ms": "float64",
    "p95_ms": "float64",
    "min_ms": "float64",
    "max_ms": "float64",
    "trials": "Int64",
    "speedup_vs_baseline": "float64",
    "vs_best": "float64",
    "floor_ms": "float64",
    "times_floor": "float64",
    "bandwidth_gbps": "float64",
    "trust": "str",
    "observed_at": "str",
    "torch": "str",
    "triton": "str",
    "cuda": "str",
    "driver": "str",
    "record_id": "str",
    "solution_digest": "str",
    "level": "Int64",
    "problem_name": "str",
    "dtype": "str",
    "engine": "str",
    "reason": "str",
    "excluded": "str",
    "good_placement_ms": "float64",
    "workload_digest": "str",
}


def frame(ranking: Ranking) -> pandas.DataFrame:
    """Return one row for each record, the ranked ones first and in the order of their boards.

    `rank` and `vs_best` (how many times as long as the first, at least 1) belong to the board of
    the class that the record reached; `speedup_vs_baseline` is above 1 where it is faster.
    """
    import pandas as pd

    rows = [_row(s.record, ranking, s, s.speedup) for s in ranking.standings()]
    for item in ranking.excluded:
        row = _row(item.record, ranking, None, speedup_of(item.record))
        rows.append({**row, "excluded": str(item.code)})
    columns = {
        name: pd.Series([row[name] for row in rows], dtype="object" if kind == "str" else kind)
        for name, kind in COLUMNS.items()
    }
    return pd.DataFrame(columns)


def write(ranking: Ranking, path: Path) -> None:
    """Write the leaderboard to `path`; a place that cannot be written is a usage error."""
    text = frame(ranking).to_csv(
        index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, na_rep=""
    )
    try:
        path.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(
            str(path), found=error.strerror, wanted="a file that can be written"
        ) from error


def read(path: Path) -> pandas.DataFrame:
    """Read what `write` wrote: typed columns, text as it was, unknown text empty."""
    import pandas as pd

    numbers = {name: [""] for name, kind in COLUMNS.items() if kind != "str"}
    found: pandas.DataFrame = pd.read_csv(
        path, dtype=COLUMNS, keep_default_na=False, na_values=numbers, lineterminator="\n"
    )
    return found


def _row(
    record: Record, ranking: Ranking, standing: Standing | None, speedup: Speedup | None
) -> dict[str, Cell]:
    return {
        "rank": None if standing is None else standing.rank,
        "vs_best": None if standing is None else standing.vs_best,
        "trust": str(trust(record, ranking.events)),
        "excluded": None,
        **_what(record),
        **_where(record),
        **_times(record),
        **_distances(record),
        "speedup_vs_baseline": None if speedup is None else speedup.ratio,
    }


def _what(record: Record) -> dict[str, Cell]:
    problem, solution = record.problem, record.solution
    return {
        "problem": problem.name if problem.number is None else str(problem.number),
        "level": problem.level,
        "problem_name": problem.name,
        "size": problem.size,
        "dtype": problem.dtype,
        "workload_digest": record.workload_digest,
        "class": class_of(record),
        "solution": solution.name,
        "backend": solution.backend,
        "solution_digest": solution.digest,
        "status": str(record.verdict.status),
        "reason": record.verdict.reason,
        "record_id": record.id,
        "observed_at": record.observed_at.isoformat(),
    }


def _where(record: Record) -> dict[str, Cell]:
    machine = record.environment
    return {
        "hardware": hardware_name(machine.device),
        "torch": machine.torch,
        "triton": machine.triton,
        "cuda": machine.cuda,
        "driver": machine.driver,
        "engine": None if record.timing is None else record.timing.engine,
    }


def _times(record: Record) -> dict[str, Cell]:
    summary = summary_of(record)
    if summary is None:
        empty = [name for name in COLUMNS if name.endswith("_ms") and name != "floor_ms"]
        return {"trials": 0, **dict.fromkeys(empty)}
    return {
        "trials": summary.trials,
        "median_ms": summary.median_ms,
        "ci95_low_ms": summary.interval.low,
        "ci95_high_ms": summary.interval.high,
        "mean_ms": summary.mean_ms,
        "std_ms": summary.std_ms,
        "p05_ms": summary.p05_ms,
        "p95_ms": summary.p95_ms,
        "min_ms": summary.min_ms,
        "max_ms": summary.max_ms,
        "good_placement_ms": summary.good_ms,
    }


def _distances(record: Record) -> dict[str, Cell]:
    return {
        "floor_ms": None if record.floor is None else record.floor.floor_ms,
        "times_floor": times_floor(record),
        "bandwidth_gbps": achieved_gbps(record),
    }
