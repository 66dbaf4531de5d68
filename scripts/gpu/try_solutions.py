"""Try the repository's solutions on the GPU at hand: is each right, and roughly how fast.

    python3 scripts/gpu/try_solutions.py [FILTER]... [--sweep] [--deadline SECONDS]

A FILTER is a part of `<problem>/<solution>`, such as `87` or `cuda`; `--sweep` times the variants
of problem 87's own kernels. This is for a kernel's author between two edits: it trusts the
solution, runs in its process and keeps no record. `run_eval.py` is what judges.

Each solution gets a process, because an illegal access ends its process's CUDA context; all of
them import torch at once and then wait for their turn on the device.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALLS = 20
FLUSH_BYTES = 256 * 2**20  # several times the largest L2, so that each call starts cold
SPIN_CYCLES = 2_000_000  # about 1 ms: the launch is queued before the device gets to it
# Rows of the first axis that the fp64 truth of the full size takes at a time; others go whole.
CHUNKS = {"87": 1, "23": 256, "93": 1024}
ROW = "{name:<54} {odd:>9} {full:>9} {ms:>9} {ratio:>8}  {note}\n"
SWEEPS: dict[str, list[dict[str, int]]] = {
    "87_conv_pointwise_2D/triton_tf32": [
        {"PIXELS": pixels, "ROWS": 32, "WARPS": warps, "STAGES": stages, "REGISTERS": registers}
        for pixels, warps, stages, registers in itertools.product(
            (64, 128, 256), (2, 4, 8), (1, 2, 3), (96, 128, 255)
        )
        if 16 <= pixels // warps <= 64
    ],
    "87_conv_pointwise_2D/cuda_tf32": [
        {"TILE": tile, "DEEP": deep} for tile, deep in itertools.product((32, 64, 128), (2, 3, 4))
    ],
}


def module_at(path: Path) -> Any:
    """Import the file at `path` under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"tried_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton and dataclasses look the module up by name
    spec.loader.exec_module(module)
    return module


def odd_convolutions() -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield tails in channels and pixels, one aligned case of each kernel, and channels last."""
    import torch

    for init, size in (
        ([3, 64], (2, 7, 9)),
        ([65, 130, True], (1, 31, 33)),
        ([1, 1], (1, 1, 5)),
        ([64, 128, True], (1, 30, 34)),
        ([64, 256], (3, 5, 13)),
        ([300, 17, True], (1, 65, 65)),
    ):
        yield init, [torch.randn(size[0], init[0], *size[1:])]
    yield [64, 128], [torch.randn(2, 12, 20, 64).permute(0, 3, 1, 2)]


def odd_products() -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield products with tails in all three axes."""
    import torch

    for m, k, n in ((1, 1, 1), (65, 33, 130), (257, 1000, 511)):
        yield [], [torch.randn(m, k), torch.randn(k, n)]


