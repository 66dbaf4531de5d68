"""How a model is constructed under a seed; a leaf that judge and worker both load.

Both sides must draw the same weights from the same seed, so the code is one piece. Parameters that
torch initialises to a constant (affine weights, zero biases, running statistics) are given random
values *inside* the construction, because a constant lets a wrong kernel pass (a layer norm that
forgets its affine part) and because a solution may pack its weights in ``__init__``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import init
from torch.nn.modules.batchnorm import _NormBase

SPREAD = 0.25  # half-width of the values put where torch puts a constant: far from 0 and from 1


def seed_torch(seed: int) -> None:
    """Seed every generator of torch that exists by now.

    `torch.manual_seed` would also queue a call for each device that was never started, with a
    formatted stack: half a millisecond each, kept for ever.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def _draw_around(tensor: torch.Tensor, centre: float) -> torch.Tensor:
    with torch.no_grad():
        return tensor.uniform_(centre - SPREAD, centre + SPREAD)


def _ones(tensor: torch.Tensor) -> torch.Tensor:
    return _draw_around(tensor, 1.0)


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    return _draw_around(tensor, 0.0)


def _constant(tensor: torch.Tensor, val: float) -> torch.Tensor:
    return _draw_around(tensor, val)


def _running_stats(self: _NormBase) -> None:
    if self.track_running_stats:
        _draw_around(self.running_mean, 0.0)
        _draw_around(self.running_var, 1.0)
        self.num_batches_tracked.zero_()


_REPLACED: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (init, "ones_", _ones),
    (init, "zeros_", _zeros),
    (init, "constant_", _constant),
    (_NormBase, "reset_running_stats", _running_stats),
)


@contextlib.contextmanager
def _no_constants() -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in _REPLACED]
    for owner, name, replacement in _REPLACED:
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


def construct(
    make: Callable[..., Any],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    seed: int,
    device: str,
    dtype: torch.dtype | None,
) -> nn.Module:
    """`make(*arguments, **keywords)` under `seed` on `device`, floating state cast to `dtype`.

    Raises whatever `make` raises, and `TypeError` if the result is not a `torch.nn.Module`.
    """
    seed_torch(seed)
    with torch.device(device), _no_constants():
        model = make(*arguments, **keywords)
    if not isinstance(model, nn.Module):
        raise TypeError(f"the constructor gave a {type(model).__name__}, not a torch.nn.Module")
    return model.to(device=device, dtype=dtype) if dtype else model.to(device=device)


def state_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters, then persistent buffers, by name; counters of batches seen are left out."""
    return {
        name: tensor
        for name, tensor in model.state_dict(keep_vars=True).items()
        if not name.endswith("num_batches_tracked") and isinstance(tensor, torch.Tensor)
    }
