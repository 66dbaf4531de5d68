"""Precision classes: how operands are rounded, and how much error a class is allowed.

A class is the accuracy that the outputs reached, not the arithmetic that was used. For tf32, fp16
and bf16 the native error is what the fp64 computation gives when its operands are first rounded to
the class: pure arithmetic, the same on every machine. For fp32 it is the measured error of the
reference in true fp32. Budget = c × native error + a few ulp of the output's dtype.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

CLASSES = ("fp32", "tf32", "fp16", "bf16")  # from tight to loose
# Measured in simulation (worst metric over native): TF32 rounding 1.0, truncating 2.6 to 2.8, any
# bf16 operand 5.7 to 9.5, so 4 stands between; for fp32 splits in three TF32 or six bf16 parts 1.0
# to 1.2, a naive sequential sum over 4,096 terms 10.5, three bf16 parts 17 to 52, so 12 does.
MARGIN = {"fp32": 12.0, "tf32": 4.0, "fp16": 4.0, "bf16": 4.0}
ULPS = 4.0  # the output's own rounding, and one more operation after it
SMALL = 4096  # below this many output elements one call's error is a lucky draw
SMALL_DRAWS = 64  # so native error is the rms over this many
POOLED = 24  # calls of one family whose rms counts by itself: of fewer it is a lucky draw still
SINGLE = 4.0  # and the worst single call of a small output stays within this many times the budget

_KEPT_BITS = {"tf32": 10, "fp16": 10, "bf16": 7}  # explicit mantissa bits


def rounded(x: torch.Tensor, class_: str) -> torch.Tensor:
    """`x` (any float) rounded to the nearest value of the class, in x's dtype."""
    if not x.is_floating_point():
        return x
    if class_ == "fp16":
        return x.to(torch.float16).to(x.dtype)
    if class_ == "bf16":
        return x.to(torch.bfloat16).to(x.dtype)
    drop = 23 - _KEPT_BITS[class_]
    bits = x.to(torch.float32).contiguous().view(torch.int32)
    even = (bits >> drop) & 1
    kept = (bits + (1 << (drop - 1)) - 1 + even) & ~((1 << drop) - 1)
    found = kept.view(torch.float32)
    return torch.where(torch.isfinite(x), found.to(x.dtype), x)


def truncated(x: torch.Tensor, class_: str) -> torch.Tensor:
    """`x` with the bits below the class's mantissa cut off, as tensor cores do with fp32."""
    if not x.is_floating_point():
        return x
    drop = 23 - _KEPT_BITS[class_]
    bits = x.to(torch.float32).contiguous().view(torch.int32)
    return (bits & ~((1 << drop) - 1)).view(torch.float32).to(x.dtype)


@dataclass(frozen=True)
class Errors:
    """Of one output against its truth: the three metrics, and whether finite masks were equal.

    `rel_l2` is over the whole output, `max_abs` the worst element over the output's rms,
    `worst_block` the worst block's relative error. `peak` is the largest element over the rms.
    """

    rel_l2: float
    max_abs: float
    worst_block: float
    peak: float
    masks_equal: bool
    numel: int

    @property
    def metrics(self) -> tuple[float, float, float]:
        """The three metrics in their order."""
        return (self.rel_l2, self.max_abs, self.worst_block)


METRICS = ("rel_l2", "max_abs", "worst_block")


@dataclass(frozen=True)
class Budget:
    """What a class allows on one family, one number a metric; infinite where it cannot judge."""

    rel_l2: float
    max_abs: float
    worst_block: float

    @property
    def metrics(self) -> tuple[float, float, float]:
        """The three metrics in their order."""
        return (self.rel_l2, self.max_abs, self.worst_block)


def budget(class_: str, natives: Iterable[Errors], eps: float) -> Budget:
    """From the native errors of one family (the larger counts), and the output dtype's `eps`.

    Several draws of one way of rounding are pooled before by `pooled`. A class whose native error
    is not finite on a family (fp16 overflows) is not judged there.
    """
    found = []
    natives = list(natives)
    for index in range(3):
        native = max(one.metrics[index] if one.masks_equal else math.inf for one in natives)
        peak = max(one.peak for one in natives)
        # the element with the largest value is rounded at its own size, not at the rms
        ulps = ULPS * eps * (max(1.0, peak) if index == 1 else 1.0)
        found.append(MARGIN[class_] * native + ulps)
    return Budget(*found)


