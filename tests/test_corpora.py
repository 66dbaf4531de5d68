"""No cheat is accepted and no honest solution rejected; and without its defence each cheat passes.

The files run for real, in workers. Beside them: the naive evaluator accepts what claims to be a
cheat, twins of the defences switched off, and what one candidate might leave to the next.
"""

import contextlib
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import time

import pytest
import torch

from harness import api
from harness.judge import budgets, schedule, suspicion
from harness.judge.arena import Arena, Probe
from harness.judge.compare import Accumulator
from harness.judge.families import DECLARED
from harness.judge.precision import CLASSES, Budget, Errors, Ledger
from harness.judge.seeds import Seeds
from harness.judge.trial import Desk
from harness.judge.workload import Workload
from harness.sandbox.launch import Server, Worker
from tests import corpora

ROOT = corpora.TESTS.parent
EVERYTHING = corpora.cases()
HERE = [one for one in EVERYTHING if not one.on_gpu]
EXPLOITS = [one for one in EVERYTHING if not one.honest]
KINDS = [f"C{number:02}" for number in range(1, 83)]
has_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def named(cases):
    return [pytest.param(one, id=one.name) for one in cases]


# -- the corpora themselves ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return {case.name: corpora.row(case, record) for case, record in corpora.judged(HERE, "cpu")}


@pytest.mark.parametrize("case", named(HERE))
def test_each_file_gets_its_verdict(case, table):
    found = table[case.name]
    if "open" in case.header:
        assert found["result"] == "open", f"closed by now? {case.header['open']}: {found}"
        pytest.xfail(case.header["open"])
    assert found["result"] == "ok", found


@pytest.mark.gpu
@has_gpu
def test_each_file_gets_its_verdict_on_a_gpu():
    rows = [corpora.row(case, record) for case, record in corpora.judged(EVERYTHING, "cuda")]
    assert not [one for one in rows if one["result"] == "WRONG"]


def test_the_corpora_are_as_large_and_as_broad_as_asked():
    assert len(EXPLOITS) >= 60
    assert len(EVERYTHING) - len(EXPLOITS) >= 30
    pairs = {(one.header["surface"], one.header["caught_by"]) for one in EXPLOITS}
    assert len(pairs) >= 40


@pytest.mark.parametrize("case", named(EVERYTHING))
def test_each_header_says_what_it_has_to(case):
    own = {"class", "uses"} if case.honest else {"kinds", "surface", "caught_by", "naive"}
    asked = {"problem", "device", "trials", "open", "harmless", "answer_s", "expected", "class"}
    assert own <= set(case.header) <= own | asked
    if not case.honest:
        assert set(case.header["kinds"].split(", ")) <= set(KINDS)
        assert ("harmless" in case.header) == (case.expected[0][0] == "passed")
        assert re.fullmatch(r"accepts( at 1e-2)?|exempt: .+", case.header["naive"])


def test_the_document_has_a_row_for_every_kind_and_names_every_exploit():
    text = (ROOT / "docs" / "cheats.md").read_text()
    rows = dict(re.findall(r"^\| (C\d\d) .*?\| (prevented|detected|open|legal)", text, re.M))
    assert list(rows) == KINDS
    files = set(re.findall(r"`exploits/(\w+)\.py`", text))
    assert files == {one.path.stem for one in EXPLOITS}
    for name in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name


# -- the naive evaluator accepts them ------------------------------------------------------------


