"""Cross entropy in one pass over the scores, then a sum of one loss per row.

The first kernel keeps a running maximum and a running sum of exponentials per row; the second
adds the rows' losses in fp64, so that the mean does not depend on the order of the additions.
Labels of -100 are left out of the mean, as PyTorch does; any other label outside the classes
makes the result NaN instead of reading another row.
"""

import os

import torch
import triton
import triton.language as tl
from torch import nn

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
IGNORED = tl.constexpr(-100)  # PyTorch's default `ignore_index`

# One row per program on a device; in the interpreter, where every operation costs about 50 µs
# whatever its size, as many rows as fit the largest tile that Triton allows (2^20 elements).
ROWS = 256 if INTERPRETED else 1
COLUMNS = 4096
LOSSES = 2**16 if INTERPRETED else 4096


@triton.jit
def row_losses(scores, labels, losses, rows, classes, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """losses[row] = logsumexp(scores[row]) - scores[row, label], ROWS rows per program."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    valid_row = row < rows
    highest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    for first in range(0, classes, COLUMNS):
        column = first + tl.arange(0, COLUMNS)
        inside = valid_row[:, None] & (column < classes)[None, :]
        offsets = row[:, None] * classes + column[None, :]
        tile = tl.load(scores + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        raised = tl.maximum(highest, tl.max(tile, axis=1))
        # A row of -inf alone would give inf - inf; its maximum is taken as 0 there.
        shift = tl.where(raised == float("-inf"), 0.0, raised)
        total = total * tl.exp(highest - shift) + tl.sum(tl.exp(tile - shift[:, None]), axis=1)
        highest = raised
    label = tl.load(labels + row, mask=valid_row, other=IGNORED)
    known = valid_row & (label >= 0) & (label < classes)
    picked = tl.load(scores + row * classes + label, mask=known, other=float("nan"))
    loss = tl.log(tl.where(valid_row, total, 1.0)) + (highest - picked.to(tl.float32))
    tl.store(losses + row, tl.where(label == IGNORED, 0.0, loss), mask=valid_row)


@triton.jit
def mean_loss(losses, labels, mean, rows, BLOCK: tl.constexpr):
    """mean[()] = sum of the losses over the number of labels that count, by one program."""
    total = tl.zeros((BLOCK,), tl.float64)
    counted = tl.zeros((BLOCK,), tl.int64)
    for first in range(0, rows, BLOCK):
        row = first + tl.arange(0, BLOCK)
        total += tl.load(losses + row, mask=row < rows, other=0.0).to(tl.float64)
        label = tl.load(labels + row, mask=row < rows, other=IGNORED)
        counted += (label != IGNORED).to(tl.int64)
    value = tl.sum(total, axis=0) / tl.sum(counted, axis=0).to(tl.float64)
    tl.store(mean, value.to(mean.dtype.element_ty))


def cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Average the losses of `scores` (rows, classes) at integer `labels` (rows,); 0-d."""
    scores = scores.contiguous()
    labels = labels.contiguous()
    rows, classes = scores.shape
    losses = torch.empty(rows, dtype=torch.float32, device=scores.device)
    mean = torch.empty((), dtype=scores.dtype, device=scores.device)
    block = min(ROWS, triton.next_power_of_2(max(rows, 1)))
    columns = min(COLUMNS, triton.next_power_of_2(classes))
    if rows > 0:
        row_losses[(triton.cdiv(rows, block),)](
            scores, labels, losses, rows, classes, ROWS=block, COLUMNS=columns, num_warps=4
        )
    mean_loss[(1,)](losses, labels, mean, rows, BLOCK=LOSSES, num_warps=16)
    return mean


class ModelNew(nn.Module):
    """Mean cross entropy of class scores against integer labels."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Average `logsumexp(scores) - scores[label]` over the batch."""
        return cross_entropy(predictions, targets)
