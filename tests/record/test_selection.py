"""Which records somebody means: by a problem's name or number, by a device's name or start."""

import pytest

from harness.faults import UsageError
from harness.record import selection
from tests.record import examples
from tests.spec.conftest import CONVOLUTION

DEVICES = ("NVIDIA H200", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3", "AMD EPYC")


def on(asked):
    records = [examples.record(environment=examples.environment(device=one)) for one in DEVICES]
    return [one.environment.device for one in selection.on_hardware(records, asked)]


@pytest.mark.parametrize(
    ("asked", "devices"),
    [
        ("H200", ["NVIDIA H200"]),  # a whole name is not also the start of another
        ("nvidia h200", ["NVIDIA H200"]),
        ("H20", ["NVIDIA H200", "NVIDIA H200 NVL"]),
        ("H100 SXM", ["NVIDIA H100 80GB HBM3"]),  # by its row in hardware.yaml
        ("amd", ["AMD EPYC"]),
        ("A100", []),  # known, and without records
    ],
)
def test_a_device_is_named_whole_or_by_its_start(asked, devices):
    assert on(asked) == devices


@pytest.mark.parametrize("asked", ["", " ", "H2O0", "EPYC 7"])
def test_unknown_hardware_is_a_usage_error_with_the_names_that_exist(asked):
    with pytest.raises(UsageError) as refusal:
        on(asked)
    assert "AMD EPYC" in str(refusal.value)


def test_a_problem_is_named_as_its_records_name_it_or_as_the_repository_does(tmp_path):
    folder = tmp_path / "problems" / "level1"
    folder.mkdir(parents=True)
    (folder / "87_conv_pointwise_2D.py").write_text(CONVOLUTION)
    ours = examples.record()
    gone = examples.record(problem=examples.problem(name="3_gone", number=3))
    for query, found in {
        "1/87": [ours],
        "87_conv_pointwise_2D": [ours],
        "87": [ours],
        "problems": [ours],
        "3_gone": [gone],
        "1/3": [gone],
    }.items():
        assert selection.of_problem([ours, gone], query, tmp_path) == found
    with pytest.raises(UsageError, match="found '4_gone'"):
        selection.of_problem([ours, gone], "4_gone", tmp_path)
