from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import UsageError
from harness.floor.floor import (
    class_peak,
    floor,
    floor_from_ceiling,
    impossible_ms,
    precision_named,
)
from harness.spec import hardware
from harness.spec.hardware import Peaks
from harness.spec.tensor import Signature, TensorSpec
from harness.units import milliseconds
from tests.floor.test_traffic import CONVOLUTION


@pytest.mark.parametrize(
    ("name", "policy", "shown"),
    [
        ("H100 SXM", "complete-v2", "3.85 ms"),
        ("H100 SXM", "headroom-v1", "1.28 ms"),  # as the index's own page prints it
        ("H200", "complete-v2", "2.68 ms"),
        ("H100 PCIe", "complete-v2", "6.44 ms"),
    ],
)
def test_problem_87_at_full_size_has_the_known_floors(name, policy, shown):
    found = floor(CONVOLUTION, hardware.find(name), policy=policy)
    assert milliseconds(found.floor_ms) == shown
    assert (found.bound, found.hardware) == ("memory", name)
    assert "datasheet" in found.source


def test_published_times_stand_where_they_stand_above_the_floor():
    sxm = hardware.find("H100 SXM")
    # 4.66 ms is KernelBench's eager on an H100; both ratios are the index's and ours
    assert 4.66 / floor(CONVOLUTION, sxm).floor_ms == pytest.approx(1.21, abs=0.005)
    headroom = floor(CONVOLUTION, sxm, policy="headroom-v1").floor_ms
    assert 4.66 / headroom == pytest.approx(3.63, abs=0.005)


@pytest.mark.parametrize(
    ("name", "precision", "peak"),
    [
        ("H200", "fp32", 494.7 / 3),  # split TF32 beats plain fp32, 67
        ("H200", "tf32", 494.7),
        ("H200", "bf16", 989.4),
        ("L40S", "fp32", 91.6),  # plain fp32 beats 183 / 3
        ("T4", "tf32", 8.1),  # no TF32: the tighter class's route
        ("T4", "bf16", 65.0),
    ],
)
def test_the_peak_of_a_class_is_its_fastest_known_route(name, precision, peak):
    assert class_peak(hardware.find(name).peaks_tflops, precision) == pytest.approx(peak)


def test_bf16_parts_may_be_the_fastest_route_to_fp32():
    assert class_peak(Peaks(fp32=10, tf32=20, bf16=120), "fp32") == 20


def test_an_unknown_peak_leaves_bandwidth_and_says_so():
    bare = hardware.find("H200").model_copy(update={"peaks_tflops": Peaks()})
    found = floor(replace(CONVOLUTION, flops=10**18), bare)
    assert (found.bound, found.peak_tflops) == ("memory", None)
    assert "no peak of class tf32 is known: bandwidth only" in found.assumptions


def test_by_the_plain_fp32_peak_87_would_need_more_than_split_kernels_take():
    # 4.10 ms by 67 TFLOP/s, while a kernel of six bf16 products runs in 3.66 ms on an H200
    assert CONVOLUTION.flops / 67e9 == pytest.approx(4.10, abs=0.01)
    assert floor(CONVOLUTION, hardware.find("H200"), precision="fp32").floor_ms < 3.66


def test_arithmetic_binds_where_there_is_much_of_it():
    square = TensorSpec("A", (8192, 8192), "float32")
    product = Signature((square, square), (square,), (), 2 * 8192**3, ("rand", "rand"))
    found = floor(product, hardware.find("H200"), precision="fp32")
    assert found.bound == "compute"
    assert found.floor_ms == pytest.approx(2 * 8192**3 / (494.7e12 / 3) * 1e3)
    headroom = floor(product, hardware.find("H200"), policy="headroom-v1", precision="fp32")
    assert (headroom.bound, headroom.flops, headroom.peak_tflops) == ("memory", 0, None)


def test_a_floor_says_what_it_assumes():
    found = floor(CONVOLUTION, hardware.find("H100 SXM"))
    assert found.assumptions == (
        "inputs, parameters, outputs cross memory exactly once (3,350 GB/s, H100 SXM datasheet)",
        "every operation at the fastest route to class tf32 (494.7 TFLOP/s)",
    )


def test_a_measured_bandwidth_gives_a_floor_without_a_row():
    found = floor_from_ceiling(CONVOLUTION, 20.0, source="copy, measured on this machine")
    assert (found.hardware, found.measured_gbps, found.peak_tflops) == (None, 20.0, None)
    assert found.floor_ms == pytest.approx(644.2, abs=0.1)
    assert found.bound == "memory"


@given(st.integers(1, 2**40), st.integers(0, 2**50), st.floats(1, 1e4))
def test_more_bandwidth_never_raises_a_floor(elements, flops, gbps):
    signature = Signature((TensorSpec("x", (elements,), "int8"),), (), (), flops, ("rand",))
    row = hardware.find("H200")
    slow = row.model_copy(update={"bandwidth_gbps": gbps})
    fast = row.model_copy(update={"bandwidth_gbps": gbps * 2})
    assert floor(signature, fast).floor_ms <= floor(signature, slow).floor_ms


def test_a_time_is_impossible_below_bytes_less_what_the_cache_may_hold():
    row = hardware.find("H200")
    found = floor(CONVOLUTION, row)
    limit = impossible_ms(found, row)
    assert limit == pytest.approx((12_884_934_656 - 52_428_800) / 4.8e9 * 0.98)
    assert impossible_ms(found, row, warm=True) < limit < found.floor_ms


def test_arithmetic_measured_bandwidth_and_small_workloads_make_nothing_impossible():
    row = hardware.find("H200")
    small = Signature((TensorSpec("x", (1024,), "float32"),), (), (), 10**15, ("rand",))
    assert impossible_ms(floor(small, row), row) is None
    assert impossible_ms(floor_from_ceiling(CONVOLUTION, 20.0, source="here"), None) is None
    unknown = row.model_copy(update={"l2_bytes": None})
    assert impossible_ms(floor(CONVOLUTION, unknown), unknown) is None


def test_an_unknown_class_is_one_line_with_the_nearest():
    assert (precision_named("auto"), precision_named("bf16")) == ("tf32", "bf16")
    with pytest.raises(UsageError, match="found 'tf23'; wanted a class; did you mean 'tf32'"):
        precision_named("tf23")
