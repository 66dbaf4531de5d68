"""The CSV: its columns, one row for each record, and text that comes back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.faults import UsageError
from harness.publish import csv
from harness.record import schema
from tests.publish import boards
from tests.record import examples

# issue: "`--csv` writes at least"
WANTED = """
rank problem size hardware class solution backend status median_ms ci95_low_ms ci95_high_ms
mean_ms std_ms p05_ms p95_ms min_ms max_ms trials speedup_vs_baseline vs_best floor_ms times_floor
bandwidth_gbps trust observed_at torch triton cuda driver record_id solution_digest
""".split()  # noqa: SIM905  (as the issue prints it)
STRANGE = [
    "a,b",
    'a "quoted" name',
    "two\nlines",
    "carriage\rreturn",
    "both\r\n",
    "=1+1",
    "+1",
    "@x",
    "NA",
    "None",
    "nan",
    "null",
    "1.50",
    "007",
    "true",
    " spaces ",
    "#hash",
    "Größe ×",
]


def written(path: Path, *records: schema.Record) -> pd.DataFrame:
    csv.write(boards.ranking(*records), path / "board.csv")
    return csv.read(path / "board.csv")


def test_the_columns_that_scripts_read_come_first_in_their_order(tmp_path: Path) -> None:
    assert list(written(tmp_path).columns)[: len(WANTED)] == WANTED


def test_there_is_one_row_for_each_record_ranked_or_not(tmp_path: Path) -> None:
    found = written(tmp_path)
    assert list(found["solution"]) == ["triton_tf32", "eager", "inductor", "cuda_tf32"]
    assert list(found["rank"][:3]) == [1, 2, 3]
    assert pd.isna(found["rank"][3])
    assert list(found["status"]) == ["passed", "passed", "passed", "compile_error"]
    assert list(found["excluded"]) == ["", "", "", "not_passed"]
    assert list(found["trials"]) == [100, 100, 100, 0]
    assert list(found["record_id"])[1] == "the-baseline"


def test_a_row_holds_what_the_issue_says(tmp_path: Path) -> None:
    row = written(tmp_path).iloc[2]
    assert row["problem"] == "87"
    assert row["size"] == "full"
    assert row["hardware"] == "H200"
    assert row["class"] == "tf32"
    assert row["median_ms"] == pytest.approx(10.12)
    assert row["ci95_low_ms"] <= row["median_ms"] <= row["ci95_high_ms"]
    assert row["speedup_vs_baseline"] == pytest.approx(3.54 / 10.12)
    assert row["vs_best"] == pytest.approx(10.12 / 3.4)
    assert row["times_floor"] == pytest.approx(10.12 / 2.684)
    assert row["bandwidth_gbps"] == pytest.approx(12.884934656 / 10.12e-3)
    assert row["trust"] == "reproducible"
    assert row["observed_at"] == "2026-06-01T12:00:00+00:00"
    assert (row["torch"], row["cuda"], row["driver"]) == ("2.11.0+cu128", "12.8", "570.86.15")
    assert row["solution_digest"].startswith("sha256:")


def test_figures_come_back_to_the_last_digit(tmp_path: Path) -> None:
    record = examples.record(samples_ms=(1 / 3,) * 40)
    assert written(tmp_path, record)["median_ms"][0] == 1 / 3


def test_what_is_unknown_is_empty(tmp_path: Path) -> None:
    machine = examples.environment(device="AMD EPYC", cuda=None, driver=None)
    found = written(tmp_path, examples.record(environment=machine, floor=None))
    assert (found["cuda"][0], found["driver"][0]) == ("", "")
    assert pd.isna(found["floor_ms"][0])
    assert pd.isna(found["times_floor"][0])
    assert pd.isna(found["speedup_vs_baseline"][0])


def test_a_problem_without_a_number_is_named(tmp_path: Path) -> None:
    problem = examples.problem(name="mine", level=None, number=None)
    assert written(tmp_path, examples.record(problem=problem))["problem"][0] == "mine"


@pytest.mark.parametrize("name", STRANGE)
def test_any_name_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    problem = examples.problem(name=name, number=None, size=name)
    found = written(tmp_path, examples.record(name=name, problem=problem), examples.record())
    assert {name, "eager"} == set(found["solution"])
    assert name in set(found["size"])
    assert name in set(found["problem"])
    assert len(found) == 2


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_text_at_all_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    assert written(tmp_path, examples.record(name=name))["solution"][0] == name


def test_pandas_reads_the_file_without_our_help(tmp_path: Path) -> None:
    csv.write(boards.ranking(), tmp_path / "board.csv")
    found = pd.read_csv(tmp_path / "board.csv")
    assert list(found["problem"]) == [87] * 4
    assert found["median_ms"].dtype == float
    assert found["rank"].tolist()[:3] == [1, 2, 3]


def test_no_records_are_a_file_with_its_header(tmp_path: Path) -> None:
    csv.write(boards.ranking(examples.record(), events=[]), tmp_path / "one.csv")
    empty = boards.ranking().__class__((), ())
    csv.write(empty, tmp_path / "none.csv")
    assert list(csv.read(tmp_path / "none.csv").columns) == list(csv.COLUMNS)


def test_a_class_that_was_asked_for_ranks_on_its_own_board(tmp_path: Path) -> None:
    exact = boards.solved("exact", 5.0, "triton", precision=examples.precision(class_="fp32"))
    ranking: Any = boards.ranking(exact, *boards.records(), accuracy="tf32")
    csv.write(ranking, tmp_path / "board.csv")
    found = csv.read(tmp_path / "board.csv")
    assert dict(zip(found["solution"], found["rank"], strict=True))["exact"] == 3


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"):
        csv.write(boards.ranking(), tmp_path / "missing" / "board.csv")