def odd_rows(*, labels: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield rows shorter and longer than a tile, with integer labels where they are wanted."""
    import torch

    for rows, columns in ((1, 2), (3, 5), (1000, 777), (5, 100_001)):
        drawn = [torch.randint(0, columns, (rows,))] if labels else []
        yield [], [torch.randn(rows, columns), *drawn]


def odd_sums() -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield rows shorter and longer than a tile, and a first axis."""
    import torch

    for shape, dim in (((1, 1), 1), ((3, 5), 0), ((65, 1000), 1), ((5, 100_001), -1)):
        yield [dim], [torch.rand(shape), torch.randint(0, 2, shape).bool()]


ODD_CASES: dict[str, Callable[[], Iterator[tuple[list[Any], list[Any]]]]] = {
    "87": odd_convolutions,
    "1": odd_products,
    "23": functools.partial(odd_rows, labels=False),
    "95": functools.partial(odd_rows, labels=True),
    "93": odd_sums,
}


def pair(problem: Any, solution: Any, init: list[Any]) -> tuple[Any, Any]:
    """Construct the fp64 reference and the solution with the same weights, on the device."""
    import torch

    torch.manual_seed(7)
    reference = problem.Model(*init).cuda()
    candidate = solution.ModelNew(*init).cuda()
    candidate.load_state_dict(reference.state_dict())
    if hasattr(candidate, "prepare"):
        candidate.prepare()
    return reference.double(), candidate


def relative_error(reference: Any, inputs: list[Any], output: Any, chunk: int | None) -> float:
    """Relative L2 distance of `output` to the fp64 truth, `chunk` rows of it at a time."""
    import torch

    step = chunk or max(1, len(inputs[0]))
    squares = torch.zeros(2, dtype=torch.float64, device="cuda")
    for start in range(0, len(inputs[0]), step):
        part = [x if chunk is None else x[start : start + step] for x in inputs]
        truth = reference(*[x.double() if x.is_floating_point() else x for x in part])
        found = output if chunk is None else output[start : start + step]
        if found.shape != truth.shape:
            return float("nan")
        squares += torch.stack(((found - truth).square().sum(), truth.square().sum()))
    return float((squares[0] / squares[1].clamp_min(1e-300)).sqrt())


def cold_times(call: Callable[[], Any]) -> list[float]:
    """Milliseconds between events around each of the calls, L2 flushed before each."""
    import torch

    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    times = []
    for _ in range(CALLS):
        flush.zero_()
        torch.cuda._sleep(SPIN_CYCLES)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return times


def try_full(problem: Any, solution: Any, number: str) -> dict[str, Any]:
    """Compare and time the solution at the problem's declared axes."""
    import torch

    with torch.device("cuda"):
        inputs = problem.get_inputs()
    reference, candidate = pair(problem, solution, problem.get_init_inputs())
    started = time.perf_counter()
    output = candidate(*inputs)
    torch.cuda.synchronize()
    first = time.perf_counter() - started
    error = relative_error(reference, inputs, output, CHUNKS.get(number))
    del output
    times = cold_times(lambda: candidate(*inputs))
    return {"full": error, "ms": statistics.median(times), "least": min(times), "first_s": first}


def try_odd(problem: Any, solution: Any, number: str) -> float:
    """Return the worst relative error over the odd shapes."""
    import torch

    worst = 0.0
    torch.manual_seed(11)
    with torch.device("cuda"):
        cases = list(ODD_CASES[number]())
    for init, inputs in cases:
        reference, candidate = pair(problem, solution, init)
        error = relative_error(reference, inputs, candidate(*inputs), None)
        worst = error if error != error else max(worst, error)  # NaN is the worst
        if worst != worst:
            raise ValueError(f"wrong shape or NaN at {init} {[x.shape for x in inputs]}")
    return worst


def apply_settings(solution: Any, settings: dict[str, int], source: str | None) -> str:
    """Set one variant's constants in the module, or as macros before its CUDA source."""
    if source is None:
        for key, value in settings.items():
            setattr(solution, key, value)
    else:
        macros = "".join(f"#define {key} {value}\n" for key, value in settings.items())
        solution.CUDA_SOURCE = macros + source
        solution.library.cache_clear()
    return " ".join(f"{key}={value}" for key, value in settings.items())


def child(name: str, *, sweep: bool) -> None:
    """Import, wait for a line on stdin, then write one JSON line per result."""
    import torch

    folder, stem = name.split("/")
    number = folder.split("_")[0]
    torch.set_grad_enabled(mode=False)
    input()  # this solution's turn on the device
    problem = module_at(ROOT / "problems" / "level1" / f"{folder}.py")
    solution = module_at(ROOT / "solutions" / "level1" / folder / f"{stem}.py")
    source = getattr(solution, "CUDA_SOURCE", None)
    for settings in SWEEPS[name] if sweep else [{}]:
        row: dict[str, Any] = {"note": apply_settings(solution, settings, source)}
        steps: list[Callable[[], dict[str, Any]]] = [
            lambda: try_full(problem, solution, number),
            lambda: {} if sweep else {"odd": try_odd(problem, solution, number)},
        ]
        for step in steps:
            try:
                row |= step()
            except Exception as error:  # the next step or variant still has something to say
                traceback.print_exc()
                row["note"] += f" {type(error).__name__}: {str(error).strip()[:160]}"
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def names(filters: list[str]) -> list[str]:
    """List `<problem>/<solution>` for every solution that a filter matches, eager first."""
    found = sorted(
        (path.parent.name, path.stem != "eager", path.stem)
        for path in (ROOT / "solutions" / "level1").glob("*/*.py")
    )
    every = [f"{folder}/{stem}" for folder, _, stem in found]
    return [name for name in every if not filters or any(part in name for part in filters)]


def start(name: str, *, sweep: bool, scratch: Path) -> subprocess.Popen[str]:
    """Start the child of `name`, its caches and its log in a folder of its own."""
    folder = scratch / name.replace("/", "-")
    folder.mkdir()
    caches = ("TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR")
    environment = os.environ | {key: str(folder / key) for key in caches}
    command = [sys.executable, __file__, "--child", name, *(["--sweep"] if sweep else [])]
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            cwd=folder,
        )


