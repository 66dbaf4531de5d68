"""The truth: the reference in fp64, in chunks where that gives the same bits as the whole.

Owns how truth is computed, also with operands rounded to a class; knows no budgets. Truth for
inputs is computed only after the answer to them has arrived.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from harness.judge import precision
from harness.judge.reference import ReferenceFault, blaming, put_together, seeded

# Bytes of fp64 operands and results above which truth is computed in chunks: problem 87 has to be
# judged on a card of 24 GB, beside the buffers and the worker's own output.
CHUNK_BYTES = 2 << 30
SPLIT_TOLERANCE = 1e-12  # relative: fp64's own rounding, where the order of a sum may differ

Tensors = tuple[torch.Tensor, ...]


def true_fp32() -> None:
    """Switch TF32 off in the judge, by the one interface that does not clash with the old flags."""
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cudnn.rnn.fp32_precision = "ieee"


def take_leaves(found: Any) -> tuple[Any, list[torch.Tensor]]:
    """The structure of what forward gave (as the worker's seal walks it), and its tensors."""
    if found is None:
        return None, []
    if isinstance(found, torch.Tensor):
        return "tensor", [found]
    if isinstance(found, dict):
        walked = [(key, *take_leaves(one)) for key, one in found.items()]
        parts: list[Any] = [[key, part] for key, part, _ in walked]
        return {"dict": parts}, [leaf for _, _, leaves in walked for leaf in leaves]
    if isinstance(found, list | tuple):
        pairs = [take_leaves(one) for one in found]
        kind = "tuple" if isinstance(found, tuple) else "list"
        return {kind: [part for part, _ in pairs]}, [leaf for _, some in pairs for leaf in some]
    raise ReferenceFault("unsupported_output", f"forward gave a {type(found).__name__}")


def up(tensor: torch.Tensor) -> torch.Tensor:
    """Floating tensors in fp64, others as they are."""
    return tensor.double() if tensor.is_floating_point() else tensor


@dataclass(frozen=True)
class Split:
    """Which argument tensors are cut along axis 0, where chunks equal the whole; else empty."""

    inputs: tuple[int, ...]

    @property
    def axis(self) -> int | None:
        """The axis along which truth is computed in chunks, for the record."""
        return 0 if self.inputs else None


WHOLE = Split(())


class Oracle:
    """Truth and native errors of one reference with one set of weights.

    `kind` is "fp64", or "fp32" where fp64 is impossible or forward draws random numbers.
    """

    def __init__(self, model: nn.Module, parts: tuple[Any, ...], *, random_forward: bool) -> None:
        self._plain = model
        self._parts = parts
        self.kind = "fp32" if random_forward else "fp64"
        self.split = WHOLE
        self._models: dict[str, nn.Module] = {}

    def _model(self, way: str) -> nn.Module:
        """The model, state in fp64, rounded first as `way` ("", "r:tf32", "t:bf16") says."""
        if way not in self._models:
            model = copy.deepcopy(self._plain)
            with torch.no_grad():
                for tensor in [*model.parameters(), *model.buffers()]:
                    tensor.copy_(_operand(tensor, way))
            self._models[way] = model if self.kind == "fp32" else model.double()
        return self._models[way]

    def forward(self, tensors: Tensors, seed: int, way: str = "") -> list[torch.Tensor]:
        """Outputs for whole or cut inputs, in fp64 if `kind` says so."""
        made = tuple(_operand(one, way) for one in tensors)
        if self.kind == "fp64":
            made = tuple(up(one) for one in made)
        return self._run(self._model(way), made, seed)

    def forward_fp32(self, tensors: Tensors, seed: int) -> list[torch.Tensor]:
        """Outputs of the reference as it is, in its own dtype with TF32 off."""
        if "fp32" not in self._models:
            self._models["fp32"] = copy.deepcopy(self._plain)
        return self._run(self._models["fp32"], tensors, seed)

    def _run(self, model: nn.Module, tensors: Tensors, seed: int) -> list[torch.Tensor]:
        arguments = [put_together(part, tensors) for part in self._parts]
        with torch.no_grad(), blaming("forward_raised"), seeded(seed):
            return take_leaves(model(*arguments))[1]

    def find_split(self, tensors: Tensors, seed: int) -> None:
        """Look for inputs that can be cut along axis 0; `tensors` are small ones of the same kind.

        Small integers as values make every sum exact, so that there chunked must equal whole bit
        for bit; on the values as drawn fp64's own rounding is allowed, since a library may sum in
        another order for another batch.
        """
        if not tensors or self.kind != "fp64":
            return
        lengths = [one.shape[0] if one.dim() else 0 for one in tensors]
        batch = max(lengths)
        chosen = tuple(i for i, length in enumerate(lengths) if length == batch)
        if batch < 2:
            return
        split = Split(chosen)
        exact = tuple(
            torch.round(one * 8).clamp(-8, 8) if one.is_floating_point() else one for one in tensors
        )
        if self._agrees(split, exact, seed, 0.0) and self._agrees(
            split, tensors, seed, SPLIT_TOLERANCE
        ):
            self.split = split

    def _agrees(self, split: Split, tensors: Tensors, seed: int, tolerance: float) -> bool:
        whole = self.forward(tensors, seed)
        batch = tensors[split.inputs[0]].shape[0]
        if any(not leaf.dim() or leaf.shape[0] != batch for leaf in whole):
            return False
        for step in {1, -(-batch // 2)}:
            try:
                parts = [self.forward(one, seed) for one in _cut(split, tensors, step)]
            except ReferenceFault:
                return False  # the reference cannot take a part of the batch
            for index, leaf in enumerate(whole):
                joined = torch.cat([part[index] for part in parts])
                if joined.shape != leaf.shape or not _close(joined, leaf, tolerance):
                    return False
        return True

    def chunks(self, tensors: Tensors, out_bytes: int) -> Iterator[Tensors]:
        """The inputs cut so that fp64 operands and results stay within `CHUNK_BYTES`."""
        if self.split is WHOLE:
            yield tensors
            return
        batch = tensors[self.split.inputs[0]].shape[0]
        total = 2 * (sum(tensors[i].nbytes for i in self.split.inputs) + out_bytes)
        step = max(1, min(batch, int(batch * CHUNK_BYTES / max(total, 1))))
        yield from _cut(self.split, tensors, step)

    def needed_bytes(self, in_bytes: int, out_bytes: int) -> int:
        """What computing one chunk and comparing it takes at most, beside the buffers."""
        whole = 2 * (in_bytes + out_bytes)
        chunk = whole if self.split is WHOLE else min(whole, CHUNK_BYTES)
        return 4 * chunk  # operands, result, difference and its square


def _operand(tensor: torch.Tensor, way: str) -> torch.Tensor:
    if not way:
        return tensor
    how, _, class_ = way.partition(":")
    return (precision.rounded if how == "r" else precision.truncated)(tensor, class_)


def _close(found: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> bool:
    if tolerance == 0 or not wanted.is_floating_point():
        return bool(torch.equal(torch.nan_to_num(found), torch.nan_to_num(wanted)))
    scale = wanted.abs().max().clamp_min(1e-300) if wanted.numel() else wanted.new_ones(())
    return bool((torch.nan_to_num(found - wanted).abs().max() <= tolerance * scale).item())


def _cut(split: Split, tensors: Tensors, step: int) -> Iterator[Tensors]:
    batch = tensors[split.inputs[0]].shape[0]
    for start in range(0, batch, step):
        yield tuple(
            one[start : start + step] if i in split.inputs else one for i, one in enumerate(tensors)
        )