@pytest.fixture(scope="module")
def accepted():
    """What the naive evaluator says of each file that claims to be a cheat, in one process."""
    claimed = [one for one in EXPLOITS if one.header["naive"].startswith("accepts")]
    asked = [
        (one.problem, str(one.path), 1e-2 if one.header["naive"].endswith("1e-2") else 1e-4)
        for one in claimed
    ]
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    found = subprocess.run(
        [sys.executable, "-m", "tests.naive"],
        input=lines, capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    said = [json.loads(one) for one in found.stdout.splitlines() if one in ("true", "false")]
    return dict(zip([one.name for one in claimed], said, strict=True)), found.stderr


@pytest.mark.parametrize(
    "case", named(one for one in EXPLOITS if one.header["naive"].startswith("accepts"))
)
def test_a_naive_evaluator_accepts_what_claims_to_be_a_cheat(case, accepted):
    verdicts, log = accepted
    assert verdicts[case.name], log[-3000:]


# -- twins: the same judge with one defence switched off -----------------------------------------


def same_inputs(monkeypatch):
    """Fresh off: every call gets the values of the first."""
    original = Workload.inputs
    monkeypatch.setattr(Workload, "inputs", lambda self, seed, family: original(self, 7, DECLARED))


def no_poison(monkeypatch):
    monkeypatch.setattr(Arena, "poison", lambda self: None)


def no_private_copy(monkeypatch):
    """Secret elements are not looked at, and the output is read when the judge has time."""
    original = Desk._private
    monkeypatch.setattr(Probe, "agrees", lambda self, *arguments: True)

    def later(self, *arguments):
        time.sleep(0.05)
        return original(self, *arguments)

    monkeypatch.setattr(Desk, "_private", later)


def no_wall_clock(monkeypatch):
    monkeypatch.setattr(suspicion, "disagreeing_clocks", lambda agreed: None)


def no_blocks(monkeypatch):
    monkeypatch.setattr(Accumulator, "_worst_block", lambda self, scale: 0.0)


def no_stop(monkeypatch):
    """The worker runs while its inputs are filled, and the judge takes its time before *go*."""
    monkeypatch.setattr(Worker, "pause", lambda self: True)
    slow_poison(monkeypatch)


def slow_poison(monkeypatch):
    original = Arena.poison

    def slow(self):
        original(self)
        time.sleep(0.1)

    monkeypatch.setattr(Arena, "poison", slow)


def no_account(monkeypatch):
    """What the worker's other threads use is not looked at."""
    original = Worker.waited_ms
    monkeypatch.setattr(Worker, "waited_ms", lambda self: (original(self)[0], 0.0))


def no_look_at_the_server(monkeypatch):
    monkeypatch.setattr(Server, "touched", False)


def same_seeds(monkeypatch):
    """A second attempt gets the seeds of the first."""
    once = Seeds.fresh()
    monkeypatch.setattr(Seeds, "fresh", staticmethod(lambda: once))


def no_timed_stress(monkeypatch):
    monkeypatch.setattr(schedule, "timed_stress", lambda usable, secret: None)


def integers_like_floats(monkeypatch):
    """Integer outputs get the budgets of rounded operands."""
    original = budgets._of_one_output

    def loose(errors, output):
        return original(errors, dataclasses.replace(output, dtype=torch.float32))

    monkeypatch.setattr(budgets, "_of_one_output", loose)


TWINS = {
    "fresh": (same_inputs, "cached_by_address"),
    "fresh, by identity": (same_inputs, "cached_by_identity"),
    "poison": (no_poison, "never_writes_the_zeros"),
    "private copy": (no_private_copy, "answers_early"),
    "wall clock": (no_wall_clock, "rewrites_the_reply"),
    "wall clock, dispatcher": (no_wall_clock, "overrides_the_copy"),
    "block metric": (no_blocks, "drops_a_small_channel"),
    "stop between calls": (no_stop, "polls_the_inputs"),
    "stop between calls, children": (no_stop, "polls_from_a_child"),
    "timed stress blocks": (no_timed_stress, "constant_statistics"),
    "exact integers": (integers_like_floats, "constant_index"),
    "account of processor time": (no_account, "hides_in_the_queue"),
    "settings of the server": (no_look_at_the_server, "slows_its_rivals"),
    "fresh seeds": (same_seeds, "replays_a_second_attempt"),
}


@pytest.mark.parametrize("name", TWINS)
def test_without_its_defence_the_same_file_passes(name, monkeypatch, table):
    switch_off, stem = TWINS[name]
    case = next(one for one in EXPLOITS if one.path.stem == stem)
    assert table[case.name]["result"] == "ok", "with the defence it is caught"
    switch_off(monkeypatch)
    ((_, record),) = corpora.judged([case], "cpu")
    assert record.verdict.status.value == "passed", record.verdict


@pytest.mark.parametrize("stem", ["polls_the_inputs", "polls_from_a_child"])
def test_a_stopped_worker_sees_nothing_however_long_the_judge_takes(stem, monkeypatch):
    case = next(one for one in EXPLOITS if one.path.stem == stem)
    slow_poison(monkeypatch)
    ((_, record),) = corpora.judged([case], "cpu")
    assert corpora.outcome(case, record) in case.expected


# -- what one candidate might leave to the next --------------------------------------------------

HEAD = "import os, sys, time\nimport torch\nfrom torch import nn\n"
RIGHT = """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
"""
AFFINE = str(corpora.TESTS / "data" / "affine.py")
# What the first candidate does to its process, and how the second would notice.
CONTAMINATIONS = {
    "patched torch": (
        "import torch.nn.functional as F\nF.linear = lambda *a, **k: time.sleep(1)\n"
        "torch.Tensor.patched = True\n",
        "assert not hasattr(torch.Tensor, 'patched')\n",
    ),
    "patched worker": (
        "import harness.worker.seal as s\ns.patched = True\n",
        "import harness.worker.seal as s\nassert not hasattr(s, 'patched')\n",
    ),
    "global flags": (
        "torch.set_default_dtype(torch.float64)\ntorch.set_float32_matmul_precision('medium')\n",
        "assert torch.get_default_dtype() is torch.float32\n"
        "assert torch.get_float32_matmul_precision() == 'highest'\n",
    ),
    "environment and folder": (
        "os.environ['LEFT'] = '1'\nopen('left', 'w').close()\n",
        "assert 'LEFT' not in os.environ\nassert not os.path.exists('left')\n",
    ),
    "settings of the server": (
        "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})\n"
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 10)\n",
        f"assert len(os.sched_getaffinity(0)) == {len(os.sched_getaffinity(0))}\n"
        f"assert os.getpriority(os.PRIO_PROCESS, 0) == {os.getpriority(os.PRIO_PROCESS, 0)}\n",
    ),
    "a forged module": (
        "import types\nsys.modules['json'] = types.ModuleType('json')\n",
        "import json\nassert json.loads('1') == 1\n",
    ),
}


