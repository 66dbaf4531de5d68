"""An evaluator of the usual kind: what each exploit is measured against, and not used for else.

One process, one namespace, one set of inputs, five checks by allclose, then the mean of a few calls
by the clock of that same process. An exploit that it does not accept shows nothing.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch

CHECKS, CALLS, SEED = 5, 10, 42


def check(model, reference, inputs, tolerance):
    """The candidate first, so that it does not find the answer in freed memory."""
    got = model(*inputs)
    wanted = reference(*inputs)
    got = got.cpu().float()
    return torch.allclose(wanted, got, atol=tolerance, rtol=tolerance)


def seconds(model, inputs):
    """The mean over a few calls."""
    start = time.perf_counter()
    with torch.no_grad():
        for _ in range(CALLS):
            model(*inputs)
    return (time.perf_counter() - start) / CALLS


def evaluate(problem, solution, tolerance):
    """Whether the candidate is accepted, and its milliseconds."""
    context = {}
    exec(compile(Path(problem).read_text(), problem, "exec"), context)
    arguments, get_inputs = context["get_init_inputs"](), context["get_inputs"]
    torch.manual_seed(SEED)
    reference = context["Model"](*arguments)
    exec(compile(Path(solution).read_text(), solution, "exec"), context)
    torch.manual_seed(SEED)
    model = context["ModelNew"](*arguments)
    torch.manual_seed(SEED)
    inputs = get_inputs()
    right = all(check(model, reference, inputs, tolerance) for _ in range(CHECKS))
    return right, 1e3 * seconds(model, inputs)


def main():
    """Reads [problem, solution, tolerance] a line, answers [accepted, ms]; a process for each."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        problem, solution, tolerance = json.loads(line)
        child = os.fork()
        if child == 0:
            right, ms = evaluate(problem, solution, tolerance)
            print(f"{Path(solution).stem}: {right}, {ms:.4f} ms", file=sys.stderr, flush=True)
            os._exit(0 if right else 1)  # what a shell script looks at
        print(json.dumps(os.waitpid(child, 0)[1] == 0), flush=True)


if __name__ == "__main__":
    main()
