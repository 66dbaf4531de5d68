"""Numbers for people: the only place that scales one or gives it a unit.

Inside, times are milliseconds, sizes bytes, operations plain counts. Three significant digits
throughout: a GPU's timing repeats itself no better. Knows nothing of what a number means.
"""

from __future__ import annotations

import math

_TIMES = ((1e-3, "ns", 1e6), (0.1, "µs", 1e3), (1e3, "ms", 1.0), (math.inf, "s", 1e-3))
_BYTES = ((1e3, "B", 1.0), (1e6, "kB", 1e-3), (1e9, "MB", 1e-6), (math.inf, "GB", 1e-9))
_COUNTS = ((1e3, "", 1.0), (1e6, "k", 1e-3), (1e9, "M", 1e-6), (1e12, "G", 1e-9))
_DIGITS = 3  # of a value below 1,000; larger ones keep all digits before the point


def milliseconds(ms: float) -> str:
    """`3.54 ms`; under 0.1 ms in µs, from 1,000 ms in s."""
    return _scaled(ms, _TIMES)


def seconds(s: float) -> str:
    """`0.16 s` in the unit that suits it."""
    return milliseconds(s * 1e3)


def interval(low_ms: float, high_ms: float, around_ms: float) -> str:
    """`3.54 ms ± 0.02`: the wider side of the interval, in the unit of the middle."""
    half = max(high_ms - around_ms, around_ms - low_ms, 0.0)
    _, factor = _unit(around_ms, _TIMES)
    return f"{milliseconds(around_ms)} ± {_margin(half * factor)}"


def gigabytes(count: int) -> str:
    """`12.9 GB` (decimal); smaller ones in MB, kB or B."""
    return _scaled(float(count), _BYTES) if count else "0 B"


def gbps(rate: float) -> str:
    """`3,350 GB/s`."""
    return f"{digits(rate)} GB/s"


def tflops(rate: float) -> str:
    """`495 TFLOP/s`."""
    return f"{digits(rate)} TFLOP/s"


def operations(count: int) -> str:
    """`275 GFLOP`."""
    prefixes = (*_COUNTS, (math.inf, "T", 1e-12))
    unit, factor = _unit(float(count), prefixes)
    return f"{digits(count * factor)} {unit}FLOP"


def ratio(value: float) -> str:
    """`1.21×`."""
    return f"{digits(value)}×"


def percent(share: float) -> str:
    """`9.00 %` of a share between 0 and 1."""
    return f"{digits(share * 100)} %"


def digits(value: float) -> str:
    """Three significant digits, never with an exponent: `0.0610`, `1.21`, `368`, `3,350`."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{_DIGITS}g}")
    if abs(rounded) >= 10**_DIGITS:
        return f"{value:,.0f}"
    decimals = _DIGITS - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{decimals}f}"


def _margin(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.3f}"  # what the middle can show


def _unit(value: float, steps: tuple[tuple[float, str, float], ...]) -> tuple[str, float]:
    """Return the unit of the first step that `value`, as rounded for people, lies below."""
    rounded = abs(float(f"{value:.{_DIGITS}g}"))
    suiting = ((unit, factor) for limit, unit, factor in steps if rounded < limit)
    return next(suiting, steps[-1][1:])


def _scaled(value: float, steps: tuple[tuple[float, str, float], ...]) -> str:
    if value == 0:
        return f"0 {steps[-2][1]}"
    unit, factor = _unit(value, steps)
    return f"{digits(value * factor)} {unit}"
