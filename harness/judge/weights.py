"""How the reference's weights reach a solution.

First by name and shape, strictly; else by shape and order where that leaves no choice. A solution
that packs or transforms its weights in ``__init__`` is judged under the seed alone: both sides
construct under the same seed, and what is right then is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from harness.construct import state_of
from harness.judge.buffers import SharedTensor
from harness.mapping import layout_of


@dataclass(frozen=True)
class Matched:
    """The solution's own names, in the order of the reference's tensors."""

    policy: str  # "by_name" | "by_shape"
    names: tuple[str, ...]


@dataclass(frozen=True)
class Unmatched:
    """No map without a choice; `detail` says what both sides have."""

    detail: str


Named = tuple[str, tuple[int, ...], bool]  # name, shape, whether it is a parameter


def match(wanted: list[Named], found: list[Named]) -> Matched | Unmatched:
    """Map the reference's state to the solution's; buffers of its own are the solution's affair."""
    shapes = {name: shape for name, shape, _ in found}
    names = {name for name, _, _ in wanted}
    extra = [name for name, _, parameter in found if parameter and name not in names]
    if all(shapes.get(name) == shape for name, shape, _ in wanted) and not extra:
        return Matched("by_name", tuple(name for name, _, _ in wanted))
    by_order = _by_order(wanted, found)
    if by_order is not None:
        return Matched("by_shape", by_order)
    return Unmatched(
        f"the reference has {_listed(wanted)}; the solution has {_listed(found)}; give the "
        "parameters the reference's names and shapes, or pack them in prepare()"
    )


def _by_order(wanted: list[Named], found: list[Named]) -> tuple[str, ...] | None:
    if [shape for _, shape, _ in wanted] == [shape for _, shape, _ in found]:
        return tuple(name for name, _, _ in found)
    shapes = [shape for _, shape, _ in wanted]
    if len(set(shapes)) != len(shapes) or sorted(shapes) != sorted(s for _, s, _ in found):
        return None
    place = {shape: name for name, shape, _ in found}
    return tuple(place[shape] for shape in shapes)


def _listed(state: list[Named]) -> str:
    return ", ".join(f"{name}{list(shape)}" for name, shape, _ in state[:8]) or "no weights"


def named_state(model: nn.Module) -> list[Named]:
    """The reference's state in the form that `match` takes."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return [
        (name, tuple(tensor.shape), name in parameters) for name, tensor in state_of(model).items()
    ]


def share(model: nn.Module, device: torch.device, which: slice = slice(None)) -> list[SharedTensor]:
    """The reference's state or a part of it, read-only and shared; the caller closes it."""
    shared = []
    for tensor in list(state_of(model).values())[which]:
        buffer = SharedTensor(layout_of(tensor.detach()), device, read_only=True)
        buffer.tensor.copy_(tensor.detach())
        shared.append(buffer)
    return shared
