"""What a workload is made of: shapes, dtypes and operations, read by running it on no data.

The reference runs on the meta device, which has shapes and no values; where it refuses (shapes
that depend on values) it runs once on the CPU. Also the workload's identity, which is made of
these and not of any source text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import rfc8785
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from harness.construct import state_of
from harness.judge.oracle import take_leaves
from harness.judge.reference import Reference, ReferenceFault, blaming, put_together
from harness.spec.problem import Sized
from harness.spec.tensor import Signature, TensorSpec

# Functions that make values: their names are a workload's "generators".
FACTORIES = (
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "zeros", "ones", "full",
    "arange", "linspace", "empty", "tensor", "eye", "normal", "bernoulli", "multinomial",
)  # fmt: skip


RANDOM = frozenset(
    f"torch.{name}"
    for name in (
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "bernoulli",
        "multinomial", "dropout", "alpha_dropout", "feature_dropout", "rrelu", "gumbel_softmax",
    )
)  # fmt: skip


class _Factories(TorchFunctionMode):  # type: ignore[misc]  # torch is not followed
    """Notes which functions that make values were called; a dropout switched off is none."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = "torch." + getattr(func, "__name__", "").rstrip("_").lstrip("_")
        keywords = kwargs or {}
        if name.endswith("dropout"):
            trains = keywords.get("training", args[2] if len(args) > 2 else True)
            self.names += [name] if trains else []
        elif name.removeprefix("torch.") in FACTORIES or name in RANDOM:
            self.names.append(name)
        return func(*args, **keywords)

    @property
    def random(self) -> bool:
        """Whether any of them draws random numbers."""
        return not RANDOM.isdisjoint(self.names)


@dataclass(frozen=True)
class Traced:
    """A signature, and what the judge alone needs of the same run."""

    signature: Signature
    structure: Any
    parts: tuple[Any, ...]
    random_forward: bool


def trace(reference: Reference) -> Traced:
    """Shapes, dtypes, flops and generators; on meta, else on the CPU. Raises `ReferenceFault`."""
    try:
        return _trace_on(reference, "meta")
    except ReferenceFault:
        return _trace_on(reference, "cpu")


def _trace_on(reference: Reference, device: str) -> Traced:
    with _Factories() as inputs:
        drawn = reference.draw(0, device)
    model = reference.construct(0, device, reference.dtype)
    arguments = [put_together(part, drawn.tensors) for part in drawn.parts]
    counter = FlopCounterMode(display=False)
    with blaming("forward_raised"), torch.no_grad(), counter, _Factories() as forward:
        found = model(*arguments)
    structure, leaves = take_leaves(found)
    signature = Signature(
        inputs=tuple(_spec(f"input{i}", one) for i, one in enumerate(drawn.tensors)),
        outputs=tuple(_spec(f"output{i}", one) for i, one in enumerate(leaves)),
        parameters=tuple(_spec(name, one) for name, one in state_of(model).items()),
        flops=int(counter.get_total_flops()),
        generators=tuple(inputs.names),
    )
    return Traced(signature, structure, drawn.parts, forward.random)


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def workload_digest(sized: Sized, dtype: str, signature: Signature) -> str:
    """SHA-256 of the canonical JSON (RFC 8785) of what the workload is, whatever its wording."""
    sidecar = sized.problem.sidecar
    identity = {
        "problem": sized.problem.id,
        "semantics_version": sidecar.semantics_version,
        "axes": {name: _plain(value) for name, value in sized.axes.items()},
        "init": {name: _plain(value) for name, value in sized.init.items()},
        "dtype": dtype,
        "inputs": [{"shape": list(one.shape), "dtype": one.dtype} for one in signature.inputs],
        "generators": list(signature.generators),
    }
    return "sha256:" + hashlib.sha256(rfc8785.dumps(identity)).hexdigest()


def _plain(value: object) -> Any:
    """Axes that canonical JSON has no number for (2^53 and more) are told as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 53:
        return str(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