@pytest.mark.parametrize("name", CONTAMINATIONS)
def test_nothing_of_one_candidate_reaches_the_next(name, tmp_path):
    evil, look = CONTAMINATIONS[name]
    (tmp_path / "evil.py").write_text(HEAD + evil + RIGHT)
    (tmp_path / "next.py").write_text(HEAD + look + RIGHT)
    with api.open(device="cpu", trials=5, checks=1) as judge:
        judge.evaluate(AFFINE, tmp_path / "evil.py")
        record = judge.evaluate(AFFINE, tmp_path / "next.py")
    assert record.verdict.status.value == "passed", record.verdict


def test_a_candidates_words_cannot_draw_on_the_terminal(table):
    """The record keeps the text as it was; what is printed of it is printable."""
    from harness.publish.cells import one_line

    detail = table["exploits/colours_its_error"]["detail"]
    assert "\x1b" in detail
    assert "\x1b" not in one_line(detail)


# -- rules that need no worker -------------------------------------------------------------------


def test_a_class_that_no_family_could_judge_is_not_reached():
    """fp16 asked for where every value overflows it: nothing was judged, so nothing passes."""
    ledger = Ledger(small=False)
    unjudged, right = Budget(*[math.inf] * 3), Budget(1.0, 1.0, 1.0)
    budgets = {name: unjudged if name == "fp16" else right for name in CLASSES}
    wrong = Errors(math.nan, math.nan, math.nan, 1.0, False, 10)
    ledger.add(wrong, budgets)
    assert ledger.reached("fp16") is None


def test_the_table_ends_in_its_count(capsys):
    with contextlib.suppress(SystemExit):
        assert corpora.main(["--only", "honest/copy_of_the_reference"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
