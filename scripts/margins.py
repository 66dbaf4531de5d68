"""How far each way of computing lies from the budgets, on every problem of the repository.

    python scripts/margins.py > docs/margins.md

For each problem at its smoke size: the same fp64 arithmetic with operands rounded or cut to a
class, and the reference in true fp32, each against the budgets of tf32 and fp32. A number is the
worst metric over its budget: up to 1 is within the class. The margins in
`harness/judge/precision.py` are chosen so that on the family that decides the class every honest
way of a class stays below 1 and every looser one above.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.judge import oracle
from harness.judge.compare import Accumulator
from harness.judge.families import FAMILIES
from harness.judge.precision import MARGIN, usage
from harness.judge.workload import Workload
from harness.spec import problem as problems

DRAWS = 8  # the worst of so many; budgets come from other draws
# What is computed, and the class whose budget it is held against.
COLUMNS = {
    "true fp32 in fp32": ("fp32", "fp32"),
    "tf32 rounded in fp32": ("r:tf32", "fp32"),
    "tf32 rounded in tf32": ("r:tf32", "tf32"),
    "tf32 cut in tf32": ("t:tf32", "tf32"),
    "fp16 in tf32": ("r:fp16", "tf32"),
    "bf16 in tf32": ("r:bf16", "tf32"),
    "bf16 in bf16": ("r:bf16", "bf16"),
}


def workloads() -> Iterator[Workload]:
    """Each problem of the repository at its smoke size."""
    for found in problems.everything(ROOT):
        if isinstance(found, problems.Problem):
            sized = problems.resize(found, "smoke", {})
            made = Workload(sized, "fp32", torch.device("cpu"), sized, "5eed" * 8)
            made.load()
            yield made


def worst(workload: Workload, family: str, way: str, class_: str) -> float:
    """The largest usage of the class's budget over `DRAWS` draws."""
    found = 0.0
    for number in range(DRAWS):
        tensors = workload.inputs(1000 + number, family)
        truth = workload.oracle.forward(tensors, 0)
        if way == "fp32":
            outputs = workload.oracle.forward_fp32(tensors, 0)
        else:
            outputs = workload.oracle.forward(tensors, 0, way)
        allowed = workload.budgets_of_call(family, 1000 + number).each
        for output, leaf, true, budgets in zip(
            workload.outputs, outputs, truth, allowed, strict=True
        ):
            made = Accumulator(tuple(true.shape), output.eps)
            made.add(leaf.to(output.dtype), true)
            found = max(found, usage(made.errors(), budgets[class_]))
    return found


def main() -> None:
    """Print the tables as Markdown."""
    oracle.true_fp32()
    print("# Margins\n")
    print(
        "Made by `python scripts/margins.py` on a CPU; the arithmetic is the same on any machine."
    )
    print(f"Worst metric over its budget, the worst of {DRAWS} draws; c = {MARGIN}.\n")
    for workload in workloads():
        sized = workload.sized
        print(f"## {sized.problem.name}, {sized.size}\n")
        print("| family | " + " | ".join(COLUMNS) + " |")
        print("| :-- |" + " --: |" * len(COLUMNS))
        for family in FAMILIES:
            if not workload.usable(family):
                print(f"| {family} | the reference is not finite" + " |" * len(COLUMNS))
                continue
            mark = " (decides)" if family == workload.deciding else ""
            cells = [f"{worst(workload, family, *how):.3g}" for how in COLUMNS.values()]
            print(f"| {family}{mark} | " + " | ".join(cells) + " |")
        print()


if __name__ == "__main__":
    main()
