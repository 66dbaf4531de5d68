"""The null solution: takes the inputs, gives an output that it made before, computes nothing.

It goes the whole way of a trial, spin, seal and probe included, so its wall time is the overhead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from harness.faults import HarnessFault
from harness.judge import clocks
from harness.judge.arena import Arena
from harness.judge.budgets import Output
from harness.judge.clocks import Overhead
from harness.judge.families import DECLARED
from harness.judge.reference import take_apart
from harness.judge.seeds import Seeds
from harness.judge.trial import Call, Desk, Patience, Trial, reading
from harness.judge.workload import Workload
from harness.record.schema import Failed, Phase
from harness.sandbox.launch import Server, Worker

TRIALS = 20  # the median of so many; the noise is their upper quartile
DEADLINE_S = 120.0

SOURCE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, structure, outputs):
        super().__init__()
        made = [torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in outputs]
        self.made = build(structure, iter(made))

    def forward(self, *inputs):
        return self.made


def build(structure, made):
    if structure is None:
        return None
    if structure == "tensor":
        return next(made)
    (kind, parts), = structure.items()
    if kind == "dict":
        return {key: build(part, made) for key, part in parts}
    return {"list": list, "tuple": tuple}[kind](build(part, made) for part in parts)
"""


def arguments(structure: Any, outputs: Sequence[Output]) -> list[Any]:
    """Constructor arguments for `SOURCE`."""
    specs = [[list(one.shape), str(one.dtype).removeprefix("torch.")] for one in outputs]
    return [structure, specs]


def measure(workload: Workload, arena: Arena, server: Server) -> Overhead:
    """Null trials in a worker of their own; raises `HarnessFault` if even these fail."""
    worker = Worker(server)
    try:
        path = worker.scratch / "null.py"
        path.write_text(SOURCE, encoding="utf-8")
        until = time.monotonic() + DEADLINE_S
        for request, descriptors in _opening(workload, arena, str(path)):
            reply = worker.ask(request, until, descriptors)
            if not isinstance(reply, dict) or reply.get("fault"):
                raise HarnessFault(f"the null solution failed at {request['op']}: {reply}")
        desk = Desk(worker, workload, arena, Seeds.fresh())
        return _timed(desk, len(arena.sets))
    finally:
        worker.close(orderly=True)


def _opening(
    workload: Workload, arena: Arena, path: str
) -> list[tuple[dict[str, Any], tuple[int, ...]]]:
    """The requests that bring the null solution to its first call."""
    made = take_apart(arguments(workload.structure, workload.outputs))
    requests: list[tuple[dict[str, Any], tuple[int, ...]]] = [
        ({"op": "open", "device": str(workload.device), "threads": 1}, ()),
        ({"op": "load", "path": path, "module": "null_solution"}, ()),
        ({"op": "build", "arguments": list(made.parts), "keywords": {"dict": []},
          "dtype": None, "seed": "0"}, ()),
    ]  # fmt: skip
    for number in range(len(arena.sets)):
        request, descriptors = arena.input_request(number)
        requests.append(({**request, "arguments": list(workload.parts)}, descriptors))
    request, descriptors = arena.output_request()
    requests.append(({**request, "structure": workload.structure}, descriptors))
    return requests


def _timed(desk: Desk, sets: int) -> Overhead:
    patience = Patience(Phase.TIME, DEADLINE_S)
    trials: list[Trial] = []
    for number in range(TRIALS + 2):
        trial = desk.trial(Call(number % sets, DECLARED, 0.0, False), patience)
        if isinstance(trial, Failed):
            raise HarnessFault(f"the null solution failed: {trial.detail}")
        trials.append(trial)
    kept = trials[2:]  # the first two touch the pages
    return clocks.overhead([reading(one) for one in kept])
