"""A judge at work: one device, its fork servers, its workloads; evaluations in, records out.

Owns what is kept between evaluations and what is thrown away after each. Every evaluation gives a
record, also where the problem, the machine or the harness failed.
"""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch

from harness.faults import HarnessFault
from harness.judge import clocks, dossier, null, oracle, readiness, suspicion, verdicts
from harness.judge.arena import Arena
from harness.judge.clocks import Overhead
from harness.judge.evaluation import Asked, Evaluation
from harness.judge.events import Listener, Note
from harness.judge.filing import Filing, Outcome
from harness.judge.findings import Findings
from harness.judge.floors import Floors
from harness.judge.lint import Lint, lint
from harness.judge.reference import ReferenceFault
from harness.judge.seeds import Seeds
from harness.judge.trial import reading
from harness.judge.workload import Workload
from harness.record import environment
from harness.record.schema import Failed, Passed, Phase, Record, Status, new_id
from harness.sandbox.launch import Server, ServerDied
from harness.sandbox.lock import device_lock
from harness.spec.experiment import Experiment
from harness.spec.problem import BadProblem, Sized, resize
from harness.spec.solution import Solution

ASKED = {"fp32": "tf32", "fp16": "fp16", "bf16": "bf16"}  # by dtype, where the config says auto
# After these the next worker comes from a new server: what the old one is worth is not known.
SERVER_SUSPECT = ("worker_crashed", "worker_killed", "fork_server_ended", "fork_server_touched",
                  "processes_left_behind", "cannot_be_stopped")  # fmt: skip


