"""Whatever is named or written wrongly: exit status 2, one line that says what to do, no trace.

One row for each kind of bad input stands in `bad_inputs`.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness import cli
from tests.bad_inputs import FILES, OTHER, PROBLEM, RUN, UNWRITABLE

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "raises.py").write_text(PROBLEM.replace("[torch.rand(height, 4)]", "[1 / 0]"))
    (folder / "nothing").mkdir()
    return folder


def split(line, here):
    """Words as a shell makes them."""
    return shlex.split(line.format(here=here))


def refused(arguments, capsys):
    """The one line that a command leaves on stderr, when it has said nothing else."""
    status = cli.main(arguments)
    said = capsys.readouterr()
    assert status == 2, said.err
    assert said.out == ""
    assert said.err.count("\n") == 1, said.err
    assert said.err.startswith("error: ")
    assert said.err[:-1].isprintable()
    return said.err


@pytest.mark.parametrize("row", RUN)
def test_a_run_of_something_wrong_is_refused_before_anything_is_written(row, here, capsys):
    line, wanted = RUN[row]
    arguments = split(line, here)
    out = here / "results"
    if "--out" not in arguments:
        arguments = ["--out", str(out), *arguments]
    assert wanted in refused(["run", *arguments], capsys)
    assert not out.exists()


@pytest.mark.parametrize("row", UNWRITABLE)
def test_a_results_folder_that_cannot_be_written_is_refused(row, here, capsys):
    out = UNWRITABLE[row].format(here=here)
    said = refused(["run", "--device", "cpu", "--solution", "eager", "--out", out], capsys)
    assert said.startswith(f"error: {out}")
    assert "wanted a results folder that can be written; name another with --out" in said
    assert (here / "a_file").read_text() == FILES["a_file"]


@pytest.mark.parametrize("row", OTHER)
def test_whatever_else_is_named_wrongly_is_refused(row, here, capsys):
    line, wanted = OTHER[row]
    assert wanted in refused(split(line, here), capsys)


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """A repository in which a number and a name stand for two problems each."""
    for level in ("level1", "level2"):
        folder = tmp_path / "problems" / level
        folder.mkdir(parents=True)
        (folder / "7_same.py").write_text(PROBLEM)
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("query", ["7", "same", "7_same"])
def test_a_name_that_fits_two_problems_is_refused_with_both(query, twins, capsys):
    said = refused(["run", "--problem", query, "--out", str(twins / "results")], capsys)
    assert f"--problem: found {query!r}, which fits 2 problems; wanted 1/7 or 2/7" in said
    assert not (twins / "results").exists()


def test_a_resumed_run_cannot_be_asked_another_question(tmp_path, capsys):
    run = tmp_path / "20260101T000000-abc"
    run.mkdir()
    (run / "records.jsonl").touch()
    (run / "config.yaml").write_text("problems: [1/87]\ntrials: 5\nset: {height: 8}\n")
    said = refused(["run", "--resume", str(run), "--trials", "6"], capsys)
    assert "--trials: trials: found 6; wanted 5, as the run was begun; leave it out" in said
    said = refused(["run", "--resume", str(run), "--set", "width=4"], capsys)
    assert "--set: set.width: found 4; wanted nothing, as the run was begun" in said
    said = refused(["run", "--resume", "20260101T000000-abd", "--out", str(tmp_path)], capsys)
    assert "did you mean '20260101T000000-abc'?" in said
    assert (run / "records.jsonl").read_text() == ""


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\u202eb", "\udcff", "a" * 5000])
def test_a_strange_name_stays_one_printable_line(name, here, capsys):
    for option in ("--problem", "--solution", "--size", "--resume", "--device"):
        refused(["run", "--out", str(here / "results"), option, name], capsys)
    refused(["run", "--out", str(here / "results"), name], capsys)
    refused([name], capsys)


def test_a_real_process_leaves_one_line_and_no_traceback(here):
    for arguments in (["run", "--trials", "0"], ["rnu"], ["run", "--problem", "nope"]):
        done = subprocess.run(
            [sys.executable, ROOT / "run_eval.py", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=here,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("error: ")


def test_a_bug_of_ours_is_a_harness_fault_and_never_the_answer_no(monkeypatch, capsys):
    from harness import api

    def broken(what, root):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(api, "listing", broken)
    assert cli.main(["list", "problems"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("harness fault: ZeroDivisionError: ours\n")


def test_a_torch_that_cannot_be_imported_is_named(here, capsys):
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torch"}
    sys.modules["torch"] = None
    try:
        out = ["--out", str(here / "results")]
        assert "torch: found" in refused(["run", *out], capsys)
        assert "`make setup`" in refused(["floor", "1/87", "--hardware", "H200"], capsys)
    finally:
        del sys.modules["torch"]
        sys.modules.update(hidden)
    assert not (here / "results").exists()
