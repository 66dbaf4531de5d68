"""Nothing that was written is lost, and what was cut off is named."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from harness.faults import HarnessFault, UsageError
from harness.record import schema, store
from harness.record.store import RunFolder, append, append_event, find, read_all
from tests.record import examples


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(
        tmp_path / "results", "run-1", config="trials: 5\n", environment=examples.environment()
    )


def test_a_run_folder_holds_records_config_and_environment(run: RunFolder) -> None:
    record = examples.record()
    assert run.append(record) is None
    assert run.run_id == "run-1"
    assert sorted(file.name for file in run.path.iterdir()) == [
        "config.yaml",
        "environment.json",
        "records.jsonl",
    ]
    assert run.load().records == (record,)
    assert run.config() == "trials: 5\n"
    environment = json.loads((run.path / "environment.json").read_text())
    assert environment["device"] == "NVIDIA H200"


def test_a_run_folder_is_never_made_twice(run: RunFolder) -> None:
    with pytest.raises(UsageError):
        RunFolder.create(run.path.parent, "run-1", config="", environment=examples.environment())


def test_an_opened_run_goes_on_where_it_stopped(run: RunFolder) -> None:
    first, second = examples.record(), examples.record()
    run.append(first)
    again = RunFolder.open(run.path)
    again.append(second)
    assert again.notes == ()
    assert again.load().records == (first, second)


@pytest.mark.parametrize("size", [1, 100, 70_000, 200_000])
def test_a_line_that_was_cut_off_is_removed_and_named(run: RunFolder, size: int) -> None:
    record = examples.record()
    run.append(record)
    with (run.path / "records.jsonl").open("ab") as file:
        file.write(b"x" * size)
    (problem,) = run.load().problems
    assert problem.endswith("the last line was never finished and is left out")
    again = RunFolder.open(run.path)
    assert len(again.notes) == 1
    assert f"removed {size} bytes" in again.notes[0]
    assert again.load() == store.Loaded((record,), (), ())


def test_a_cut_line_is_removed_before_the_next_is_written(run: RunFolder) -> None:
    with (run.path / "records.jsonl").open("ab") as file:
        file.write(schema.dump(examples.record()).encode())  # whole, but for its newline
    record = examples.record()
    note = run.append(record)
    assert note is not None
    assert "never finished" in note
    assert run.load() == store.Loaded((record,), (), ())


def write_many(path: Path, writer: int) -> None:
    for index in range(20):
        append(path, json.dumps({"writer": writer, "index": index, "pad": "x" * 9000}))


def test_four_writers_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(path, n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((line["writer"], line["index"]) for line in lines) == [
        (writer, index) for writer in range(4) for index in range(20)
    ]


def test_a_line_break_in_a_record_is_a_fault_of_the_harness(tmp_path: Path) -> None:
    with pytest.raises(HarnessFault):
        append(tmp_path / "records.jsonl", "{\n}")


def test_a_disk_that_is_full_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as refusal:
        append(Path("/dev/full"), "{}")
    assert "No space left on device" in str(refusal.value)


def test_a_disk_that_takes_half_a_record_leaves_no_half_record(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = examples.record()
    run.append(kept)
    whole_write = store.os.write
    monkeypatch.setattr(store.os, "write", lambda fd, text: whole_write(fd, text[:99]))
    with pytest.raises(UsageError):
        run.append(examples.record())
    monkeypatch.undo()
    assert run.load().records == (kept,)
    assert RunFolder.open(run.path).load().problems == ()


def test_a_results_folder_that_cannot_be_written_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file stands where the folder should")
    with pytest.raises(UsageError) as refusal:
        RunFolder.create(tmp_path / "results", "run", config="", environment=examples.environment())
    assert "--out" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_is_no_run_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        RunFolder.open(tmp_path)
    with pytest.raises(UsageError):
        RunFolder.open(tmp_path / "missing")


def test_everything_below_a_folder_is_read_once(tmp_path: Path) -> None:
    first, second = examples.record(), examples.record()
    for name, records in {"a": [first], "b/c": [second, first]}.items():
        (tmp_path / name).mkdir(parents=True)
        for record in records:
            append(tmp_path / name / "records.jsonl", schema.dump(record))
    found = read_all([tmp_path, tmp_path / "a", tmp_path / "a" / "records.jsonl"])
    assert found == store.Loaded((first, second), (), ())


def test_two_records_with_one_id_are_a_problem_and_the_first_stays(tmp_path: Path) -> None:
    first, other = examples.record(id="same"), examples.record(id="same", name="other")
    for record in (first, other):
        append(tmp_path / "records.jsonl", schema.dump(record))
    found = read_all([tmp_path])
    assert found.records == (first,)
    assert found.problems == (
        f"{tmp_path / 'records.jsonl'}:2: another line with the id same is already here",
    )


def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    record = examples.record()
    newer = schema.dump(examples.record()).replace('"schema":1', '"schema":2', 1)
    path.write_text(f"{newer}\n\nno record\n{schema.dump(record)}\n")
    found = read_all([path])
    assert found.records == (record,)
    assert [problem.split(": ")[0] for problem in found.problems] == [
        f"{path}:1",
        f"{path}:2",
        f"{path}:3",
    ]
    assert "schema 2 is not known here" in found.problems[0]


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_all([tmp_path / "missing.jsonl"])


def test_events_lie_beside_the_records(run: RunFolder) -> None:
    record = examples.record()
    run.append(record)
    event = schema.Revocation(
        id="e", record_id=record.id, observed_at=examples.NOW, why="a wrong clock"
    )
    append_event(run.path, event)
    assert run.load() == store.Loaded((record,), (event,), ())


def test_a_record_is_found_by_its_id_or_the_start_of_it() -> None:
    records = [examples.record(id="abc1"), examples.record(id="abc12"), examples.record(id="xyz")]
    assert find(records, "abc1") is records[0]
    assert find(records, "x") is records[2]
    for query in ("abc", "nothing", ""):
        with pytest.raises(UsageError):
            find(records, query)
