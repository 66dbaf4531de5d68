from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.solutions.loading import every_solution

TRITON = [(number, stem) for number, stem in every_solution() if stem.startswith("triton")]
# Several times the rounding of fp32 sums over a few hundred terms; TF32 would err by 3e-4.
FP32_NOISE = 1e-6


@pytest.mark.parametrize(("number", "stem"), TRITON)
def test_every_triton_solution_is_right_in_the_interpreter_at_odd_sizes(number, stem):
    script = Path(__file__).with_name("interpreted.py")
    ended = subprocess.run(
        [sys.executable, "-W", "error", script, number, stem],
        capture_output=True,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(rows) >= 5
    for row in rows:
        assert row["error"] < FP32_NOISE, row
        assert row["error_after_loading_again"] < FP32_NOISE, row
        assert (row["shape"], row["contiguous"], row["inputs_kept"]) == (True, True, True), row
        assert row["dtype"] == "torch.float32", row
