"""The leaderboard as a person asks for it: tables, files, filters, and what it refuses to read."""

import pandas as pd
import pytest

from harness.record import schema
from tests.processes import checkout, run_eval

LEADERBOARD = """\
rank, problem, size, hardware, class, solution, backend, status, median_ms, ci95_low_ms, \
ci95_high_ms, mean_ms, std_ms, p05_ms, p95_ms, min_ms, max_ms, trials, speedup_vs_baseline, \
vs_best, floor_ms, times_floor, bandwidth_gbps, trust, observed_at, torch, triton, cuda, \
driver, record_id, solution_digest"""


@pytest.fixture
def board(copy, finished, tmp_path):
    """What the leaderboard of the finished run says: (stdout, CSV, Markdown)."""
    assert finished[0] == 0
    table, text = tmp_path / "board.csv", tmp_path / "board.md"
    status, out, err = run_eval("leaderboard", "--csv", table, "--md", text, root=copy)
    assert (status, err) == (0, "")
    return out, table, text


def test_the_leaderboard_prints_a_ranked_table_and_why_others_are_not_on_it(board):
    out, _, _ = board
    rows = [line.split() for line in out.splitlines()]
    assert any(row[:1] == ["1"] for row in rows)
    assert sum("eager" in row and row[0].isdigit() for row in rows if row) >= 1
    assert "not ranked, interpreter (ran in Triton's interpreter): triton_tf32" in out
    assert "not ranked, not_passed (unavailable: no_cuda_device): cuda_tf32" in out


def test_the_csv_reads_back_with_the_columns_that_scripts_rely_on(board, finished):
    _, table, _ = board
    frame = pd.read_csv(table)
    assert ", ".join(frame.columns).startswith(LEADERBOARD)
    records = {one.id: one for one in map(schema.parse, finished[1].splitlines())}
    rows = frame[frame.record_id.isin(records)].set_index("record_id")
    assert len(rows) == 4
    for record_id, row in rows.iterrows():
        record = records[record_id]
        assert (row.problem, row["size"], row.solution) == (87, "smoke", record.solution.name)
        assert row.status == record.verdict.status.value
        assert row.hardware == record.environment.device
        assert row.solution_digest == record.solution.digest
    timed = rows[rows["rank"].notna()]
    assert set(timed.solution) == {"eager", "inductor"}
    assert (timed.min_ms <= timed.median_ms).all()
    assert (timed.ci95_low_ms <= timed.median_ms).all()
    assert (timed.median_ms <= timed.ci95_high_ms).all()
    assert (timed.trials == 10).all()
    assert timed["class"].tolist() == ["fp32", "fp32"]


def test_the_markdown_holds_the_same_solutions(board):
    text = board[2].read_text()
    assert "| # | solution |" in text
    assert "| eager |" in text


def test_the_leaderboard_gives_ranked_records_as_json(copy, finished):
    status, out, _ = run_eval("leaderboard", "--json", "--problem", "1/87", root=copy)
    assert status == 0
    ranked = {schema.parse(line).solution.name for line in out.splitlines()}
    assert ranked == {"eager", "inductor"}


def test_the_leaderboard_takes_a_device_by_the_start_of_its_name(copy, finished):
    device = schema.parse(finished[1].splitlines()[0]).environment.device
    for name in (device, device.lower(), device[:4]):
        status, out, _ = run_eval("leaderboard", "--hardware", name, root=copy)
        assert status == 0
        assert "inductor" in out
    status, out, err = run_eval("leaderboard", "--hardware", "H100 SXM", root=copy)
    assert (status, err) == (0, "")
    assert out.startswith("no record can be ranked yet")


def test_the_leaderboard_of_a_class_leaves_the_others_out(copy, finished):
    status, out, _ = run_eval("leaderboard", "--class", "bf16", root=copy)
    assert status == 0
    assert "class bf16" in out
    assert "class fp32" not in out


def test_a_foreign_file_is_named_once_and_the_others_are_ranked(copy, finished):
    foreign = copy / "results" / "foreign.jsonl"
    foreign.write_text('{"schema": 9}\n' * 5)
    try:
        status, out, err = run_eval("leaderboard", root=copy)
    finally:
        foreign.unlink()
    assert status == 0
    assert "inductor" in out
    assert err == (
        f"{foreign}:1: schema 9 is not known here; this reader knows 1 (and 4 more of this file)\n"
    )


def test_a_checkout_without_results_has_an_empty_leaderboard(tmp_path):
    bare = checkout(tmp_path)
    table = tmp_path / "board.csv"
    status, out, err = run_eval("leaderboard", "--csv", table, root=bare)
    assert (status, err) == (0, "")
    assert out.startswith("no record can be ranked yet")
    frame = pd.read_csv(table)
    assert len(frame) == 0
    assert ", ".join(frame.columns).startswith(LEADERBOARD)