class Session:
    """Opened once for a run; closes its servers and gives the device back at the end."""

    def __init__(
        self, experiment: Experiment, device: torch.device, root: Path, listener: Listener
    ) -> None:
        self.experiment, self.device = experiment, device
        self.root, self.listener = root, listener
        self.run_id = new_id()
        self._servers: dict[bool, Server] = {}
        self._workloads: dict[tuple[str, ...], Workload] = {}
        self._overheads: dict[int, Overhead] = {}
        self._lint: Lint | None = None
        self._floors = Floors(device, lambda text: listener(Note(text)))
        self._kept = contextlib.ExitStack()
        oracle.true_fp32()
        if device.type == "cuda":
            readiness.require_bindings()
            torch.cuda.set_device(device)
            self._uuid: str | None = str(torch.cuda.get_device_properties(device).uuid)
            self._kept.enter_context(
                device_lock(str(self._uuid), lambda text: listener(Note(text)))
            )
        else:
            self._uuid = None
        self._filing = Filing(experiment, device, self._uuid, root, self.run_id)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the servers and all that they have left, let go of the device."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        self._workloads.clear()
        self._kept.close()

    # -- what is asked ---------------------------------------------------------------------------

    def evaluate(
        self,
        sized: Sized,
        solution: Solution,
        baseline: Record | None,
        *,
        is_baseline: bool = False,
    ) -> Record:
        """One evaluation, a fault of the harness retried once; the record is not yet stored."""
        started = datetime.now(UTC)
        for attempt in (1, 2):
            seeds = Seeds.fresh()  # a second attempt must not repeat inputs that were seen
            try:
                outcome = self._outcome(sized, solution, seeds)
                break
            except (HarnessFault, ServerDied, torch.OutOfMemoryError, MemoryError) as error:
                self._forget_servers()
                if attempt == 2 or isinstance(error, torch.OutOfMemoryError | MemoryError):
                    outcome = Outcome(_our_fault(error))
                    break
                self.listener(Note(f"retrying {solution.name}: {error}"))
            except Exception as error:  # a bug of ours must not end the run
                self._forget_servers()
                outcome = Outcome(_our_fault(error))
                break
        return self._filing.record(
            sized, solution, baseline, outcome, seeds, started, is_baseline=is_baseline
        )

    def bad_problem(self, bad: BadProblem, solution: Solution) -> Record:
        """The one record of a file that can be no problem."""
        failed = verdicts.failed(Status.INVALID_REFERENCE, Phase.LOAD, bad.reason, bad.detail)
        return self._filing.bad_problem(bad, solution, Outcome(failed), datetime.now(UTC))

    def fitting(self, preferred: tuple[Sized, ...]) -> Sized:
        """The first of several sizes that fits the device's free memory; else the last."""
        for sized in preferred[:-1]:
            try:
                if readiness.memory_short(self._workload(sized), self.device) is None:
                    return sized
            except ReferenceFault:
                return sized  # its verdict will say so
        return preferred[-1]

    def lint(self, sized: Sized) -> tuple[bool, str]:
        """Whether a problem can tell a right answer from none, and a line about it."""
        try:
            workload = self._workload(sized)
            short = readiness.memory_short(workload, self.device)
            if short is not None:
                return False, short.detail
            self._load(workload)
        except ReferenceFault as fault:
            return False, f"invalid: {fault.reason}: {fault.detail}"
        assert self._lint is not None
        return not self._lint.degenerate, self._lint.line()

    @property
    def protocol_digest(self) -> str:
        """Of the rules by which this session judges."""
        return dossier.protocol(self.experiment.cache).digest

    def _outcome(self, sized: Sized, solution: Solution, seeds: Seeds) -> Outcome:
        early = readiness.not_here(solution, self.device, float(self.experiment.deadlines_s.build))
        if early is not None:
            return Outcome(early)
        try:
            workload = self._workload(sized)
            short = readiness.memory_short(workload, self.device)
            if short is not None:
                return Outcome(short, workload=workload)
            self._load(workload)
            return self._judge(workload, solution, seeds)
        except ReferenceFault as fault:
            return Outcome(verdicts.from_reference(fault, Phase.LOAD))

    # -- workloads -------------------------------------------------------------------------------

    def _workload(self, sized: Sized) -> Workload:
        dtype = self._filing.dtype()
        key = (str(sized.problem.path), sized.problem.reference_digest, sized.source,
               str(sorted(sized.init.items())), dtype)  # fmt: skip
        if key not in self._workloads:
            smoke = _smoke_of(sized)
            self._overheads.clear()
            self._workloads.clear()  # one workload's weights and budgets at a time
            self._workloads[key] = Workload(sized, dtype, self.device, smoke, Seeds.fresh().weights)
        return self._workloads[key]

    def _load(self, workload: Workload) -> None:
        if workload.loaded:
            return
        try:
            workload.load()
            workload.check_itself()
            self._lint = lint(workload, self.asked(workload))
            if self._lint.degenerate:
                self.listener(Note(f"{workload.sized.problem.name}: {self._lint.line()}"))
        except ReferenceFault:
            self._workloads.clear()  # it will fail for the next solution as well
            raise

    # -- judging ---------------------------------------------------------------------------------

    def _judge(self, workload: Workload, solution: Solution, seeds: Seeds) -> Outcome:
        """Where the clocks disagree everything is done once more: a machine is busy at times.

        Whoever forges a clock is no better off: the second time it has to get by both rules again.
        """
        outcome = self._judge_once(workload, solution, seeds)
        if outcome.verdict.reason == "clocks_disagree":
            self.listener(Note(f"{solution.name}: the clocks disagree; measuring once more"))
            outcome = self._judge_once(workload, solution, Seeds.fresh())
        return outcome

    def _judge_once(self, workload: Workload, solution: Solution, seeds: Seeds) -> Outcome:
        interpreted = solution.backend == "triton" and self.device.type == "cpu"
        evaluation, failed = self._attempt(workload, solution, seeds, interpreted, seeded=False)
        if failed is not None and _may_be_seeded(evaluation, failed):
            other = Seeds.fresh()
            again, second = self._attempt(workload, solution, other, interpreted, seeded=True)
            if second is None:
                evaluation, failed = again, None
        outcome = Outcome(
            failed or Passed(evidence={}),
            evaluation,
            workload,
            lint=self._lint,
            interpreted=interpreted,
            claimed=solution.backend,
        )
        findings = evaluation.findings
        if findings.trials:
            self._agree(outcome, workload, findings)
        asked = self.asked(workload)
        outcome.floor = self._floors.of(workload.signature, findings.reached(asked) or asked)
        if failed is None:
            outcome.verdict = self._last_questions(outcome, findings)
        return outcome

    def asked(self, workload: Workload) -> str:
        """The class asked for."""
        asked = self.experiment.asked
        return ASKED[workload.dtype] if asked == "auto" else asked

    def _attempt(
        self, workload: Workload, solution: Solution, seeds: Seeds, interpret: bool, *, seeded: bool
    ) -> tuple[Evaluation, Failed | None]:
        asked = Asked(self.experiment, self.asked(workload), self.listener, self._telemetry)
        evaluation = Evaluation(workload, solution.name, solution.source, asked, seeds)
        with contextlib.closing(self._arena(workload)) as arena:
            failed = evaluation.run(self._server(interpret), arena, seeded_only=seeded)
        if failed is not None and failed.reason in SERVER_SUSPECT:
            self._forget_servers()
        return evaluation, failed

    def _arena(self, workload: Workload) -> Arena:
        return Arena(workload, cold=self.experiment.cache == "cold")

    def _telemetry(self) -> environment.Telemetry | None:
        return environment.telemetry(str(self.device), self._uuid)

    def _overhead(self, workload: Workload, *, again: bool = False) -> Overhead:
        key = id(workload)
        if key not in self._overheads or again:
            with contextlib.closing(self._arena(workload)) as arena:
                self._overheads[key] = null.measure(workload, arena, self._server(False))
        return self._overheads[key]

    def _agree(self, outcome: Outcome, workload: Workload, findings: Findings) -> None:
        """Compare the clocks; where they disagree, the overhead is measured again first.

        A machine may have become busier since: the null solution is ours, so a candidate gains
        nothing by it.
        """
        for again in (False, True):
            outcome.over = self._overhead(workload, again=again)
            outcome.agreement = clocks.agreement(
                [reading(one) for one in findings.trials],
                outcome.over,
                spin_ms=findings.spin_ms,
                kind=self.device.type,
            )
            if outcome.agreement.reason is None:
                return

    def _last_questions(self, outcome: Outcome, findings: Findings) -> Failed | Passed:
        """Right so far; now whether trials suffice, clocks agree and the time is possible."""
        wanted, trials = self.experiment.trials, findings.trials
        if len(trials) < wanted:
            return verdicts.failed(
                Status.INCOMPLETE_EVIDENCE,
                Phase.TIME,
                "too_few_trials",
                f"{len(trials)} of {wanted} trials are left; {findings.discarded} were thrown away "
                "because the chip was throttled",
                {"discarded": findings.discarded},
            )
        if outcome.interpreted:  # its time says nothing, and it is never ranked
            return Passed(evidence={})
        assert outcome.agreement is not None
        found = suspicion.disagreeing_clocks(outcome.agreement) or suspicion.compiling(trials)
        if found is None and self.device.type == "cuda" and outcome.floor is not None:
            warm = self.experiment.cache == "warm"
            least = self._floors.impossible_ms(outcome.floor, warm=warm)
            found = suspicion.below_floor(outcome.agreement.device_ms, least, outcome.floor)
        if found is None:
            found = suspicion.input_dependent(trials, findings.blocks, self.device.type)
        return found or Passed(evidence={})

    # -- servers ---------------------------------------------------------------------------------

    def _server(self, interpret: bool) -> Server:
        if interpret in self._servers and self._servers[interpret].touched:
            self._forget_servers()
        if interpret not in self._servers:
            self._servers[interpret] = Server(interpret=interpret)
        return self._servers[interpret]

    def _forget_servers(self) -> None:
        for server in self._servers.values():
            with contextlib.suppress(ServerDied, OSError):
                server.close()
        self._servers.clear()


def _smoke_of(sized: Sized) -> Sized | None:
    """The same construction at the problem's smoke axes, where it has them."""
    if "smoke" not in sized.problem.sidecar.sizes:
        return None
    return replace(resize(sized.problem, "smoke", {}), init=sized.init)


def _our_fault(error: BaseException) -> Failed:
    """What the judge itself could not do: out of memory, or a bug of ours."""
    trace = {"traceback": "".join(traceback.format_exception(error))[-4000:]}
    text = f"{type(error).__name__}: {error}"[:500]
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return verdicts.failed(
            Status.RESOURCE_EXCEEDED, Phase.CHECK, "judge_out_of_memory", text, trace
        )
    return verdicts.failed(Status.HARNESS_FAULT, Phase.LOAD, "harness_fault", text, trace)


def _may_be_seeded(evaluation: Evaluation, failed: Failed) -> bool:
    """Whether a wrong answer may come from weights that the solution packs in its constructor."""
    findings = evaluation.findings
    return (
        failed.status is Status.INCORRECT_NUMERICAL
        and failed.phase in (Phase.PREPARE, Phase.CHECK)
        and findings.policy in ("by_name", "by_shape")
        and not findings.prepared
    )
