"""A small leaderboard to publish: four solutions, three of them ranked, one that failed."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from harness.record import schema
from harness.record.ranking import Ranking, rank
from tests.record import examples

EAGER = tuple(3.54 + place for place in (-0.02, -0.01, 0.0, 0.01, 0.02) * 4 for _ in range(5))


def solved(name: str, ms: float, backend: str, **changes: Any) -> schema.Record:
    digest = "sha256:" + name.encode("utf-8", "replace").hex().ljust(64, "0")[:64]
    values = {
        "id": f"20260601T120000-{len(name):012x}",
        "solution": examples.solution(name, digest=digest, backend=backend),
        "samples_ms": tuple(sample * ms / 3.54 for sample in EAGER),
        "baseline": examples.baseline(EAGER),
    }
    return examples.record(**{**values, **changes})


def records() -> list[schema.Record]:
    eager = solved("eager", 3.54, "eager", id="the-baseline")
    failed = examples.failed(
        schema.Status.COMPILE_ERROR,
        "syntax_error",
        phase=schema.Phase.LOAD,
        detail="line 3: '(' was never closed",
    )
    broken = solved(
        "cuda_tf32", 1.0, "cuda", verdict=failed, timing=None, precision=None, baseline=None
    )
    return [
        eager,
        solved("inductor", 10.12, "inductor"),
        solved("triton_tf32", 3.4, "triton"),
        broken,
    ]


def ranking(*given: schema.Record, **options: Any) -> Ranking:
    return rank(given or records(), now=examples.NOW, **options)


def screen(*, terminal: bool = False, width: int = 120) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system=None,
        legacy_windows=False,
    )


def text_on(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
