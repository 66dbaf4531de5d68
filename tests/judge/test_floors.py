"""The floor of the device that judges: its datasheet's row, a measured copy, or none and a word."""

import types

import pytest
import torch

from harness.judge.floors import Floors
from harness.spec.tensor import Signature, TensorSpec

BIG = 1 << 28
SIGNATURE = Signature(
    (TensorSpec("x", (BIG,), "float32"),), (TensorSpec("y", (BIG,), "float32"),), (), 0, ()
)


@pytest.fixture
def device(monkeypatch):
    """A CUDA device by name only: nothing of it is used but what torch says of it."""

    def named(name, l2):
        properties = types.SimpleNamespace(L2_cache_size=l2)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
        return torch.device("cuda", 0)

    return named


def test_a_gpu_that_is_not_in_the_table_is_named_with_the_file_and_goes_without_a_floor(device):
    said = []
    floors = Floors(device("NVIDIA Unheard-Of 9000", 1 << 20), said.append)
    assert floors.of(SIGNATURE, "tf32") is None
    assert len(said) == 1
    assert "NVIDIA Unheard-Of 9000" in said[0]
    assert "harness/spec/hardware.yaml" in said[0]


def test_a_known_gpu_has_its_datasheets_floor_and_its_own_cache(device):
    said = []
    floors = Floors(device("NVIDIA H200", 60 << 20), said.append)
    found = floors.of(SIGNATURE, "tf32")
    assert (found.hardware, found.bandwidth_gbps, said) == ("H200", 4800.0, [])
    assert found.floor_ms == pytest.approx(2 * 4 * BIG / 4.8e9)
    assert floors.impossible_ms(found, warm=False) < found.floor_ms


def test_a_cpus_floor_stands_on_a_copy_that_is_measured_once(monkeypatch):
    from harness.floor import ceiling

    measured = []
    monkeypatch.setattr(
        ceiling, "measure_cpu", lambda: measured.append(1) or ceiling.Ceiling(10.0, 2)
    )
    floors = Floors(torch.device("cpu"), measured.append)
    found = floors.of(SIGNATURE, "fp32")
    assert floors.of(SIGNATURE, "tf32").floor_ms == found.floor_ms
    assert measured == [1]
    assert found.hardware is None
    assert found.floor_ms == pytest.approx(2 * 4 * BIG / 1e7)
    assert floors.impossible_ms(found, warm=False) is None, "a CPU's floor quarantines nobody"


def test_the_measured_copy_of_this_machine_is_a_rate():
    from harness.floor import ceiling

    found = ceiling.measure_cpu()
    assert found.copy_gbps > 0
    assert found.threads == torch.get_num_threads()
