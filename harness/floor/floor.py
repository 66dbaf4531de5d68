"""The floor: the least time that the hardware allows for a workload.

Owns the formula and what it assumes. An estimate, not evidence: datasheet rates are never quite
reached, and whether a tensor must be read as a whole is taken on trust.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from harness.faults import UsageError
from harness.floor.traffic import Policy, Traffic, traffic
from harness.spec.hardware import Hardware, Peaks
from harness.spec.nearest import nearest
from harness.spec.tensor import Signature

Precision = Literal["fp32", "tf32", "fp16", "bf16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
Bound = Literal["memory", "compute"]

TF32_PARTS = 3  # products of TF32 parts that reach fp32 (two parts each, the smallest left out)
BF16_PARTS = 6  # products of bf16 parts that do (three parts each, the smallest left out)
IMPOSSIBLE = 0.98  # of the floor by bytes: 2 % for clocks and datasheets that round


@dataclass(frozen=True)
class Floor:
    """Least time in ms, and everything that it was computed from.

    `hardware` is None and `measured_gbps` set where the bandwidth was measured, not looked up;
    `peak_tflops` is None where no peak is known, and arithmetic then counts for nothing.
    """

    policy: Policy
    bytes: int
    flops: int
    floor_ms: float
    bound: Bound
    bandwidth_gbps: float
    peak_tflops: float | None
    measured_gbps: float | None
    hardware: str | None
    source: str
    assumptions: tuple[str, ...]


def precision_named(name: str, *, where: str = "--class") -> Precision:
    """Return the class of that name, `auto` being tf32; UsageError with the nearest one."""
    if name == "auto":
        return "tf32"  # what fp32 problems are asked for, as eager itself computes in TF32
    if name not in PRECISIONS:
        remedy = nearest(name, PRECISIONS)
        raise UsageError(where, found=repr(name), wanted="a class", remedy=remedy)
    return cast("Precision", name)


def floor(
    signature: Signature,
    hardware: Hardware,
    *,
    policy: Policy = "complete-v2",
    precision: Precision = "tf32",
) -> Floor:
    """Return the floor on a device of `hardware.yaml` for outputs of class `precision`."""
    moved = traffic(signature, policy)
    peak = None if policy == "headroom-v1" else class_peak(hardware.peaks_tflops, precision)
    rate = f"{hardware.bandwidth_gbps:,g} GB/s, {hardware.name} datasheet"
    floor_ms, bound = _least(moved, hardware.bandwidth_gbps, peak)
    return Floor(
        policy=policy,
        bytes=moved.bytes,
        flops=moved.flops,
        floor_ms=floor_ms,
        bound=bound,
        bandwidth_gbps=hardware.bandwidth_gbps,
        peak_tflops=peak,
        measured_gbps=None,
        hardware=hardware.name,
        source=hardware.source,
        assumptions=(_crossing(moved, rate), _arithmetic(policy, peak, precision)),
    )


def floor_from_ceiling(
    signature: Signature, gbps: float, *, source: str, policy: Policy = "complete-v2"
) -> Floor:
    """Return the floor at a bandwidth measured on this machine; no peak, so bytes alone."""
    moved = traffic(signature, policy)
    floor_ms, bound = _least(moved, gbps, None)
    return Floor(
        policy=policy,
        bytes=moved.bytes,
        flops=moved.flops,
        floor_ms=floor_ms,
        bound=bound,
        bandwidth_gbps=gbps,
        peak_tflops=None,
        measured_gbps=gbps,
        hardware=None,
        source=source,
        assumptions=(
            _crossing(moved, f"{gbps:,.4g} GB/s, measured here"),
            "no peak is known: bandwidth only",
        ),
    )


def class_peak(peaks: Peaks, precision: Precision) -> float | None:
    """Return TFLOP/s of the fastest known route to outputs of that class, None if unknown.

    A class includes the tighter ones. For fp32 that is the largest of plain fp32, a third of TF32
    and a sixth of bf16: split products reach fp32 on tensor cores. fp16 is no route to tf32: its
    range is smaller.
    """
    routes: dict[str, list[float | None]] = {
        "fp32": [peaks.fp32, _part(peaks.tf32, TF32_PARTS), _part(peaks.bf16, BF16_PARTS)],
        "tf32": [peaks.tf32],
        "fp16": [peaks.fp16],
        "bf16": [peaks.bf16],
    }
    tightest_first = ("fp32", "tf32", "fp16", "bf16")
    taken = tightest_first[: tightest_first.index(precision) + 1]
    known = [rate for name in taken for rate in routes[name] if rate is not None]
    return max(known, default=None)


def impossible_ms(found: Floor, hardware: Hardware | None, *, warm: bool = False) -> float | None:
    """Return the time in ms below which bytes cannot have crossed memory, None where it is open.

    By bytes alone, less what the last-level cache may still hold of the outputs (and, warm, of the
    inputs), at datasheet bandwidth less 2 %. None for a measured bandwidth, for an unknown cache
    and for a workload that fits the cache.
    """
    if hardware is None or hardware.l2_bytes is None:
        return None
    kept = hardware.l2_bytes * (2 if warm else 1)
    if found.bytes <= kept:
        return None
    return _bytes_ms(found.bytes - kept, hardware.bandwidth_gbps) * IMPOSSIBLE


def _part(rate: float | None, parts: int) -> float | None:
    return None if rate is None else rate / parts


def _least(moved: Traffic, gbps: float, peak: float | None) -> tuple[float, Bound]:
    memory_ms = _bytes_ms(moved.bytes, gbps)
    compute_ms = moved.flops / (peak * 1e9) if peak else 0.0  # 1e12 a second, 1e3 ms in one
    return (compute_ms, "compute") if compute_ms > memory_ms else (memory_ms, "memory")


def _bytes_ms(count: int, gbps: float) -> float:
    return count / (gbps * 1e6)  # 1e9 bytes a second, 1e3 ms in one


def _crossing(moved: Traffic, rate: str) -> str:
    return f"{', '.join(moved.parts)} cross memory exactly once ({rate})"


def _arithmetic(policy: Policy, peak: float | None, precision: Precision) -> str:
    if policy == "headroom-v1":
        return "no arithmetic: bandwidth only"
    if peak is None:
        return f"no peak of class {precision} is known: bandwidth only"
    return f"every operation at the fastest route to class {precision} ({peak:,.4g} TFLOP/s)"
