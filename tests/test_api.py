"""What users' own loops call: from a script, a one-liner, standard input, and from pytest."""

import subprocess
import sys

import pytest

from harness import api
from harness.faults import UsageError
from harness.judge.events import PhaseStarted, TrialDone
from harness.record import schema
from harness.record.schema import Status
from tests.processes import PATIENCE_S, ROOT

AFFINE = ROOT / "tests/data/affine.py"
FINE = AFFINE.read_text() + "\nModelNew = Model\n"
WRONG = FINE.replace("return self.layer(x)", "return self.layer(x) + 1")
LOOP = f"""\
from harness import api
print("once")
with api.open(device="cpu", trials=5, checks=1) as judge:
    for solution in ("eager", "mine.py"):
        record = judge.evaluate({str(AFFINE)!r}, solution)
        print(record.solution.name, record.verdict.status, len(record.timing.samples_ms))
"""


@pytest.fixture(scope="module")
def heard():
    return []


@pytest.fixture(scope="module")
def judge(heard):
    with api.open(device="cpu", trials=5, checks=1, listener=heard.append) as judge:
        yield judge


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    for name, text in {"fine": FINE, "wrong": WRONG, "other": "# mine\n" + FINE}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def ways(path):
    """How a program may be given to an interpreter: (arguments, standard input)."""
    return {"a script": ([path], None), "-c": (["-c", LOOP], None), "stdin": (["-"], LOOP)}


@pytest.mark.parametrize("way", ["a script", "-c", "stdin"])
def test_a_judge_opens_from(way, tmp_path):
    """The worker's server must not run the user's own program again, wherever it came from."""
    (tmp_path / "loop.py").write_text(LOOP)  # without an `if __name__ == "__main__"`
    (tmp_path / "mine.py").write_text(FINE)
    arguments, typed = ways("loop.py")[way]
    done = subprocess.run(
        [sys.executable, *arguments],
        input=typed,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "once\neager passed 5\nmine passed 5\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop.py", "mine.py"]


def test_a_judge_opens_inside_pytest_and_gives_a_whole_record(judge, kernels):
    record = judge.evaluate(AFFINE, kernels / "fine.py")
    assert record.verdict.status is Status.PASSED
    assert (record.problem.name, record.problem.size) == ("affine", "full")
    assert record.solution.path == str(kernels / "fine.py")
    assert schema.parse(schema.dump(record)) == record


def test_the_baseline_is_kept_between_calls(judge, heard, kernels):
    baseline = judge.evaluate(AFFINE, "eager")
    heard.clear()
    records = [judge.evaluate(AFFINE, kernels / f"{name}.py") for name in ("fine", "other")]
    assert {one.solution for one in heard if isinstance(one, PhaseStarted)} == {"fine", "other"}
    assert sum(isinstance(one, TrialDone) for one in heard) == 2 * 5
    for record in records:
        assert record.baseline.record_id == baseline.id
        assert record.baseline.samples_ms == baseline.timing.samples_ms
    assert judge.evaluate(AFFINE, "eager") is baseline
    assert baseline.baseline.record_id == baseline.id


def test_a_wrong_solution_is_a_value_and_the_judge_goes_on(judge, kernels):
    assert judge.evaluate(AFFINE, kernels / "wrong.py").verdict.status is (
        Status.INCORRECT_NUMERICAL
    )
    assert judge.evaluate(AFFINE, kernels / "fine.py").verdict.status is Status.PASSED


UNKNOWN = {
    "a problem": (("1/88", "eager"), "--problem: found '1/88'; wanted a problem's name"),
    "a problem's file": (("nowhere.py", "eager"), "--problem: found 'nowhere.py'"),
    "a solution": (("1/87", "eagr"), "did you mean 'eager'?"),
    "a solution's file": (("1/87", "nowhere.py"), "--solution: found 'nowhere.py'"),
    "a folder of problems": (("problems", "eager"), "wanted one problem, one size and one"),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_name_that_stands_for_nothing_or_too_much_is_a_usage_error(judge, kind):
    names, wanted = UNKNOWN[kind]
    with pytest.raises(UsageError) as refusal:
        judge.evaluate(*names)
    assert wanted in str(refusal.value)


def test_a_folder_of_solutions_is_too_much_for_one_call(judge, kernels):
    with pytest.raises(UsageError, match="one solution"):
        judge.evaluate(AFFINE, kernels)


OPTIONS = {
    "an unknown key": (
        {"trails": 5},
        "api.open: trails: found an unknown key; did you mean 'trials'",
    ),
    "a value out of range": ({"trials": 0}, "api.open: trials: found 0; wanted at least 1"),
    "a value of the wrong type": ({"trials": 2.5}, "trials: found 2.5; wanted a whole number"),
    "an unknown class": ({"asked": "fp8"}, "api.open: class: found 'fp8'; wanted"),
    "an unknown device": ({"device": "gpu"}, "device: found 'gpu'; wanted auto, cpu, cuda"),
    "a device that is not there": ({"device": "cuda:99"}, "--device: found cuda:99; wanted"),
    "an unknown deadline": ({"deadlines_s": {"lode": 5}}, "deadlines_s.lode: found an unknown key"),
    "pairs, which are not there": ({"pairing": "abba"}, "pairing: found abba; wanted"),
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_wrong_option_is_a_usage_error_before_anything_is_started(kind):
    options, wanted = OPTIONS[kind]
    with pytest.raises(UsageError) as refusal, api.open(**options):
        pass
    assert wanted in str(refusal.value)


def test_options_are_the_keys_of_the_config(kernels):
    options = {"asked": "fp32", "set": {"rows": 96}, "trials": 5, "checks": 1}
    with api.open(device="cpu", **options) as judge:
        record = judge.evaluate(AFFINE, "eager")
    assert record.precision.asked == "fp32"
    assert record.problem.axes["rows"] == 96
    with pytest.raises(UsageError, match="a closed judge"):
        judge.evaluate(AFFINE, "eager")


def test_the_floor_and_the_lists_need_no_judge():
    _, found = api.floor(
        "1/87", size="full", class_="tf32", hardware_name="H200", policy="complete-v2"
    )
    assert found.floor_ms == pytest.approx(2.684, abs=1e-3)
    assert any(line.startswith("1/87") for line in api.listing("problems"))
    assert any("H200" in line for line in api.listing("hardware"))


def test_a_leaderboard_can_be_asked_of_any_root(tmp_path):
    ranking, refused = api.leaderboard(root=tmp_path)
    assert (ranking.boards, ranking.excluded, refused) == ((), (), ())
