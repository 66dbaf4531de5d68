"""Facts about the machine; NVML is played by a twin, because no test machine has a GPU for sure."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.record import environment as facts
from harness.record.environment import Telemetry


class FakeNVMLError(Exception):
    pass


class FakeNVML:
    """Two H200 that know everything but the temperature."""

    NVMLError = FakeNVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if index >= 2:
            raise FakeNVMLError("not found")
        return f"index {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        return uuid

    def nvmlDeviceGetName(self, handle: str) -> bytes:
        return f"NVIDIA H200 ({handle})".encode()

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(total=150_754_820_096)

    def nvmlSystemGetDriverVersion(self) -> str:
        return "570.86.15"

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 412_500

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {1: 1980, 2: 3201}[kind]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x4 | 0x40

    def nvmlDeviceGetTemperature(self, handle: str, kind: int) -> int:
        raise FakeNVMLError("not supported")


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(facts, "_nvml", lambda: (FakeNVML(), None))
    facts._device.cache_clear()
    yield
    facts._device.cache_clear()


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(facts, "_nvml", lambda: (None, "NVML Shared Library Not Found"))
    facts._device.cache_clear()
    yield
    facts._device.cache_clear()


def test_a_cpu_is_named_by_its_model_and_has_neither_driver_nor_cuda() -> None:
    found = facts.environment("cpu", flags={"threads": 2})
    assert found.device == facts.cpu_model()
    assert (found.driver, found.cuda, found.throttle) == (None, None, None)
    assert found.torch
    assert found.memory_bytes
    assert found.flags == {"threads": 2}


def test_the_processors_name_comes_from_the_kernel(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Imaginary 9000 CPU @ 3.00GHz\n")
    assert facts.cpu_model(cpuinfo) == "Imaginary 9000 CPU @ 3.00GHz"
    assert facts.cpu_model(tmp_path / "missing")


@pytest.mark.usefixtures("no_nvml")
def test_without_nvml_the_facts_are_null_and_one_line_says_so() -> None:
    found = facts.environment("cuda:0")
    assert (found.device, found.memory_bytes, found.driver) == ("cuda:0", None, None)
    assert facts.telemetry("cuda:0") is None
    assert facts.device_names() == ()
    note = facts.nvml_note()
    assert note is not None
    assert note.count("\n") == 0
    assert note.startswith("no NVML here (NVML Shared Library Not Found)")


@pytest.mark.usefixtures("nvml")
def test_with_nvml_the_device_is_described() -> None:
    reading = facts.telemetry("cuda:1")
    assert reading == Telemetry(1980, 3201, 412.5, None, ("sw_power_cap", "hw_thermal"))
    found = facts.environment("cuda:1", readings=[reading, reading])
    assert found.device == "NVIDIA H200 (index 1)"
    assert (found.memory_bytes, found.driver) == (150_754_820_096, "570.86.15")
    assert [clock.sm_mhz for clock in found.clocks] == [1980, 1980]
    assert (found.power, found.temperature) == ((412.5, 412.5), ())
    assert found.throttle == ("hw_thermal", "sw_power_cap")
    assert facts.nvml_note() is None


@pytest.mark.usefixtures("nvml")
@pytest.mark.parametrize(
    ("visible", "device", "uuid", "expected"),
    [
        ("", "cuda", None, "index 0"),
        ("1,0", "cuda:0", None, "index 1"),
        ("GPU-aa,GPU-bb", "cuda:1", None, "GPU-bb"),
        ("1", "cuda:0", "cc", "GPU-cc"),
    ],
)
def test_the_device_is_the_one_that_torch_means(
    monkeypatch: pytest.MonkeyPatch, visible: str, device: str, uuid: str | None, expected: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert facts.environment(device, uuid=uuid).device == f"NVIDIA H200 ({expected})"


@pytest.mark.parametrize(
    ("bits", "names", "discarding"),
    [
        (0x0, (), False),
        (0x1, ("idle",), False),
        (0x4, ("sw_power_cap",), False),
        (0x8, ("hw_slowdown",), True),
        (0x20, ("sw_thermal",), True),
        (0x40, ("hw_thermal",), True),
        (0x80, ("hw_power_brake",), True),
        (0x1000, ("bit_0x1000",), False),
    ],
)
def test_only_thermal_slowdown_and_power_brake_discard_a_block(
    bits: int, names: tuple[str, ...], discarding: bool
) -> None:
    assert facts.reasons(bits) == names
    assert Telemetry(None, None, None, None, facts.reasons(bits)).discarding is discarding


def test_versions_are_read_without_importing_torch() -> None:
    script = (
        "import sys; from harness.record.environment import environment; environment('cpu'); "
        "sys.exit('torch' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, check=False).returncode == 0


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert facts.version_of("no-such-package-anywhere") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cuda: Optional[str] = '12.8'\nhip = None\n", "12.8"),
        ("cuda = '13.0'\n", "13.0"),
        ("cuda: Optional[str] = None\n", None),
        ("def broken(:\n", None),
        ("version = '2.13'\n", None),
    ],
)
def test_torchs_cuda_is_read_from_its_version_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, expected: str | None
) -> None:
    (tmp_path / "version.py").write_text(text)
    distribution = SimpleNamespace(locate_file=lambda name: tmp_path / "version.py")
    monkeypatch.setattr(facts.importlib.metadata, "distribution", lambda name: distribution)
    assert facts.cuda_of_torch() == expected