def nested(budgets: dict[str, Budget]) -> dict[str, Budget]:
    """Each class allows at least what the tighter ones do, where those judge at all.

    On some values the operands' rounding does not show (a softmax of tiny ones), so that a looser
    class's native error lies below the reference's own in fp32.
    """
    found: dict[str, Budget] = {}
    for class_ in CLASSES:
        tighter = [one for one in found.values() if math.inf not in one.metrics]
        columns = zip(budgets[class_].metrics, *(one.metrics for one in tighter), strict=True)
        found[class_] = Budget(*(max(column) for column in columns))
    return found


def pooled(draws: list[Errors]) -> Errors:
    """The rms of each metric over several draws."""
    if len(draws) == 1:
        return draws[0]
    rms = [math.sqrt(sum(one.metrics[i] ** 2 for one in draws) / len(draws)) for i in range(3)]
    peak = max(one.peak for one in draws)
    equal = all(one.masks_equal for one in draws)
    return Errors(rms[0], rms[1], rms[2], peak, equal, draws[0].numel)


def usage(errors: Errors, allowed: Budget) -> float:
    """Worst metric over its budget: within it up to 1; NaN and unequal masks count as infinite."""
    if not errors.masks_equal:
        return 0.0 if math.inf in allowed.metrics else math.inf
    worst = 0.0
    for found, limit in zip(errors.metrics, allowed.metrics, strict=True):
        if math.isinf(limit):
            continue
        if not found <= limit * 1e9:  # NaN too
            return math.inf
        worst = max(worst, found / limit) if limit > 0 else (worst if found == 0 else math.inf)
    return worst


def loosest(several: Sequence[dict[str, Budget]]) -> dict[str, Budget]:
    """The largest of each number over the outputs of one call, for the record."""
    return {
        class_: Budget(*map(max, zip(*(one[class_].metrics for one in several), strict=True)))
        for class_ in CLASSES
    }


class Ledger:
    """Which classes the calls so far are within; small outputs are judged by the rms of calls."""

    def __init__(self, *, small: bool) -> None:
        self._small = small
        self._used: dict[str, list[float]] = {class_: [] for class_ in CLASSES}
        self._judged: set[str] = set()
        self._families: list[str] = []  # of the calls, in their order

    def add(self, errors: Errors, budgets: dict[str, Budget]) -> None:
        """One more call with one output, on a family with these budgets."""
        self.add_outputs([errors], [budgets])

    def add_outputs(
        self,
        errors: Sequence[Errors],
        budgets: Sequence[dict[str, Budget]],
        family: str = "",
    ) -> None:
        """One more call; each output has budgets of its own, and the worst of them counts."""
        self._families.append(family)
        pairs = list(zip(errors, budgets, strict=True))
        for class_ in CLASSES:
            self._used[class_].append(max(usage(one, own[class_]) for one, own in pairs))
            if all(math.inf not in own[class_].metrics for _, own in pairs):
                self._judged.add(class_)

    def rms(self, class_: str) -> float:
        """Of the calls' shares of their budgets, over all, or over the worst family of many calls.

        A family with a wide budget must not thin out the error on one with a narrow budget.
        """
        used = self._used[class_]
        groups = [used]
        for family in set(self._families):
            own = [one for one, of in zip(used, self._families, strict=True) if of == family]
            groups += [own] if len(own) >= POOLED else []
        return max((_rms(one) for one in groups if one), default=0.0)

    def within(self, class_: str) -> bool:
        """Whether every call was within the class, and at least one family could tell."""
        used = self._used[class_]
        if used and class_ not in self._judged:
            return False
        if not self._small:
            return all(one <= 1.0 for one in used)
        return self.rms(class_) <= 1.0 and all(one <= SINGLE for one in used)

    def hopeless(self, class_: str) -> bool:
        """Whether no further call can bring the class back."""
        limit = SINGLE if self._small else 1.0
        return not self._used[class_][-1] <= limit

    def reached(self, asked: str) -> str | None:
        """The tightest class that holds, None if not even `asked` does."""
        for class_ in CLASSES[: CLASSES.index(asked) + 1]:
            if self.within(class_):
                return class_
        return None


def _rms(values: Sequence[float]) -> float:
    return math.sqrt(sum(one * one for one in values) / len(values))
