"""Families of input values: what the declared inputs are turned into before a call.

A family changes floating inputs only, value by value, from a secret seed. The class of a kernel is
decided on `zero_mean`, because there the classes separate (measured: on uniform [0,1) inputs bf16
operands err less than a truncating TF32 kernel). A family counts only where the reference stays
finite on it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Draw = Callable[[torch.Tensor, torch.Generator], torch.Tensor]
DECLARED = "declared"
DECIDING = "zero_mean"


def _signs(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    coin = torch.empty(x.shape, dtype=torch.int8, device=x.device).random_(
        0, 2, generator=generator
    )
    return x * (coin * 2 - 1).to(x.dtype)


def _scaled(factor: float) -> Draw:
    def scale(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return x * factor

    return scale


def _chosen(x: torch.Tensor, share: float, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(x.shape, device=x.device, generator=generator) < share


def _spikes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One element in a thousand is a thousand times larger."""
    return torch.where(_chosen(x, 1e-3, generator), x * 1e3, x)


def _ties(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Quarters only: many equal values."""
    return torch.round(x * 4) / 4


def _adversarial(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Dense and special values inside one tensor: zeros, tiny, negative, large, one by one."""
    kind = torch.empty(x.shape, dtype=torch.int8, device=x.device).random_(
        0, 8, generator=generator
    )
    kind.view(-1)[:1] = 0  # what a kernel that sniffs the first element would look at
    found = torch.where(kind == 0, torch.zeros_like(x), x)
    found = torch.where(kind == 1, x * 1e-6, found)
    found = torch.where(kind == 2, -x, found)
    return torch.where(kind == 3, x * 16, found)


FAMILIES: dict[str, Draw] = {
    DECLARED: lambda x, generator: x,
    DECIDING: _signs,
    "small": _scaled(1e-2),
    "large": _scaled(1e2),
    "spikes": _spikes,
    "ties": _ties,
    "adversarial": _adversarial,
    # fp16 and TF32 have the same mantissa and part where fp16's exponent ends
    "below_fp16": _scaled(2.0**-18),
    "above_fp16": _scaled(2.0**17),
}
STRESS = tuple(name for name in FAMILIES if name not in (DECLARED, DECIDING))


def apply(family: str, tensors: tuple[torch.Tensor, ...], seed: int) -> tuple[torch.Tensor, ...]:
    """The tensors as `family` has them; integer and boolean ones are left alone."""
    made: list[torch.Tensor] = []
    for index, tensor in enumerate(tensors):
        if not tensor.is_floating_point() or family == DECLARED:
            made.append(tensor)
            continue
        generator = torch.Generator(tensor.device).manual_seed(seed + index)
        made.append(FAMILIES[family](tensor, generator))
    return tuple(made)
