from __future__ import annotations

import pytest

from harness.faults import UsageError
from harness.spec import hardware
from harness.spec.strict_yaml import load

BANDWIDTHS = {  # GB/s, as the project's facts list them
    "NVIDIA H100 80GB HBM3": 3350,
    "NVIDIA H100 PCIe": 2000,
    "NVIDIA H200": 4800,
    "NVIDIA A100-SXM4-80GB": 2039,
    "NVIDIA A100-SXM4-40GB": 1555,
    "NVIDIA L40S": 864,
    "NVIDIA L4": 300,
    "NVIDIA A10G": 600,
    "Tesla T4": 320,
    "NVIDIA GeForce RTX 4090": 1008,
    "NVIDIA GeForce RTX 3090": 936,
    "NVIDIA B200": 8000,
}


@pytest.mark.parametrize(("device", "gbps"), BANDWIDTHS.items())
def test_a_device_is_known_by_the_name_that_it_calls_itself(device, gbps):
    row = hardware.of_device(device)
    assert row is not None
    assert row.bandwidth_gbps == gbps


def test_a_device_that_is_not_in_the_file_has_no_row():
    assert hardware.of_device("NVIDIA H100") is None


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("H100 SXM", "H100 SXM"),
        ("h100 s", "H100 SXM"),
        ("H200", "H200"),  # a row's own name, though another begins with it
        ("H200 N", "H200 NVL"),
        ("RTX 4", "RTX 4090"),
        (" T4 ", "T4"),
    ],
)
def test_a_row_answers_to_its_name_and_to_an_unambiguous_start(name, row):
    assert hardware.find(name).name == row


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("H100", "found 'H100', which fits 3 rows; wanted one of H100 SXM, H100 PCIe, H100 NVL"),
        ("H20O", "found 'H20O'; wanted a row of harness/spec/hardware.yaml; did you mean 'H200'?"),
        ("", "found ''; wanted a row of harness/spec/hardware.yaml; valid: H200"),
    ],
)
def test_an_unknown_row_is_one_line_with_the_nearest(name, said):
    with pytest.raises(UsageError) as refused:
        hardware.find(name)
    assert str(refused.value).startswith(f"--hardware: {said}")


@pytest.mark.parametrize("row", hardware.everything(), ids=lambda row: row.name)
def test_every_row_names_its_source_and_keeps_peaks_in_order(row):
    assert any(word in row.source for word in ("datasheet", "whitepaper", "brief"))
    peaks = row.peaks_tflops
    assert peaks.fp32 is not None
    if peaks.tf32 is not None:
        assert peaks.fp32 <= peaks.tf32 < (peaks.bf16 or 0)
    assert peaks.bf16 in (None, peaks.fp16)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("X: 5", "t.yaml: X: found no row"),
        ("X: {name: Y}", "t.yaml: X: found no row"),
        ("X: {devices: [x]}", "t.yaml: X: bandwidth_gbps: found nothing; wanted this key"),
        (
            "X: {devices: [x], bandwidth_gbps: 0, peaks_tflops: {}, source: s}",
            "t.yaml: X: bandwidth_gbps: found 0; wanted above 0",
        ),
        (
            "X: {devices: [x], bandwidth_gbps: 1, peaks_tflops: {fp23: 1}, source: s}",
            "t.yaml: X: peaks_tflops.fp23: found an unknown key; did you mean 'fp32'?",
        ),
        (
            "X: {devices: [x, x], bandwidth_gbps: 1, peaks_tflops: {}, source: s}",
            "t.yaml: devices: found 'x' twice",
        ),
    ],
)
def test_a_bad_row_that_someone_adds_is_one_line(text, said):
    with pytest.raises(UsageError) as refused:
        hardware.parse(load(text, "t.yaml"), "t.yaml")
    assert str(refused.value).startswith(said)
