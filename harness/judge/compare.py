"""The distance between an output and its truth, chunk by chunk.

Three metrics, because each alone has a hole: the norm over the whole output hides a wrong corner,
the worst element hides a slightly wrong everything, and both hide a channel of small scale. Owns
the arithmetic of errors; knows no budgets.
"""

from __future__ import annotations

import math

import torch

from harness.judge.precision import Errors

RUN = 4096  # elements of a block along the memory order
INTEGER_EPS = 2.0**-24  # stands for the eps that integers lack, so that nothing divides by zero
MIN_BLOCK = 256  # below this a block's norm is a lucky draw


class Accumulator:
    """Errors of one output tensor whose chunks along axis 0 come in order.

    `eps` is that of the output's dtype; `shape` the whole output's.
    """

    def __init__(self, shape: tuple[int, ...], eps: float) -> None:
        self._shape = shape or (1,)
        self._eps = eps or INTEGER_EPS
        self._numel = math.prod(self._shape)
        self._square_error = self._square_truth = 0.0
        self._worst = self._peak = 0.0
        self._masks_equal = True
        self._runs: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        self._slabs: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def add(self, found: torch.Tensor, truth: torch.Tensor) -> None:
        """One chunk: `found` as the worker left it, `truth` in fp64, both of the same shape."""
        if found.numel() == 0:
            return
        found = found.to(torch.float64).reshape(-1, *self._shape[1:])
        truth = truth.to(torch.float64).reshape(-1, *self._shape[1:])
        finite = torch.isfinite(truth)
        if not bool(finite.all()) or not bool(torch.isfinite(found).all()):
            same = torch.where(finite, torch.isfinite(found), _same_special(found, truth))
            self._masks_equal &= bool(same.all())
            found = torch.where(finite & torch.isfinite(found), found, 0.0)
            truth = torch.where(finite, truth, 0.0)
        difference = found - truth
        self._worst = max(self._worst, float(difference.abs().max()))
        self._peak = max(self._peak, float(truth.abs().max()))
        error, size = difference.square_(), truth.square()
        self._square_error += float(error.sum())
        self._square_truth += float(size.sum())
        self._add_runs(error, size)
        self._add_slabs(error, size)

    def _add_runs(self, error: torch.Tensor, size: torch.Tensor) -> None:
        """Blocks of `RUN` in memory order, within one index of axis 0 where that is long enough."""
        row = math.prod(self._shape[1:])
        if row < MIN_BLOCK:
            row = error.numel()
        whole = row - row % RUN
        spans = [(0, whole, RUN)] if whole else []
        if row > whole:  # the last partial run counts, together with what lies before it
            spans.append((max(0, row - RUN), row, min(RUN, row)))
        for start, stop, width in spans:
            parts = [
                one.reshape(-1, row)[:, start:stop].reshape(-1, width).sum(1)
                for one in (error, size)
            ]
            self._runs.append((parts[0], parts[1], width))

    def _add_slabs(self, error: torch.Tensor, size: torch.Tensor) -> None:
        """One block for each index of axis 1, and of the last axis, over everything else."""
        rank = len(self._shape)
        for axis in sorted({1, rank - 1} - {0}) if rank > 1 else []:
            if self._numel // self._shape[axis] < MIN_BLOCK:
                continue
            others = [one for one in range(rank) if one != axis]
            parts = error.sum(others), size.sum(others)
            held = self._slabs.get(axis)
            self._slabs[axis] = parts if held is None else (held[0] + parts[0], held[1] + parts[1])

    def errors(self) -> Errors:
        """The three metrics over all chunks so far."""
        rms = math.sqrt(self._square_truth / self._numel) if self._numel else 0.0
        scale = rms if rms > 0 else self._eps  # a truth of zeros: any error is a whole one
        norm = scale * math.sqrt(max(self._numel, 1))
        return Errors(
            rel_l2=math.sqrt(self._square_error) / norm,
            max_abs=self._worst / scale,
            worst_block=self._worst_block(scale),
            peak=self._peak / scale,
            masks_equal=self._masks_equal,
            numel=self._numel,
        )

    def _worst_block(self, scale: float) -> float:
        worst = 0.0
        blocks = list(self._runs)
        for axis, (error, size) in self._slabs.items():
            blocks.append((error, size, self._numel // self._shape[axis]))
        for error, size, width in blocks:
            least = self._eps * scale * math.sqrt(width)  # a block of zeros divides by this
            ratio = error.sqrt() / size.sqrt().clamp_min(least)
            worst = max(worst, float(ratio.max()))
        return worst


def _same_special(found: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    return (torch.isnan(found) & torch.isnan(truth)) | (found == truth)


def worst_of(several: list[Errors]) -> Errors:
    """The worst of each metric over the outputs of one call."""
    if len(several) == 1:
        return several[0]
    return Errors(
        rel_l2=max(one.rel_l2 for one in several),
        max_abs=max(one.max_abs for one in several),
        worst_block=max(one.worst_block for one in several),
        peak=max(one.peak for one in several),
        masks_equal=all(one.masks_equal for one in several),
        numel=sum(one.numel for one in several),
    )
