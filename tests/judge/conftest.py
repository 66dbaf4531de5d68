"""Judges on the CPU that are kept over a module: a fork server takes a second to start."""

from pathlib import Path

import pytest

from harness import api

DATA = Path(__file__).resolve().parent.parent / "data"
AFFINE = str(DATA / "affine.py")
SHORT = {"load": 4, "build": 4, "prepare": 4, "check": 4, "time": 20}


class Bench:
    """Evaluates a text as a solution and gives its record."""

    def __init__(self, judge, folder):
        self.judge, self.folder, self.count = judge, folder, 0

    def evaluate(self, source, problem=AFFINE):
        self.count += 1
        path = self.folder / f"solution_{self.count}.py"
        path.write_text(source)
        return self.judge.evaluate(problem, path)

    def outcome(self, source, problem=AFFINE):
        verdict = self.evaluate(source, problem).verdict
        return verdict.status.value, verdict.phase and verdict.phase.value, verdict.reason


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with api.open(device="cpu", trials=10, checks=3, deadlines_s=SHORT) as judge:
        yield Bench(judge, tmp_path_factory.mktemp("solutions"))
