"""From findings to the sections of a record. Owns the translation and no judgement."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.judge import evaluation as stages
from harness.judge import families, precision, schedule
from harness.judge.clocks import Agreement, Overhead
from harness.judge.findings import Findings
from harness.judge.workload import Workload
from harness.record.schema import (
    Block,
    HarnessSection,
    PrecisionSection,
    ProblemSection,
    ProtocolSection,
    SolutionSection,
    TimingSection,
)
from harness.record.strict_json import plain
from harness.spec.problem import Sized
from harness.spec.solution import Solution

VERSION = "0.1.0"
PROTOCOL_VERSION = 1  # raised whenever older numbers stop being comparable


def protocol(cache: str) -> ProtocolSection:
    """The rules of judging and timing as a digest: of their constants, not of their code."""
    rules = {
        "version": PROTOCOL_VERSION,
        "cache": cache,
        "margin": precision.MARGIN,
        "ulps": precision.ULPS,
        "small": [precision.SMALL, precision.SMALL_DRAWS, precision.SINGLE, precision.POOLED],
        "families": sorted(families.FAMILIES),
        "block": schedule.BLOCK,
        "deciding_share": schedule.DECIDING_SHARE,
        "stress_share": schedule.STRESS_SHARE,
        "warmup": stages.WARMUP,
        "spin": [stages.SPIN_FACTOR, stages.SPIN_MAX_MS],
    }
    text = json.dumps(rules, sort_keys=True)
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return ProtocolSection(version=PROTOCOL_VERSION, digest=digest)


def harness_section(root: Path) -> HarnessSection:
    """Which harness judged: its commit, and whether files differ from it."""
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    dirty = None if commit is None or status is None else bool(status)
    return HarnessSection(version=VERSION, commit=commit, dirty=dirty)


def _git(root: Path, *arguments: str) -> str | None:
    if not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def problem_section(sized: Sized, dtype: str, lint: Mapping[str, Any]) -> ProblemSection:
    """Which workload."""
    problem = sized.problem
    return ProblemSection(
        name=problem.name,
        level=problem.level,
        number=problem.number,
        family=problem.sidecar.family,
        reference_digest=problem.reference_digest,
        size=sized.size,
        axes=_plain(sized.axes),
        init=_plain(sized.init),
        dtype=dtype,
        lint=_plain(lint),
    )


def solution_section(solution: Solution, root: Path) -> SolutionSection:
    """Which source; paths inside the checkout are told from its root."""
    path = solution.path
    if path is not None and path.is_absolute() and path.is_relative_to(root):
        path = path.relative_to(root)
    return SolutionSection(
        name=solution.name,
        backend=solution.backend,
        digest=solution.digest,
        path=str(path) if path is not None else None,
        license=solution.license,
        author=solution.author,
        source_url=solution.source_url,
        claims=_plain(solution.claims),
    )


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    found = plain(dict(value))
    assert isinstance(found, dict)
    return found


def precision_section(
    workload: Workload, findings: Findings, asked: str, *, passed: bool
) -> PrecisionSection:
    """What accuracy was reached; the class is null where the verdict is not passed."""
    reached = findings.ledger.reached(asked) if passed else None
    worst = {name: _finite(value) for name, value in findings.worst.items()}
    budgets = {
        family: {
            class_: [_finite(one) for one in found[class_].metrics] for class_ in precision.CLASSES
        }
        for family, found in findings.budgets.items()
    }
    split = workload.oracle.split.axis
    where = oracle_name(workload.oracle.kind, split)
    return PrecisionSection.model_validate(
        {
            "class": reached,
            "asked": asked,
            "oracle": where,
            "rel_l2": worst.get("rel_l2"),
            "max_abs": worst.get("max_abs"),
            "worst_block": worst.get("worst_block"),
            "budgets": _plain(budgets),
            "checks": findings.checks,
            "families": tuple(findings.budgets),
        }
    )


def oracle_name(kind: str, split: int | None) -> str:
    """How truth was computed, in one word or two."""
    return kind if split is None else f"{kind} in chunks of axis {split}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Timed:
    """What the timing section needs beside the findings."""

    clock: str
    engine: str
    trials: int
    cache: str
    over: Overhead | None
    agreement: Agreement | None


def timing_section(findings: Findings, timed: Timed) -> TimingSection | None:
    """The raw samples; null where no trial was timed."""
    if not findings.trials:
        return None
    over, agreed = timed.over, timed.agreement
    return TimingSection.model_validate(
        {
            "clock": timed.clock,
            "engine": timed.engine,
            "trials": timed.trials,
            "samples_ms": tuple(one.device_ms for one in findings.trials),
            "blocks": tuple(
                Block(start=start, order=None, family=family) for start, family in findings.blocks
            ),
            "wall_ms": tuple(one.wall_ms for one in findings.trials),
            "tail_ms": tuple(one.tail_ms for one in findings.trials),
            "overhead_ms": over.median_ms if over else None,
            "overhead_noise_ms": over.noise_ms if over else None,
            "clock_window_ms": agreed.window_ms if agreed else None,
            "bound_us": None,
            "host_ms": findings.host_ms,
            "bursts": (),
            "warmup": findings.warmup,
            "discarded": findings.discarded,
            "cache": timed.cache,
            "prepare_s": findings.prepare_ms / 1e3,
            "build_s": findings.build_ms / 1e3,
            "launches": "eager",
        }
    )
