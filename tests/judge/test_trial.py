"""The order of a trial, asserted for every trial, and what the worker is given."""

import pytest
import torch

from harness import api
from harness.judge import evaluation as evaluations
from harness.judge.trial import Desk
from harness.record.schema import Failed
from tests.judge.conftest import AFFINE, SHORT
from tests.judge.test_statuses import HEAD, RIGHT, forward, top

BEFORE = ["fill", "poison", "flush", "go"]
WORKER = {"cpu": ["start", "call", "end", "sync", "seal"],
          "cuda": ["spin", "start", "call", "end", "sync", "seal"]}  # fmt: skip
AFTER = ["done", "probe"]

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
        ],
    ),
]


@pytest.mark.parametrize("device", DEVICES)
def test_every_trial_goes_in_this_order(monkeypatch, tmp_path, device):
    seen = []
    original = Desk.trial

    def watched(self, call, patience):
        trial = original(self, call, patience)
        assert not isinstance(trial, Failed)
        seen.append((call, trial.steps))
        return trial

    monkeypatch.setattr(Desk, "trial", watched)
    path = tmp_path / "solution.py"
    path.write_text(HEAD + RIGHT)
    with api.open(device=device, trials=12, checks=3) as judge:
        record = judge.evaluate(AFFINE, path)
    assert record.verdict.status.value == "passed", record.verdict
    assert len(seen) > 2 * (3 + 3 + 12)
    for call, steps in seen:
        worker = [one for one in WORKER[device] if one != "spin" or call.spin_ms > 0]
        judged = list(steps[len(BEFORE) + len(worker) + len(AFTER) :])
        assert list(steps[: len(BEFORE)]) == BEFORE
        assert list(steps[len(BEFORE) : len(BEFORE) + len(worker)]) == worker
        assert list(steps[len(BEFORE) + len(worker) :][:2]) == AFTER
        # every chunk is copied to private memory before its truth exists
        assert judged == ["copy", "truth"] * (judged.count("truth")) + ["compare"]
        assert judged.count("truth") >= 1


def test_no_trial_has_the_inputs_of_another(monkeypatch, tmp_path):
    """Fresh values every time: seeds, digests and address sets."""
    digests, sets = [], []
    original = Desk.trial

    def watched(self, call, patience):
        trial = original(self, call, patience)
        shared = self.arena.sets[call.set][0]
        digests.append(hash(shared.tensor.numpy().tobytes()))
        sets.append(call.set)
        return trial

    monkeypatch.setattr(Desk, "trial", watched)
    path = tmp_path / "solution.py"
    path.write_text(HEAD + RIGHT)
    with api.open(device="cpu", trials=20, checks=3) as judge:
        judge.evaluate(AFFINE, path)
    assert len(set(digests)) == len(digests)
    assert set(sets) == {0, 1}


def test_the_timed_blocks_hold_a_secret_share_of_the_deciding_family(bench):
    record = bench.evaluate(HEAD + RIGHT)
    families = [block.family for block in record.timing.blocks]
    assert len(record.timing.samples_ms) == 10
    assert families.count("zero_mean") == 1
    assert families.count("declared") == 1


def test_a_worker_is_told_neither_seeds_nor_tolerances_nor_expected_outputs(monkeypatch, tmp_path):
    said = []
    original = Desk.ask

    def watched(self, kind, request, patience, descriptors=()):
        said.append(str(request))
        return original(self, kind, request, patience, descriptors)

    monkeypatch.setattr(Desk, "ask", watched)
    path = tmp_path / "solution.py"
    path.write_text(HEAD + RIGHT)
    with api.open(device="cpu", trials=5, checks=3, deadlines_s=SHORT) as judge:
        record = judge.evaluate(AFFINE, path)
    everything = " ".join(said)
    assert record.seeds.inputs not in everything
    assert record.seeds.forward not in everything
    assert "budget" not in everything
    assert "zero_mean" not in everything
    assert "get_inputs" not in everything


def test_the_environment_of_a_worker_is_an_allow_list(bench, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "secret")
    bench.judge._session._forget_servers()
    code = """
    import os
    assert "MY_API_KEY" not in os.environ
    assert "secret" not in open("/proc/self/environ").read()
    import sys
    assert sys.flags.isolated and "" not in sys.path and os.getcwd() not in sys.path
    assert not any("harness" in arg for arg in sys.argv[1:])
    """
    assert bench.outcome(top(code)) == ("passed", None, None)


def test_inputs_cannot_be_written_by_any_way_of_opening_them_again(bench):
    """The seal is on the file, not on the mapping: a second mapping is refused as well."""
    code = """
    import os, mmap
    found = []
    for name in os.listdir("/proc/self/map_files"):
        target = os.readlink("/proc/self/map_files/" + name)
        if "memfd:tensor" in target:
            start, end = (int(part, 16) for part in name.split("-"))
            fd = os.open("/proc/self/map_files/" + name, os.O_RDWR)
            try:
                mmap.mmap(fd, end - start, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
                opened = True
            except PermissionError:
                opened = False
            try:
                os.ftruncate(fd, 0)
                raise AssertionError("truncated")
            except PermissionError:
                pass
            found.append(opened)
    # two address sets are sealed against writing, the output and nothing else is not
    assert found.count(False) == 2 and found.count(True) == 1, found
    return y
    """
    assert bench.outcome(forward(code)) == ("passed", None, None)


def test_warm_up_and_checks_are_counted(bench):
    record = bench.evaluate(HEAD + RIGHT)
    assert record.precision.checks == 3
    assert record.timing.warmup == evaluations.WARMUP + 2  # one more call for each of two blocks
