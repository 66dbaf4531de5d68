"""Runs one Triton solution in the interpreter over its cases and prints one JSON line per case.

Started by `test_interpreter.py` as a process of its own: TRITON_INTERPRET must be set before
Triton is imported. Usage: interpreted.py NUMBER STEM
"""

from __future__ import annotations

import copy
import json
import sys

import loading
import torch


def drawn(*shape):
    return torch.randn(*shape)


def labelled(rows, classes):
    return [drawn(rows, classes), torch.randint(0, classes, (rows,))]


def masked(*shape):
    return [drawn(*shape), torch.randint(0, 2, shape).bool()]


def convolutions():
    yield "smoke", [64, 128], [torch.rand(2, 64, 32, 32)]
    yield "bias", [64, 128, True], [drawn(2, 64, 32, 32)]
    yield "3 to 64", [3, 64], [drawn(2, 3, 7, 9)]
    yield "65 to 130", [65, 130, True], [drawn(1, 65, 5, 63)]
    yield "one of everything", [1, 1], [drawn(1, 1, 1, 1)]
    yield "several tiles and chunks", [300, 17, True], [drawn(1, 300, 65, 65)]
    yield "channels last", [16, 32], [drawn(2, 6, 5, 16).permute(0, 3, 1, 2)]
    yield "every other pixel", [8, 8], [drawn(1, 8, 6, 20)[..., ::2]]
    yield "empty batch", [8, 8], [drawn(0, 8, 6, 6)]


def products():
    yield "smoke", [], [torch.rand(128, 128), torch.rand(128, 128)]
    yield "one of everything", [], [drawn(1, 1), drawn(1, 1)]
    yield "odd", [], [drawn(65, 33), drawn(33, 130)]
    yield "several tiles", [], [drawn(530, 600), drawn(600, 513)]
    yield "transposed", [], [drawn(33, 65).T, drawn(7, 33).T]


def softmaxes():
    yield "smoke", [], [torch.rand(32, 1536)]
    yield "one of everything", [], [drawn(1, 1)]
    yield "odd", [], [drawn(65, 1000)]
    yield "several tiles", [], [drawn(3, 70_001)]
    yield "large scores", [], [drawn(5, 999) * 1000]
    yield "transposed", [], [drawn(33, 65).T]
    infinite = drawn(4, 40)
    infinite[0, 3] = float("-inf")
    yield "an impossible class", [], [infinite]


def losses():
    yield "smoke", [], [torch.rand(256, 512), torch.randint(0, 512, (256,))]
    yield "one of everything", [], labelled(1, 1)
    yield "odd", [], labelled(301, 777)
    yield "several tiles", [], labelled(7, 9001)
    yield "large scores", [], [drawn(5, 99) * 1000, torch.randint(0, 99, (5,))]
    yield "ignored labels", [], [drawn(6, 9), torch.tensor([1, -100, 3, 8, -100, 0])]
    yield "transposed", [], [drawn(9, 5).T, torch.tensor([0, 1, 2, 3, 8])]


def sums():
    yield "smoke", [1], [torch.rand(4, 32768), torch.randint(0, 2, (4, 32768)).bool()]
    yield "one of everything", [1], masked(1, 1)
    yield "odd", [1], masked(65, 1000)
    yield "several tiles", [-1], masked(3, 70_001)
    yield "first axis", [0], masked(33, 5)
    yield "middle of three", [1], masked(3, 40, 5)


CASES = {"87": convolutions, "1": products, "23": softmaxes, "95": losses, "93": sums}


def measured(reference, candidate, inputs):
    truth = reference(*[x.double() if x.is_floating_point() else x for x in inputs])
    given = [x.clone() for x in inputs]
    output = candidate(*inputs)
    distance = (output - truth).norm() / truth.norm().clamp_min(1e-300)
    return {
        "error": float(distance) if output.shape == truth.shape and output.numel() else 0.0,
        "shape": list(output.shape) == list(truth.shape),
        "dtype": str(output.dtype),
        "contiguous": output.is_contiguous(),
        "inputs_kept": all(torch.equal(a, b) for a, b in zip(inputs, given, strict=True)),
    }


def main(number: str, stem: str) -> None:
    torch.manual_seed(3)
    torch.set_grad_enabled(mode=False)
    problem, solution = loading.problem(number), loading.solution(number, stem)
    for name, init, inputs in CASES[number]():
        reference = problem.Model(*init)
        candidate = solution.ModelNew(*init)
        candidate.load_state_dict(reference.state_dict())
        row = measured(copy.deepcopy(reference).double(), candidate, inputs)
        for parameter in reference.parameters():
            parameter.normal_()
        candidate.load_state_dict(reference.state_dict())
        again = measured(reference.double(), candidate, inputs)
        print(json.dumps({"case": name, **row, "error_after_loading_again": again["error"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
