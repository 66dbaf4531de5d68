"""From an outcome to the record that it leaves. Owns the translation and no judgement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import torch

from harness.floor.floor import Floor
from harness.judge import dossier
from harness.judge.clocks import Agreement, Overhead
from harness.judge.evaluation import Evaluation
from harness.judge.findings import Findings
from harness.judge.lint import Lint
from harness.judge.provenance import provenance
from harness.judge.seeds import Seeds
from harness.judge.workload import Workload
from harness.record import environment
from harness.record.schema import (
    BaselineSection,
    EnvironmentSection,
    Failed,
    FloorSection,
    OriginSection,
    Passed,
    PrecisionSection,
    Record,
    ResourcesSection,
    SeedsSection,
    TimingSection,
    WeightsSection,
    new_id,
)
from harness.record.strict_json import plain
from harness.sandbox import limits
from harness.spec.experiment import Experiment
from harness.spec.problem import BadProblem, Problem, Sidecar, Sized
from harness.spec.sidecar import FULL
from harness.spec.solution import Solution


@dataclass
class Outcome:
    """What an evaluation came to; what it never got to is None."""

    verdict: Failed | Passed
    evaluation: Evaluation | None = None
    workload: Workload | None = None
    over: Overhead | None = None
    agreement: Agreement | None = None
    floor: Floor | None = None
    lint: Lint | None = None
    interpreted: bool = False
    claimed: str = "other"


class Filing:
    """Writes the records of one session."""

    def __init__(
        self,
        experiment: Experiment,
        device: torch.device,
        uuid: str | None,
        root: Path,
        run_id: str,
    ) -> None:
        self._experiment, self._device, self._uuid = experiment, device, uuid
        self._root, self._run_id = root, run_id
        self._harness = dossier.harness_section(root)

    def dtype(self) -> str:
        """The workload's dtype: KernelBench's problems declare fp32."""
        return "fp32" if self._experiment.dtype == "auto" else self._experiment.dtype

    def bad_problem(
        self, bad: BadProblem, solution: Solution, outcome: Outcome, started: datetime
    ) -> Record:
        """The record of a file that can be no problem."""
        nothing = Problem(bad.path, bad.source, bad.name, bad.level, bad.number, Sidecar())
        sized = Sized(nothing, FULL, {}, {}, bad.source)
        return self.record(
            sized, solution, None, outcome, Seeds.fresh(), started, is_baseline=False
        )

    def record(
        self,
        sized: Sized,
        solution: Solution,
        baseline: Record | None,
        outcome: Outcome,
        seeds: Seeds,
        started: datetime,
        *,
        is_baseline: bool,
    ) -> Record:
        """One record, every key in it, null where there is nothing to say."""
        id_ = new_id(started)
        timing = self._timing(outcome)
        return Record(
            id=id_,
            run_id=self._run_id,
            observed_at=started,
            problem=dossier.problem_section(
                sized, self.dtype(), outcome.lint.plain() if outcome.lint else {}
            ),
            workload_digest=outcome.workload.digest if outcome.workload else None,
            solution=dossier.solution_section(solution, self._root),
            verdict=outcome.verdict,
            precision=self._precision(outcome),
            weights=_weights(outcome),
            provenance=_provenance(outcome) or None,
            timing=timing,
            baseline=_own_baseline(id_, solution, timing) if is_baseline else _baseline(baseline),
            floor=_floor(outcome.floor, self._device),
            environment=self._environment(outcome),
            resources=_resources(outcome),
            protocol=dossier.protocol(self._experiment.cache),
            origin=OriginSection(kind="measured", source=None, license=None, attempts=1),
            seeds=_seeds(outcome, seeds),
            harness=self._harness,
        )

    def _precision(self, outcome: Outcome) -> PrecisionSection | None:
        if outcome.evaluation is None or outcome.workload is None:
            return None
        passed = isinstance(outcome.verdict, Passed)
        asked = outcome.evaluation.asked.class_
        return dossier.precision_section(
            outcome.workload, outcome.evaluation.findings, asked, passed=passed
        )

    def _timing(self, outcome: Outcome) -> TimingSection | None:
        if outcome.evaluation is None:
            return None
        timed = dossier.Timed(
            clock="cuda_event" if self._device.type == "cuda" else "perf_counter",
            engine="interpreter" if outcome.interpreted else "device",
            trials=self._experiment.trials,
            cache=self._experiment.cache,
            over=outcome.over,
            agreement=outcome.agreement,
        )
        return dossier.timing_section(outcome.evaluation.findings, timed)

    def _environment(self, outcome: Outcome) -> EnvironmentSection:
        findings = outcome.evaluation.findings if outcome.evaluation else None
        return environment.environment(
            str(self._device),
            uuid=self._uuid,
            flags=_flags(findings) if findings else {},
            isolation=dict(limits.layers()),
            readings=findings.telemetry if findings else (),
        )


def _flags(findings: Findings) -> dict[str, str]:
    """Switches as the worker found them, and those that importing or calling has changed."""
    found = dict(findings.flags)
    for moment, later in (
        ("import", findings.flags_imported),
        ("calls", findings.flags_after),
    ):
        for name, value in later.items():
            if found.get(f"{name} after import", found.get(name)) != value:
                found[f"{name} after {moment}"] = value
    return found


def _provenance(outcome: Outcome) -> dict[str, Any]:
    """What ran on the device; empty where no profiler was asked."""
    evaluation = outcome.evaluation
    if evaluation is None or evaluation.findings.kernels is None:
        return {}
    found = plain(provenance(evaluation.source, outcome.claimed, evaluation.findings.kernels))
    assert isinstance(found, dict)
    return found


def _weights(outcome: Outcome) -> WeightsSection | None:
    if outcome.evaluation is None:
        return None
    return WeightsSection(policy=outcome.evaluation.findings.policy)


def _baseline(baseline: Record | None) -> BaselineSection | None:
    if baseline is None or baseline.timing is None or isinstance(baseline.verdict, Failed):
        return None
    return BaselineSection(
        solution=baseline.solution.name,
        solution_digest=baseline.solution.digest,
        record_id=baseline.id,
        samples_ms=baseline.timing.samples_ms,
        wall_ms=baseline.timing.wall_ms,
    )


def _own_baseline(
    own_id: str, solution: Solution, timing: TimingSection | None
) -> BaselineSection | None:
    """The baseline stands at 1.00× against itself."""
    if timing is None:
        return None
    return BaselineSection(
        solution=solution.name,
        solution_digest=solution.digest,
        record_id=own_id,
        samples_ms=timing.samples_ms,
        wall_ms=timing.wall_ms,
    )


def _floor(found: Floor | None, device: torch.device) -> FloorSection | None:
    if found is None:
        return None
    return FloorSection(
        policy=found.policy,
        bytes=found.bytes,
        flops=found.flops,
        floor_ms=found.floor_ms,
        bound=found.bound,
        bandwidth_gbps=found.bandwidth_gbps,
        peak_tflops=found.peak_tflops,
        measured_gbps=found.bandwidth_gbps if device.type == "cpu" else None,
        hardware=found.hardware,
        source=found.source,
    )


def _resources(outcome: Outcome) -> ResourcesSection | None:
    if outcome.workload is None:
        return None
    peak = outcome.evaluation.findings.peak_bytes if outcome.evaluation else None
    return ResourcesSection(needed_bytes=outcome.workload.needed_bytes(), peak_bytes=peak)


def _seeds(outcome: Outcome, seeds: Seeds) -> SeedsSection | None:
    if outcome.workload is None:
        return None
    if outcome.evaluation is not None:
        seeds = outcome.evaluation.seeds  # a second attempt has its own
    return SeedsSection(
        inputs=seeds.inputs, weights=outcome.workload.weights_seed, forward=seeds.forward
    )
