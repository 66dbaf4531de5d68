"""Facts about this machine: versions, processor, device, and what NVML reads while it works.

Owns where each fact is read: versions from importlib.metadata, device facts from NVML, the
processor from /proc. Never imports torch, and knows nothing of any evaluation. A fact that cannot
be read is None.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from pydantic import JsonValue

from harness.record.schema import Clocks, EnvironmentSection

T = TypeVar("T")

# NVML's bits for why clocks are lower than they could be (nvml.h, nvmlClocksEventReason*)
_REASONS = {
    0x001: "idle",
    0x002: "clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal",
    0x040: "hw_thermal",
    0x080: "hw_power_brake",
    0x100: "display_clocks",
}
# Measurement.md 2: these discard a block; a power cap is normal at full load, idle is no throttle
DISCARDING = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"})


@dataclass(frozen=True)
class Telemetry:
    """One reading of a device: clocks in MHz, watts, degrees Celsius, and why it is held back."""

    sm_mhz: int | None
    memory_mhz: int | None
    power_w: float | None
    temperature_c: float | None
    throttle: tuple[str, ...] | None

    @property
    def discarding(self) -> bool:
        """Whether a block that was timed now must be thrown away."""
        return bool(DISCARDING.intersection(self.throttle or ()))


def version_of(package: str) -> str | None:
    """Read an installed package's version without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cuda_of_torch() -> str | None:
    """Read which CUDA torch was built for from its version file, which imports nothing."""
    try:
        file = importlib.metadata.distribution("torch").locate_file("torch/version.py")
        tree = ast.parse(Path(str(file)).read_text(encoding="utf-8"))
    except (importlib.metadata.PackageNotFoundError, OSError, SyntaxError):
        return None
    values = [node.value for node in tree.body if _assigns_cuda(node)]
    known = [value.value for value in values if isinstance(value, ast.Constant) and value.value]
    return str(known[-1]) if known else None


def _assigns_cuda(node: ast.stmt) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    if isinstance(node, ast.AnnAssign):
        targets: Sequence[ast.expr] = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    else:
        return False
    return any(isinstance(target, ast.Name) and target.id == "cuda" for target in targets)


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Read the processor's model name; its architecture where the kernel names none."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next((name for name in named if name), platform.machine() or "unknown processor")


def environment(
    device: str,
    *,
    uuid: str | None = None,
    flags: Mapping[str, JsonValue] | None = None,
    isolation: Mapping[str, JsonValue] | None = None,
    readings: Sequence[Telemetry] = (),
) -> EnvironmentSection:
    """Describe this machine as it evaluates on `device` ("cpu" or "cuda:N").

    `uuid` names the device beyond doubt where torch and NVML might count in different orders.
    """
    on_gpu = device != "cpu"
    name, memory, driver = _gpu(device, uuid) if on_gpu else (cpu_model(), _memory_bytes(), None)
    return EnvironmentSection(
        device=name,
        memory_bytes=memory,
        driver=driver,
        cuda=cuda_of_torch() if on_gpu else None,
        torch=version_of("torch"),
        triton=version_of("triton"),
        python=platform.python_version(),
        os=platform.platform(),
        flags=dict(flags or {}),
        clocks=_clocks(readings),
        power=tuple(r.power_w for r in readings if r.power_w is not None),
        temperature=tuple(r.temperature_c for r in readings if r.temperature_c is not None),
        throttle=_seen(readings),
        isolation=dict(isolation or {}),
    )


def nvml_note() -> str | None:
    """Say in one line that device facts cannot be read here, or None where they can."""
    failure = _nvml()[1]
    if failure is None:
        return None
    return f"no NVML here ({failure}): driver, clocks, power and temperature are recorded as null"


def device_names() -> tuple[str, ...]:
    """Name the GPUs that NVML sees, in its own order."""
    nvml = _nvml()[0]
    if nvml is None:
        return ()
    count = _ask(nvml, lambda: int(nvml.nvmlDeviceGetCount())) or 0
    handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    return tuple(_text(nvml.nvmlDeviceGetName(handle)) for handle in handles)


def telemetry(device: str, uuid: str | None = None) -> Telemetry | None:
    """Read clocks, power, temperature and throttling now; None on a CPU or without NVML."""
    nvml, handle = _nvml()[0], _device(device, uuid)
    if nvml is None or handle is None:
        return None
    milliwatts = _ask(nvml, lambda: float(nvml.nvmlDeviceGetPowerUsage(handle)))
    clock = nvml.nvmlDeviceGetClockInfo
    bits = _ask(nvml, lambda: int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
    return Telemetry(
        sm_mhz=_ask(nvml, lambda: int(clock(handle, nvml.NVML_CLOCK_SM))),
        memory_mhz=_ask(nvml, lambda: int(clock(handle, nvml.NVML_CLOCK_MEM))),
        power_w=None if milliwatts is None else milliwatts / 1000,
        temperature_c=_ask(
            nvml,
            lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        ),
        throttle=None if bits is None else reasons(bits),
    )


def reasons(bits: int) -> tuple[str, ...]:
    """Name the bits of NVML's throttle word, the unknown ones by their value."""
    known = [name for bit, name in _REASONS.items() if bits & bit]
    rest = bits & ~sum(_REASONS)
    return (*known, f"bit_{rest:#x}") if rest else tuple(known)


def _clocks(readings: Sequence[Telemetry]) -> tuple[Clocks, ...]:
    return tuple(
        Clocks(sm_mhz=r.sm_mhz, memory_mhz=r.memory_mhz)
        for r in readings
        if r.sm_mhz is not None and r.memory_mhz is not None
    )


def _seen(readings: Sequence[Telemetry]) -> tuple[str, ...] | None:
    known = [r.throttle for r in readings if r.throttle is not None]
    if not known:
        return None
    return tuple(sorted({reason for throttle in known for reason in throttle}))


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _gpu(device: str, uuid: str | None) -> tuple[str, int | None, str | None]:
    nvml, handle = _nvml()[0], _device(device, uuid)
    if nvml is None or handle is None:
        return device, None, None
    name = _ask(nvml, lambda: _text(nvml.nvmlDeviceGetName(handle)))
    memory = _ask(nvml, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total))
    driver = _ask(nvml, lambda: _text(nvml.nvmlSystemGetDriverVersion()))
    return name or device, memory, driver


@functools.cache
def _nvml() -> tuple[Any, str | None]:
    """Load NVML once: the bindings and None, or None and why not."""
    try:
        import pynvml
    except ImportError:
        return None, "nvidia-ml-py is not installed"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return None, str(error)
    return pynvml, None


@functools.cache
def _device(device: str, uuid: str | None) -> Any:
    """Find the NVML device that torch calls `device`, through CUDA_VISIBLE_DEVICES."""
    nvml = _nvml()[0]
    if nvml is None or device == "cpu":
        return None
    wanted = uuid or _visible(int(device.partition(":")[2] or 0))
    if wanted.isdigit():
        return _ask(nvml, lambda: nvml.nvmlDeviceGetHandleByIndex(int(wanted)))
    full = wanted if wanted.startswith(("GPU-", "MIG-")) else f"GPU-{wanted}"
    return _ask(nvml, lambda: nvml.nvmlDeviceGetHandleByUUID(full))


def _visible(ordinal: int) -> str:
    """Translate torch's ordinal into NVML's index or a UUID."""
    listed = [part.strip() for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return listed[ordinal] if ordinal < len(listed) and listed[ordinal] else str(ordinal)


def _ask(nvml: Any, question: Callable[[], T]) -> T | None:
    """Answer one NVML question, or None where this device does not know."""
    try:
        return question()
    except nvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
