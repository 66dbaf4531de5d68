"""The command line in real processes: what it prints where, what it leaves, how it ends."""

import json
import os
import signal
import subprocess
import sys

import pytest

from harness import cli
from harness.record import schema
from harness.record.schema import Status
from harness.record.store import read_all
from tests.processes import (
    ROOT,
    checkout,
    descendants,
    run_eval,
    start,
    survivors,
    without_torch,
)

AFFINE = ROOT / "tests/data/affine.py"
FINE = AFFINE.read_text() + "\nModelNew = Model\n"
QUICK = ("--problem", AFFINE, "--device", "cpu", "-o", "checks=1")
FOREIGN = """\
import torch
from torch import nn

batch_size = 2
height = width = 64
channels = 2 * 4

class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layer = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return self.layer(x)

def get_inputs():
    return [torch.rand(batch_size, channels, height, width)]

def get_init_inputs():
    return [channels]
"""


def records_in(folder):
    return list(read_all([folder]).records)


def test_json_puts_one_valid_record_on_each_line_of_stdout_and_nothing_else(finished, copy):
    status, out, err = finished
    records = [schema.parse(line) for line in out.splitlines()]
    assert [one.solution.name for one in records] == [
        "eager",
        "inductor",
        "triton_tf32",
        "cuda_tf32",
    ]
    (folder,) = {copy / "results" / one.run_id for one in records}
    assert (folder / "records.jsonl").read_text() == out
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.yaml",
        "environment.json",
        "records.jsonl",
    ]
    assert f"records: {folder}" in err
    assert status == 0, err


def test_what_is_unavailable_does_not_count_against_strict(finished):
    status, out, _ = finished
    ended = {one.solution.name: one.verdict.status for one in map(schema.parse, out.splitlines())}
    assert ended["cuda_tf32"] is Status.UNAVAILABLE
    assert set(ended.values()) == {Status.PASSED, Status.UNAVAILABLE}
    assert status == 0


def test_progress_and_the_final_table_go_to_stderr_with_json(finished):
    _, _, err = finished
    assert "[1/4] eager on 87_conv_pointwise_2D, smoke" in err
    assert "[2/4] inductor · time · trial 10/10" in err
    table = [line.split() for line in err.splitlines() if line.startswith("  ")]
    assert ["solution", "status", "class", "median", "×", "floor", "vs", "baseline"] in table
    assert any(row[:3] == ["eager", "passed", "fp32"] and row[-1] == "baseline" for row in table)
    failure = next(line for line in err.splitlines() if "no_cuda_device" in line and ";" in line)
    assert failure.endswith("; run it on a machine with a CUDA device")
    assert "\x1b" not in err


def test_without_arguments_the_default_config_is_run(tmp_path):
    copy = checkout(tmp_path)
    config = copy / "configs" / "default.yaml"
    changes = {"trials: 100": "trials: 7", "[eager, inductor, triton_tf32, cuda_tf32]": "[eager]"}
    text = config.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    status, out, err = run_eval(root=copy, cwd="/", env=cpu_only())
    assert status == 0, err
    (folder,) = (copy / "results").iterdir()
    (record,) = records_in(folder)
    assert (record.problem.name, record.problem.size) == ("87_conv_pointwise_2D", "smoke")
    assert record.timing.trials == 7
    assert "trials: 7\n" in (folder / "config.yaml").read_text()
    assert json.loads((folder / "environment.json").read_text())["device"]
    assert "eager" in out
    assert "even: the intervals do not tell them apart" in out
    assert "floor " in out
    assert err.startswith("torch sees no CUDA device: running on the CPU\n")


