"""What each precision class allows on each family of inputs, measured on this workload.

Owns the native errors; the rule that turns them into budgets is `precision`, the truth `oracle`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.judge import precision
from harness.judge.compare import Accumulator
from harness.judge.families import DECIDING
from harness.judge.oracle import Oracle, Tensors
from harness.judge.precision import CLASSES, Budget, Errors

NATIVE_CHUNKS = 2  # of a truth of many chunks: millions of elements, the same error as the rest
# Where truth itself is fp32 (random forward) its own error cannot be measured; TF32 has 13 bits
# of mantissa less, so its native error divided by 2^13 stands for it.
FP32_FROM_TF32 = 2.0**-13


@dataclass(frozen=True)
class Output:
    """One output tensor of the workload."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def eps(self) -> float:
        """Relative spacing of the dtype; integers and booleans have to be exact."""
        return torch.finfo(self.dtype).eps if self.dtype.is_floating_point else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return int(self.dtype.itemsize) * math.prod(self.shape)


@dataclass(frozen=True)
class FamilyBudgets:
    """Budgets by class on one family, for each output; none where the reference is not `finite`.

    Each output has its own, or an ill-conditioned one would hide an error of its neighbour.
    """

    each: tuple[dict[str, Budget], ...]
    finite: bool

    @property
    def budgets(self) -> dict[str, Budget]:
        """The loosest over the outputs, for the record."""
        return precision.loosest(self.each)


def is_small(outputs: tuple[Output, ...]) -> bool:
    """Whether one call's error is a lucky draw: then several are pooled."""
    return any(math.prod(one.shape) < precision.SMALL for one in outputs)


def measure(
    oracle: Oracle,
    outputs: tuple[Output, ...],
    draw: Callable[[int], Tensors],
    family: str,
    *,
    deciding: str = DECIDING,
    draws: int | None = None,
) -> FamilyBudgets:
    """Native errors of every class over `draw(0)`, `draw(1)`, …, and the budgets that follow.

    `draws` is how many, by default one, or for a small output as many as its error needs.

    On the deciding family the native error is that of rounding; on the others the larger one of
    rounding and truncating.
    """
    ways = ["fp32", *(f"r:{one}" for one in CLASSES[1:])]
    if family != deciding:
        ways += [f"t:{one}" for one in CLASSES[1:]]
    gathered: list[dict[str, list[Errors]]] = []
    if draws is None:
        draws = precision.SMALL_DRAWS if is_small(outputs) else 1
    for number in range(draws):
        found = _one_draw(oracle, outputs, draw(number), ways)
        if found is None:
            return FamilyBudgets((), finite=False)
        gathered.append(found)
    each = []
    for index, output in enumerate(outputs):
        errors = {way: [one[way][index] for one in gathered] for way in ways}
        each.append(_of_one_output(errors, output))
    return FamilyBudgets(tuple(each), finite=True)


def either(one: FamilyBudgets, other: FamilyBudgets) -> FamilyBudgets:
    """The looser of two, number by number; not finite if one of them is not."""
    if not (one.finite and other.finite):
        return FamilyBudgets((), finite=False)
    each = tuple(precision.loosest(pair) for pair in zip(one.each, other.each, strict=True))
    return FamilyBudgets(each, finite=True)


def _of_one_output(errors: dict[str, list[Errors]], output: Output) -> dict[str, Budget]:
    """Budgets of one output from its errors in each way, one a draw.

    Integers are judged by the fp32 run in every class: rounded operands move an index anywhere, and
    a budget of that size would accept any index.
    """
    budgets = {}
    for class_ in CLASSES:
        own = [f"r:{class_}", f"t:{class_}"]
        if class_ == "fp32" or not output.dtype.is_floating_point:
            own = ["fp32"]
        natives = [precision.pooled(errors[way]) for way in own if way in errors]
        budgets[class_] = precision.budget(class_, natives, output.eps)
    return precision.nested(budgets)


def _one_draw(
    oracle: Oracle, outputs: tuple[Output, ...], tensors: Tensors, ways: list[str]
) -> dict[str, list[Errors]] | None:
    """Errors of each way and output on one draw, None where the reference is not finite."""
    out_bytes = sum(one.nbytes for one in outputs)
    chunks = list(itertools.islice(oracle.chunks(tensors, out_bytes), NATIVE_CHUNKS))
    gathered = {way: _accumulators(oracle, outputs, chunks) for way in ways}
    for chunk in chunks:
        truth = oracle.forward(chunk, 0)
        if not all(bool(torch.isfinite(one).all()) for one in truth):
            return None
        for way in ways:
            for one, leaf, true in zip(gathered[way], _run(oracle, chunk, way), truth, strict=True):
                one.add(leaf, true)
    found = {way: [one.errors() for one in gathered[way]] for way in ways}
    if oracle.kind == "fp32":
        found["fp32"] = [_fp32_from_tf32(one) for one in found["r:tf32"]]
    return found if all(one.masks_equal for one in found["fp32"]) else None


def _run(oracle: Oracle, chunk: Tensors, way: str) -> list[torch.Tensor]:
    if way == "fp32":
        return oracle.forward_fp32(chunk, 0)
    return oracle.forward(chunk, 0, way)


def _accumulators(
    oracle: Oracle, outputs: tuple[Output, ...], chunks: list[Tensors]
) -> list[Accumulator]:
    """For what is really measured: of a truth in chunks only the first ones are."""
    if oracle.split.axis is None:
        return [Accumulator(one.shape, one.eps) for one in outputs]
    cut = oracle.split.inputs[0]
    length = sum(chunk[cut].shape[0] for chunk in chunks)
    return [Accumulator((length, *one.shape[1:]), one.eps) for one in outputs]


def _fp32_from_tf32(native: Errors) -> Errors:
    rel_l2, max_abs, worst_block = (one * FP32_FROM_TF32 for one in native.metrics)
    return Errors(rel_l2, max_abs, worst_block, native.peak, native.masks_equal, native.numel)
