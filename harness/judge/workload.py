"""One workload made ready to judge: weights, inputs on demand, truth, budgets.

Built once and used for every solution of the workload. Owns what is drawn from which seed; never
talks to a worker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from harness.judge import budgets, families, signature
from harness.judge.budgets import FamilyBudgets, Output
from harness.judge.oracle import Oracle, Tensors
from harness.judge.reference import DTYPES, Reference, ReferenceFault
from harness.judge.seeds import derive
from harness.mapping import Layout, layout_of
from harness.spec.problem import Sized

ADDRESS_SETS = 2  # a kernel that remembers an address is shown another one


@dataclass(frozen=True)
class Sizes:
    """Bytes of one workload."""

    inputs: int
    outputs: int
    weights: int


class Workload:
    """Raises `ReferenceFault` where the problem itself fails.

    `smoke` is the same problem at its smoke size, where it has one: on it the judge tries whether
    truth may be computed in chunks.
    """

    def __init__(
        self, sized: Sized, dtype: str, device: torch.device, smoke: Sized | None, weights: str
    ) -> None:
        self.sized, self.device, self.weights_seed = sized, device, weights
        self.dtype = dtype
        cast = DTYPES.get(dtype)
        self.reference = Reference(sized, cast)
        traced = signature.trace(self.reference)
        self.signature, self.structure = traced.signature, traced.structure
        self.parts: tuple[Any, ...] = traced.parts
        self.random_forward = traced.random_forward
        self.digest = signature.workload_digest(sized, dtype, self.signature)
        self.outputs = tuple(
            Output(one.shape, getattr(torch, one.dtype)) for one in self.signature.outputs
        )
        if not self.outputs:
            raise ReferenceFault("no_output", "forward gave no tensor")
        self._smoke, self._cast = smoke, cast
        self._budgets: dict[str, FamilyBudgets] = {}

    @property
    def sizes(self) -> Sizes:
        """Bytes of inputs, outputs and weights, from the shapes alone."""
        return Sizes(
            sum(one.nbytes for one in self.signature.inputs),
            sum(one.nbytes for one in self.signature.outputs),
            sum(one.nbytes for one in self.signature.parameters),
        )

    @property
    def loaded(self) -> bool:
        """Whether the model stands in memory."""
        return hasattr(self, "oracle")

    def load(self) -> None:
        """Construct the model, look for a split; takes memory, so `sizes` is asked before."""
        where = str(self.device)
        seed = derive(self.weights_seed, "weights")
        self.model = self.reference.construct(seed, where, self._cast)
        self.oracle = Oracle(self.model, self.parts, random_forward=self.random_forward)
        self._find_split()
        self.layouts = self._input_layouts()

    def _find_split(self) -> None:
        """On the smoke size and the CPU: one thread's arithmetic, no choice of algorithms."""
        if self._smoke is None or self.random_forward:
            return
        reference = Reference(self._smoke, self._cast)
        model = reference.construct(derive(self.weights_seed, "split"), "cpu", self._cast)
        trial = Oracle(model, self.parts, random_forward=False)
        drawn = reference.draw(derive(self.weights_seed, "split_inputs"), "cpu")
        trial.find_split(drawn.tensors, 0)
        self.oracle.split = trial.split

    def _input_layouts(self) -> tuple[Layout, ...]:
        """As the problem draws them, strides included; without memory where that is possible."""
        try:
            drawn = self.reference.draw(0, "meta")
        except ReferenceFault:
            drawn = self._drawn(0)
        return tuple(layout_of(one) for one in drawn.tensors)

    def _drawn(self, seed: int) -> Any:
        return self.reference.draw(seed, str(self.device))

    def inputs(self, seed: int, family: str) -> Tensors:
        """The tensors of one call; the same seed and family always give the same values."""
        drawn = self._drawn(seed)
        if drawn.parts != self.parts:
            raise ReferenceFault("inputs_vary", "get_inputs gives other values that are no tensors")
        return families.apply(family, drawn.tensors, derive(f"{seed:x}", "family"))

    def budgets(self, family: str) -> FamilyBudgets:
        """What each class allows on `family`, measured on first use."""
        if family not in self._budgets:
            # Where signs cannot be drawn (a logarithm), the declared inputs decide the class, by
            # the wider rule: the classes do not separate there.
            self._budgets[family] = budgets.measure(
                self.oracle,
                self.outputs,
                lambda number: self.inputs(derive(self.weights_seed, family, number), family),
                family,
            )
        return self._budgets[family]

    def budgets_of_call(self, family: str, seed: int) -> FamilyBudgets:
        """What each class allows on the inputs of one call.

        On stress values errors differ by orders of magnitude from draw to draw (a softmax of
        spikes), so there the native error is measured on the very values of the call as well.
        """
        general = self.budgets(family)
        if family in (families.DECLARED, families.DECIDING):
            return general
        own = budgets.measure(
            self.oracle, self.outputs, lambda number: self.inputs(seed, family), family, draws=1
        )
        return budgets.either(general, own) if own.finite else general

    def with_other_weights(self) -> Oracle:
        """The same oracle with weights of another seed."""
        seed = derive(self.weights_seed, "other_weights")
        model = self.reference.construct(seed, str(self.device), self._cast)
        other = Oracle(model, self.parts, random_forward=self.random_forward)
        other.split = self.oracle.split
        return other

    def usable(self, family: str) -> bool:
        """Whether the reference stays finite on the family."""
        return self.budgets(family).finite

    @property
    def small(self) -> bool:
        """Whether the output is so small that calls are pooled."""
        return budgets.is_small(self.outputs)

    @property
    def deciding(self) -> str:
        """The family on which the class is decided."""
        usable = self.budgets(families.DECIDING).finite
        return families.DECIDING if usable else families.DECLARED

    def check_itself(self) -> None:
        """The reference must agree with itself under one seed, and be finite on declared inputs.

        Raises `ReferenceFault`.
        """
        seed = derive(self.weights_seed, "self")
        tensors = self.inputs(seed, families.DECLARED)
        out_bytes = self.sizes.outputs
        chunk = next(self.oracle.chunks(tensors, out_bytes))
        first = self.oracle.forward_fp32(chunk, seed)
        again = self.oracle.forward_fp32(chunk, seed)
        for one, other in zip(first, again, strict=True):
            if not _alike(one, other):
                raise ReferenceFault("not_deterministic", "two runs under one seed differ")
        if not self.budgets(families.DECLARED).finite:
            raise ReferenceFault("not_finite", "the reference gives NaN or Inf on its own inputs")

    def needed_bytes(self) -> int:
        """Memory that judging takes: buffers, the worker's output and weights, one truth chunk."""
        sizes = self.sizes
        buffers = ADDRESS_SETS * sizes.inputs + sizes.outputs
        worker = sizes.outputs + sizes.weights
        judge = sizes.inputs + 4 * sizes.weights + self._truth_bytes()
        return buffers + worker + judge

    def _truth_bytes(self) -> int:
        if self.loaded:
            return self.oracle.needed_bytes(self.sizes.inputs, self.sizes.outputs)
        return 2 * (self.sizes.inputs + self.sizes.outputs)


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal up to the order of a sum: atomics may differ in the last bits."""
    if not one.is_floating_point():
        return bool(torch.equal(one, other))
    a, b = torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
    scale = max(float(a.abs().max()) if a.numel() else 0.0, 1e-300)
    tolerance = 64 * torch.finfo(one.dtype).eps
    return not a.numel() or float((a - b).abs().max()) <= tolerance * scale or math.isinf(scale)