def cpu_only():
    """The same on a machine with a GPU."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def test_show_config_says_where_each_value_comes_from(tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("trials: 5\nchecks: 2\ndeadlines_s: {load: 9}\nset: {height: 8}\n")
    arguments = ("run", config, "--trials", "7", "--set", "width=16", "-o", "deadlines_s.time=30")
    status, out, err = run_eval(*arguments, "--show-config", cwd=tmp_path)
    assert (status, err) == (0, "")
    lines = dict(line.split(": ", 1) for line in out.splitlines())
    assert lines["trials"] == "7  # --trials"
    assert lines["checks"] == f"2  # {config}"
    assert lines["set.height"] == f"8  # {config}"
    assert lines["set.width"] == "16  # --set"
    assert lines["deadlines_s.load"] == f"9.0  # {config}"
    assert lines["deadlines_s.time"] == "30.0  # -o"
    assert lines["cache"] == "cold  # default"
    assert sorted(tmp_path.iterdir()) == [config]


def test_show_config_names_the_default_config_too(tmp_path):
    _, out, _ = run_eval("run", "--show-config", cwd=tmp_path)
    assert "trials: 100  # configs/default.yaml\n" in out
    assert "set: {}  # default\n" in out


def test_a_folder_of_solutions_is_run_whole_and_strict_says_which_failed(tmp_path):
    folder = tmp_path / "kernels"
    (folder / "deep").mkdir(parents=True)
    (folder / "broken.py").write_text("class ModelNew(:\n")
    (folder / "deep" / "fine.py").write_text(FINE)
    (folder / "_draft.py").write_text("never run")
    arguments = ("run", *QUICK, "--solution", folder, "--trials", "5", "--out", "kept", "--strict")
    status, out, err = run_eval(*arguments, cwd=tmp_path)
    assert status == 1, err
    ended = {one.solution.name: one.verdict for one in records_in(tmp_path / "kept")}
    assert {name: verdict.status for name, verdict in ended.items()} == {
        "eager": Status.PASSED,
        "broken": Status.COMPILE_ERROR,
        "deep/fine": Status.PASSED,
    }
    assert ended["broken"].reason == "syntax_error"
    line = next(line for line in out.splitlines() if line.startswith("broken: compile_error"))
    assert line.endswith("; fix the line that the detail names")


def test_a_bad_file_among_problems_is_one_invalid_reference_and_the_others_run(tmp_path):
    """KernelBench's own files: no sidecar, no solutions here, any axis that they assign."""
    level = tmp_path / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "1_mix.py").write_text(FOREIGN)
    (level / "2_broken.py").write_text("class Model(:\n")
    (level / "3_raises.py").write_text(FOREIGN.replace("[torch.rand", "1 / 0, [torch.rand"))
    (level / "10_same.py").write_text(FOREIGN.replace("channels = 2 * 4", "channels = 4"))
    asked = ("--set", "height=32", "--set", "width=48", "--trials", "5", "-o", "checks=1")
    arguments = ("run", "--problem", level, "--device", "cpu", *asked, "--out", tmp_path / "out")
    status, out, err = run_eval(*arguments)
    assert status == 0, err
    records = records_in(tmp_path / "out")
    found = [(one.problem.number, one.solution.name, one.verdict.status) for one in records]
    assert found == [
        (1, "eager", Status.PASSED),
        (2, "eager", Status.INVALID_REFERENCE),
        (3, "eager", Status.INVALID_REFERENCE),
        (10, "eager", Status.PASSED),
    ]
    assert records[0].problem.axes == {"batch_size": 2, "height": 32, "width": 48, "channels": 8}
    assert records[1].verdict.reason == "syntax_error"
    assert "ZeroDivisionError" in records[2].verdict.detail
    assert out.count("mend the problem file") == 2


