"""Whether a problem can tell a right answer from none: it is judged before any solution is.

Answers that compute nothing must fail the comparison, and the reference must pass it against
itself. A problem that accepts a null answer is degenerate: its solutions are judged all the same,
and never ranked. Owns the null answers; the comparison is the one that solutions get.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.judge.compare import Accumulator
from harness.judge.families import DECLARED
from harness.judge.oracle import Tensors
from harness.judge.precision import SINGLE, usage
from harness.judge.seeds import derive
from harness.judge.workload import Workload

CHUNKS = 1  # of a truth in chunks: a null answer is wrong everywhere
ROUNDS = 4  # draws on which an answer has to pass to count as passing

Answer = Callable[[Tensors, list[torch.Tensor], int], list[torch.Tensor] | None]


@dataclass(frozen=True)
class Lint:
    """What each answer came to. `accepted` are null answers that pass; `notes` are for people."""

    accepted: tuple[str, ...]
    rejects_itself: bool
    notes: tuple[str, ...]

    @property
    def degenerate(self) -> bool:
        """Whether a ranking of this problem's solutions would mean nothing."""
        return bool(self.accepted) or self.rejects_itself

    def line(self) -> str:
        """What is wrong, in one line for people."""
        found = [f"{name} would pass" for name in self.accepted]
        found += ["the reference in fp32 is not within the class"] if self.rejects_itself else []
        found += self.notes
        return "degenerate, never ranked: " + ", ".join(found) if self.degenerate else "sound"

    def plain(self) -> dict[str, object]:
        """For the record."""
        return {
            "degenerate": self.degenerate,
            "accepted": list(self.accepted),
            "rejects_itself": self.rejects_itself,
            "notes": list(self.notes),
        }


def lint(workload: Workload, asked: str) -> Lint:
    """Try every null answer in the class that is asked for."""
    answers: dict[str, Answer] = {
        "zeros": lambda tensors, truth, seed: [torch.zeros_like(one) for one in truth],
        "mean": lambda tensors, truth, seed: _means(workload, seed),
        "input": lambda tensors, truth, seed: _copied(tensors, truth),
        "other_inputs": lambda tensors, truth, seed: _of_other_inputs(workload, seed),
    }
    accepted = tuple(name for name, answer in answers.items() if _passes(workload, asked, answer))
    itself = _passes(workload, asked, lambda tensors, truth, seed: _fp32(workload, tensors))
    return Lint(accepted, not itself, _notes(workload))


def _passes(workload: Workload, asked: str, answer: Answer) -> bool:
    """Whether an answer is within the class on every draw of the families that are timed."""
    for family in dict.fromkeys((DECLARED, workload.deciding)):
        allowed = [one[asked] for one in workload.budgets(family).each]
        for number in range(ROUNDS):
            seed = derive(workload.weights_seed, "lint", family, number)
            tensors = _first(workload, workload.inputs(seed, family))
            truth = workload.oracle.forward(tensors, 0)
            found = answer(tensors, truth, seed)
            if found is None or not _alike(found, truth):
                return False
            sums = [
                Accumulator(tuple(one.shape), output.eps)
                for one, output in zip(truth, workload.outputs, strict=True)
            ]
            for one, leaf, true in zip(sums, found, truth, strict=True):
                one.add(leaf, true)
            limit = SINGLE if workload.small else 1.0
            used = [usage(one.errors(), own) for one, own in zip(sums, allowed, strict=True)]
            if not all(one <= limit for one in used):
                return False
    return True


def _first(workload: Workload, tensors: Tensors) -> Tensors:
    chunks = workload.oracle.chunks(tensors, workload.sizes.outputs)
    return next(itertools.islice(chunks, CHUNKS))


def _alike(found: list[torch.Tensor], truth: list[torch.Tensor]) -> bool:
    return [one.shape for one in found] == [one.shape for one in truth]


def _fp32(workload: Workload, tensors: Tensors) -> list[torch.Tensor]:
    return workload.oracle.forward_fp32(tensors, 0)


def _of_other_inputs(workload: Workload, seed: int) -> list[torch.Tensor]:
    other = workload.inputs(derive(f"{seed:x}", "other"), DECLARED)
    return workload.oracle.forward(_first(workload, other), 0)


def _means(workload: Workload, seed: int) -> list[torch.Tensor]:
    """What an author could have measured beforehand: the mean output on other inputs."""
    return [
        torch.full_like(one, float(one.double().mean()))
        if one.is_floating_point()
        else torch.zeros_like(one)
        for one in _of_other_inputs(workload, seed)
    ]


def _copied(tensors: Tensors, truth: list[torch.Tensor]) -> list[torch.Tensor] | None:
    """The first input of each output's shape; None where there is none."""
    found = []
    for one in truth:
        same = [tensor for tensor in tensors if tensor.shape == one.shape]
        if not same:
            return None
        found.append(same[0].to(one.dtype))
    return found


def _notes(workload: Workload) -> tuple[str, ...]:
    """Parameters that the output does not depend on."""
    seed = derive(workload.weights_seed, "lint_parameters")
    tensors = _first(workload, workload.inputs(seed, DECLARED))
    before = workload.oracle.forward(tensors, 0)
    if not list(workload.model.parameters()):
        return ()
    other = workload.with_other_weights()
    after = other.forward(tensors, 0)
    same = all(bool(torch.equal(one, two)) for one, two in zip(before, after, strict=True))
    return ("the output does not depend on the parameters",) if same else ()
