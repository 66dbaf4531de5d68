from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import units


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (3.846249, "3.85 ms"),
        (1.282080, "1.28 ms"),
        (10.12, "10.1 ms"),
        (152.3, "152 ms"),
        (0.1, "0.100 ms"),
        (0.0061, "6.10 µs"),
        (0.09996, "0.100 ms"),
        (0.0000012, "1.20 ns"),
        (999.6, "1.00 s"),
        (43_000, "43.0 s"),
        (0, "0 ms"),
    ],
)
def test_times_have_three_digits_and_the_unit_that_suits_them(ms, shown):
    assert units.milliseconds(ms) == shown


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: units.seconds(0.16), "160 ms"),
        (lambda: units.seconds(3.9), "3.90 s"),
        (lambda: units.gigabytes(12_884_934_656), "12.9 GB"),
        (lambda: units.gigabytes(32_768), "32.8 kB"),
        (lambda: units.gigabytes(0), "0 B"),
        (lambda: units.gigabytes(141_000_000_000), "141 GB"),
        (lambda: units.gbps(3350), "3,350 GB/s"),
        (lambda: units.gbps(864.25), "864 GB/s"),
        (lambda: units.tflops(494.7), "495 TFLOP/s"),
        (lambda: units.operations(274_877_906_944), "275 GFLOP"),
        (lambda: units.operations(12), "12.0 FLOP"),
        (lambda: units.ratio(1.2117), "1.21×"),
        (lambda: units.ratio(10.456), "10.5×"),
        (lambda: units.ratio(368.2), "368×"),
        (lambda: units.ratio(0.061), "0.0610×"),
        (lambda: units.percent(0.09), "9.00 %"),
        (lambda: units.interval(3.52, 3.55, 3.54), "3.54 ms ± 0.02"),
        (lambda: units.interval(0.0060, 0.0062, 0.0061), "6.10 µs ± 0.10"),
        (lambda: units.interval(3.54, 3.54, 3.54), "3.54 ms ± 0.000"),
    ],
)
def test_every_quantity_is_scaled_here_and_shown_with_its_unit(call, shown):
    assert call() == shown


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_what_is_shown_is_within_half_a_percent_of_the_value(ms):
    number, unit = units.milliseconds(ms).replace(",", "").split()
    factor = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}[unit]
    assert math.isclose(float(number) * factor, ms, rel_tol=0.0051)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_value_that_is_no_number_does_not_crash_a_table(value):
    assert units.milliseconds(value)
    assert units.ratio(value)