def test_too_little_memory_is_a_record_and_no_failure_of_the_run(tmp_path):
    arguments = ("run", "--device", "cpu", "--size", "full", "--set", "batch_size=1048576")
    status, out, err = run_eval(*arguments, "--solution", "eager", "--out", tmp_path)
    assert status == 0, err
    (record,) = records_in(tmp_path)
    assert record.verdict.status is Status.RESOURCE_EXCEEDED
    assert "choose a smaller size with --size or --set" in out


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A solution that leaves time to interrupt it."""
    path = tmp_path_factory.mktemp("slow") / "slow.py"
    call = "    def forward(self, x):\n"
    assert call in FINE
    path.write_text("import time\n" + FINE.replace(call, f"{call}        time.sleep(0.02)\n"))
    return path


def interrupted(arguments, scratch, sign):
    """Ctrl-C once `sign` is on stderr: (exit status, stderr, what lives on)."""
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with start(*arguments, env=environment, start_new_session=True) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if sign in line:
                break
        before = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        said += process.stderr.readlines()
        process.wait(timeout=60)
    assert before, "".join(said)
    return process.returncode, "".join(said), survivors(before)


def test_ctrl_c_keeps_what_is_written_and_resume_ends_with_the_same_set(slow, tmp_path):
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    asked = ("run", *QUICK, "--solution", "eager", "--solution", slow, "--trials", "20")
    status, err, alive = interrupted((*asked, "--out", out), scratch, "slow · time · trial 5/20")
    assert status == 130, err
    assert "Traceback" not in err
    (folder,) = out.iterdir()
    assert err.endswith(f"interrupted; 1 record kept; go on with --resume {folder}\n")
    assert alive == []
    assert list(scratch.glob("harness-*")) == []
    (kept,) = records_in(folder)
    assert (kept.solution.name, kept.verdict.status) == ("eager", Status.PASSED)

    # nothing but the folder: a resumed run keeps its settings
    status, stdout, err = run_eval("run", "--resume", folder, "--json")
    assert status == 0, err
    assert f"[1/2] eager: has a record already, {kept.id}" in err
    records = [schema.parse(line) for line in stdout.splitlines()]
    assert records == records_in(folder)
    assert records[0] == kept
    assert [one.solution.name for one in records] == ["eager", "slow"]
    assert {one.run_id for one in records} == {folder.name}
    assert records[1].timing.trials == 20
    assert records[1].baseline.record_id == kept.id
    assert list(out.iterdir()) == [folder]


def test_a_run_that_is_whole_has_nothing_to_go_on_with(copy, finished):
    first = schema.parse(finished[1].splitlines()[0])
    arguments = ("run", "--resume", first.run_id, "--problem", "1/87", "--json")
    status, out, err = run_eval(*arguments, root=copy)
    assert (status, out) == (0, finished[1]), err
    assert "has a record already" in err
    assert (copy / "results" / first.run_id / "records.jsonl").read_text() == out


@pytest.mark.parametrize("arguments", [["list", "problems"], ["--help"], ["run", "--show-config"]])
def test_a_reader_that_has_seen_enough_gets_no_traceback(arguments, tmp_path):
    with start(*arguments, cwd=tmp_path) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_a_run_whose_reader_leaves_is_interrupted_and_can_be_gone_on_with(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text('CUDA_SOURCE = ""\n\n\nclass ModelNew:\n    pass\n')
    asked = ("run", *QUICK, "--solution", kernel, "--trials", "5", "--out", tmp_path / "out")
    with start(*asked, "--json") as process:
        schema.parse(process.stdout.readline())
        process.stdout.close()
        err = process.stderr.read()
    (folder,) = (tmp_path / "out").iterdir()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert err.endswith(f"nobody reads any more; 2 records kept; go on with --resume {folder}\n")
    assert len(records_in(folder)) == 2


def test_a_pipe_to_head_is_quiet(copy, finished):
    assert finished[0] == 0
    for arguments in ("leaderboard", "leaderboard --json", "list hardware", "--help"):
        line = f"set -o pipefail; '{sys.executable}' run_eval.py {arguments} | head -1"
        done = subprocess.run(
            ["bash", "-c", line], cwd=copy, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("\n") == 1


def test_listing_and_ranking_work_where_torch_is_not_installed(copy, finished, tmp_path):
    environment = without_torch(tmp_path)
    for arguments in (
        ("--help",),
        ("list", "problems"),
        ("list", "solutions"),
        ("list", "hardware"),
        ("run", "--show-config"),
        ("leaderboard", "--csv", tmp_path / "board.csv"),
    ):
        status, out, err = run_eval(*arguments, root=copy, env=environment)
        assert (status, err) == (0, "")
        assert out
    for arguments in (("run",), ("floor", "1/87", "--hardware", "H200")):
        status, out, err = run_eval(*arguments, root=copy, env=environment)
        assert (status, out) == (2, "")
        assert err.startswith("error: torch: found No module named 'torch'")
        assert err.endswith("`make setup` makes one in .venv\n")


def test_list_names_what_can_be_asked_for():
    _, problems, _ = run_eval("list", "problems")
    assert "1/87 87_conv_pointwise_2D sizes: full, smoke" in problems
    _, solutions, _ = run_eval("list", "solutions")
    assert "1/87 87_conv_pointwise_2D triton_tf32 triton\n" in solutions
    _, hardware, _ = run_eval("list", "hardware")
    assert "H200 4800 GB/s NVIDIA H200\n" in hardware


FLOORS = {
    ("1/87", "--hardware", "H100 SXM"): "3.85 ms",
    ("1/87", "--hardware", "H100 SXM", "--policy", "headroom-v1"): "1.28 ms",
    ("1/87", "--hardware", "H200"): "2.68 ms",
    ("87_conv_pointwise_2D", "--hardware", "h200"): "2.68 ms",
}


@pytest.mark.parametrize("arguments", FLOORS, ids=" ".join)
def test_the_floor_of_problem_87(arguments, capsys):
    assert cli.main(["floor", *arguments]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{FLOORS[arguments]}  memory-bound on ")
    assert "an estimate, not evidence" in out


def test_a_terminal_that_knows_no_multiplication_sign_still_gets_its_table(copy, finished):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    status, out, err = run_eval("leaderboard", root=copy, env=environment)
    assert (status, err) == (0, "")
    assert "inductor" in out
