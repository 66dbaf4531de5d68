"""Global switches are noted around import and calls, and reach neither judge nor baseline."""

import pytest
import torch

from tests.judge.test_statuses import HEAD, RIGHT, forward, top

CHANGES = {
    "deterministic": ("torch.use_deterministic_algorithms(True)", "True"),
    "cudnn_enabled": ("torch.backends.cudnn.enabled = False", "False"),
    "cudnn_benchmark": ("torch.backends.cudnn.benchmark = True", "True"),
    "matmul_precision": ("torch.set_float32_matmul_precision('medium')", "medium"),
    "threads": ("torch.set_num_threads(1)", "1"),
    "mkldnn_enabled": ("torch.backends.mkldnn.set_flags(False)", "False"),
    "anomaly_detection": ("torch.autograd.set_detect_anomaly(True, check_nan=False)", "True"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_switch_changed_at_import_is_noted_and_passes(bench, name):
    code, value = CHANGES[name]
    before = torch.are_deterministic_algorithms_enabled()
    record = bench.evaluate(top(code))
    assert record.verdict.status.value == "passed", record.verdict
    assert record.environment.flags[f"{name} after import"] == value
    assert torch.are_deterministic_algorithms_enabled() is before
    clean = bench.evaluate(HEAD + RIGHT).environment.flags
    assert f"{name} after import" not in clean
    assert clean[name] != value


def test_a_switch_changed_by_a_call_is_noted_as_such(bench):
    record = bench.evaluate(forward("torch.backends.cudnn.benchmark = True\nreturn y"))
    assert record.environment.flags["cudnn_benchmark after calls"] == "True"
    assert "cudnn_benchmark after import" not in record.environment.flags


def test_about_twenty_switches_are_read_and_none_makes_a_verdict(bench):
    flags = bench.evaluate(HEAD + RIGHT).environment.flags
    assert len(flags) >= 20
    broken = bench.evaluate(top("torch.get_default_dtype = None"))
    assert broken.verdict.status.value == "passed"


def test_tf32_switches_of_a_candidate_change_no_verdict(bench):
    code = "torch.backends.cuda.matmul.fp32_precision = 'tf32'"
    record = bench.evaluate(top(code))
    assert record.verdict.status.value == "passed"
    assert record.environment.flags["cuda_matmul_fp32_precision after import"] == "tf32"