def rows_of(process: subprocess.Popen[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Give the child its turn and yield its results; end it after `seconds`."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the child has no pipes")
    with contextlib.suppress(BrokenPipeError):  # it died before its turn: its exit code says so
        process.stdin.write("go\n")
        process.stdin.close()
    end = threading.Timer(max(seconds, 1.0), process.kill)
    end.start()
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
    process.wait()
    end.cancel()
    if process.returncode == -signal.SIGKILL:
        yield {"note": f"killed, most likely out of time ({seconds:.0f} s)"}
    elif process.returncode != 0:
        yield {"note": f"ended with exit code {process.returncode}"}


def formatted(name: str, row: dict[str, Any], eager_ms: float | None) -> str:
    """Lay out one result as a line of the table."""
    ms = row.get("ms")
    note = row.get("note", "")
    if "first_s" in row:
        note = f"least {row['least']:.3f}, first call {row['first_s']:.1f} s {note}"
    return ROW.format(
        name=name,
        odd=f"{row['odd']:.2e}" if "odd" in row else "-",
        full=f"{row['full']:.2e}" if "full" in row else "-",
        ms=f"{ms:.3f}" if ms else "-",
        ratio=f"{eager_ms / ms:.2f}x" if ms and eager_ms else "-",
        note=note,
    )


def parent(chosen: list[str], *, sweep: bool, deadline: float) -> None:
    """Run the children one after another on the device and print a table."""
    until = time.monotonic() + deadline
    sys.stdout.write(
        ROW.format(name="", odd="odd L2", full="full L2", ms="ms", ratio="vs eager", note="")
    )
    eager: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        processes = {
            name: start(name, sweep=sweep and name in SWEEPS, scratch=Path(scratch))
            for name in chosen
        }
        for position, (name, process) in enumerate(processes.items()):
            # What is left is shared fairly, but a lone slow child may use most of it.
            left = until - time.monotonic()
            share = left if sweep else left / min(3, len(processes) - position)
            folder, stem = name.split("/")
            for row in rows_of(process, share):
                if stem == "eager" and "ms" in row:
                    eager[folder] = row["ms"]
                sys.stdout.write(formatted(name, row, eager.get(folder)))
                sys.stdout.flush()
                if "Error" in row["note"] or "exit code" in row["note"]:
                    log = Path(scratch) / name.replace("/", "-") / "log"
                    sys.stderr.write(f"--- {name}\n{log.read_text()[-1500:]}\n")


def main() -> None:
    """Parse the command line and run as the parent or as one of its children."""
    parser = argparse.ArgumentParser(description="Try the solutions on the GPU at hand.")
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--sweep", action="store_true", help="time variants of 87's kernels")
    parser.add_argument("--deadline", type=float, default=120.0, help="seconds for everything")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, sweep=asked.sweep)
        return
    chosen = names(asked.filters)
    if asked.sweep:
        chosen = [n for n in chosen if n in SWEEPS or n == "87_conv_pointwise_2D/eager"]
    parent(chosen, sweep=asked.sweep, deadline=asked.deadline)


if __name__ == "__main__":
    main()
