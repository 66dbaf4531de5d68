"""One solution on one workload in one fresh worker: five phases, one outcome.

Owns the order of the phases and what each asks for. Failures of the candidate are values: a phase
gives a `Failed` or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.judge import precision, schedule, verdicts
from harness.judge.arena import Arena
from harness.judge.construction import Construction
from harness.judge.events import Listener, PhaseStarted, TrialDone
from harness.judge.families import DECLARED
from harness.judge.findings import Findings
from harness.judge.precision import METRICS, Budget, Ledger, usage
from harness.judge.provenance import Kernel
from harness.judge.replies import (
    PrepareReply,
    ProfileReply,
    ReportReply,
)
from harness.judge.seeds import Seeds, derive
from harness.judge.trial import Call, Desk, Patience, Trial
from harness.judge.workload import Workload
from harness.record.environment import Telemetry
from harness.record.schema import Failed, Phase, Status
from harness.sandbox.launch import Server, ServerDied, Worker
from harness.spec.experiment import Experiment

WARMUP = 3  # untimed calls before the checks: the first compiles, the others show the host's time
SPIN_FACTOR = 2.0  # of the host's time to enqueue a call, so that the launch is queued behind it
SPIN_MAX_MS = 5.0
PROFILE_S = 30.0  # starting the profiler takes a second or two


@dataclass(frozen=True)
class Asked:
    """How the evaluation is to be run."""

    experiment: Experiment
    class_: str
    listener: Listener
    read_telemetry: Callable[[], Telemetry | None]


class Evaluation:
    """Runs once; `run` gives the verdict (None: right so far) and leaves `findings`."""

    def __init__(
        self, workload: Workload, name: str, source: str, asked: Asked, seeds: Seeds
    ) -> None:
        self.workload, self.name, self.source = workload, name, source
        self.asked, self.seeds = asked, seeds
        self.findings = Findings(Ledger(small=workload.small))
        self._phase = Phase.LOAD
        self.desk: Desk

    def run(self, server: Server, arena: Arena, *, seeded_only: bool) -> Failed | None:
        """All five phases in a fresh worker, which is gone afterwards with all that it started."""
        worker = Worker(server)
        orderly = False
        failed: Failed | None = None
        try:
            self.desk = Desk(worker, self.workload, arena, self.seeds)
            failed = self._phases(arena, seeded_only=seeded_only)
            orderly = failed is None
        except ServerDied as error:
            return _server_died(error, self._phase)
        finally:
            left = self._close(worker, orderly=orderly)
        return failed or left

    def _close(self, worker: Worker, *, orderly: bool) -> Failed | None:
        try:
            ended = worker.close(orderly=orderly)
        except ServerDied as error:
            return _server_died(error, self._phase)
        if worker.server.touched:
            return verdicts.failed(
                Status.POLICY_VIOLATION,
                Phase.TIME,
                "fork_server_touched",
                "priority, processors or limits of the fork server were changed from inside",
            )
        if orderly and (ended.left or not ended.swept):
            return verdicts.failed(
                Status.POLICY_VIOLATION,
                Phase.TIME,
                "processes_left_behind",
                f"{ended.left} process(es) were still running when the worker had ended",
                {"left": ended.left, "swept": ended.swept},
            )
        return None

    def _phases(self, arena: Arena, *, seeded_only: bool) -> Failed | None:
        construction = Construction(self.desk, self.findings, self.source)
        stages: tuple[tuple[Phase, Callable[[Patience], Failed | None]], ...] = (
            (Phase.LOAD, construction.load),
            (Phase.BUILD, lambda patience: construction.build(patience, seeded_only=seeded_only)),
            (Phase.PREPARE, lambda patience: self._prepare(arena, patience)),
            (Phase.CHECK, self._check),
            (Phase.TIME, lambda patience: self._time(arena, patience)),
        )
        for phase, stage in stages:
            deadline = float(getattr(self.asked.experiment.deadlines_s, phase.value))
            self._phase = phase
            self.asked.listener(PhaseStarted(self.name, phase.value, deadline))
            failed = stage(Patience(phase, deadline))
            if failed is not None:
                return failed
        return self._over_all_calls()

    def _over_all_calls(self) -> Failed | None:
        """No call alone was hopeless; together they must still be within the class."""
        asked, ledger = self.asked.class_, self.findings.ledger
        if ledger.reached(asked) is not None:
            return None
        detail = (
            f"the errors of all {self.desk.calls} calls together are {ledger.rms(asked):.2f} times "
            f"what class {asked} allows"
        )
        evidence = {"class": asked, "rms_of_budget": ledger.rms(asked), "calls": self.desk.calls}
        return verdicts.failed(
            Status.INCORRECT_NUMERICAL, Phase.TIME, "outside_budget", detail, evidence
        )

    def _prepare(self, arena: Arena, patience: Patience) -> Failed | None:
        """Map the buffers, run `prepare()`, warm up: compiling and tuning belong here."""
        failed = self._map(arena, patience)
        if failed is not None:
            return failed
        reply = self.desk.ask(PrepareReply, {"op": "prepare"}, patience)
        if isinstance(reply, Failed):
            return reply
        if reply.fault is not None:
            log = self.desk.worker.log_tail()
            return verdicts.from_fault(reply.fault, patience.phase, log)
        self.findings.prepared = reply.defined
        self.findings.prepare_ms = reply.took_ms
        host: list[float] = []
        for number in range(WARMUP):
            trial = self._call(Call(number % len(arena.sets), DECLARED, 0.0, False), patience)
            if isinstance(trial, Failed):
                return trial
            self.findings.warmup += 1
            self.findings.prepare_ms += trial.took_ms if number == 0 else 0.0
            host.append(trial.host_ms)
        self.findings.host_ms = min(host[1:])
        if self.workload.device.type == "cuda":
            self.findings.spin_ms = min(SPIN_FACTOR * self.findings.host_ms, SPIN_MAX_MS)
        return None

    def _map(self, arena: Arena, patience: Patience) -> Failed | None:
        for number in range(len(arena.sets)):
            request, descriptors = arena.input_request(number)
            request["arguments"] = list(self.workload.parts)
            failed = self.desk.stage(request, patience, descriptors)
            if failed is not None:
                return failed
        request, descriptors = arena.output_request()
        request["structure"] = self.workload.structure
        return self.desk.stage(request, patience, descriptors)

    def _call(self, call: Call, patience: Patience) -> Trial | Failed:
        """One trial, and the verdict if it leaves the class that was asked for."""
        trial = self.desk.trial(call, patience)
        if isinstance(trial, Failed):
            return trial
        ledger = self.findings.ledger
        allowed = self.workload.budgets_of_call(call.family, trial.seed).each
        ledger.add_outputs(trial.outputs, allowed, call.family)
        known = self.findings.budgets.get(call.family)
        loosest = precision.loosest(allowed)
        self.findings.budgets[call.family] = (
            loosest if known is None else precision.loosest([known, loosest])
        )
        for name in METRICS:
            found = getattr(trial.errors, name)
            self.findings.worst[name] = max(self.findings.worst.get(name, 0.0), found)
        if ledger.hopeless(self.asked.class_):
            return self._incorrect(trial, allowed, patience.phase)
        return trial

    def _incorrect(
        self, trial: Trial, allowed_each: tuple[dict[str, Budget], ...], phase: Phase
    ) -> Failed:
        asked, unmatched = self.asked.class_, self.findings.unmatched
        pairs = [
            (errors, own[asked]) for errors, own in zip(trial.outputs, allowed_each, strict=True)
        ]
        errors, allowed = max(pairs, key=lambda pair: usage(*pair))
        return verdicts.incorrect(
            errors, allowed, phase, family=trial.family, class_=asked, unmatched=unmatched
        )

    def _check(self, patience: Patience) -> Failed | None:
        """Untimed calls on secretly chosen families of values."""
        chosen = schedule.check_families(
            self.asked.experiment.checks,
            self.workload.deciding,
            self.workload.usable,
            derive(self.seeds.inputs, "families"),
        )
        for number, family in enumerate(chosen):
            trial = self._call(
                Call(number % len(self.desk.arena.sets), family, self.findings.spin_ms, False),
                patience,
            )
            if isinstance(trial, Failed):
                return trial
            self.findings.checks += 1
        return None

    def _time(self, arena: Arena, patience: Patience) -> Failed | None:
        """Blocks of timed trials; a block that the chip was throttled in is thrown away."""
        trials = self.asked.experiment.trials
        secret = derive(self.seeds.inputs, "blocks")
        stress = schedule.timed_stress(self.workload.usable, secret)
        plan = schedule.blocks(
            trials, len(arena.sets), self.workload.deciding, secret, stress=stress
        )
        for block in plan:
            timed = self._block(block, patience)
            if isinstance(timed, Failed):
                return timed
            telemetry = self.asked.read_telemetry()
            if telemetry is not None:
                self.findings.telemetry.append(telemetry)
                if telemetry.discarding:
                    self.findings.discarded += len(timed)
                    continue
            self.findings.blocks.append((len(self.findings.trials), block.family))
            self.findings.trials += timed
        return self._report(patience)

    def _block(self, block: schedule.BlockPlan, patience: Patience) -> list[Trial] | Failed:
        """One checked, untimed call on the new buffers, then the timed ones."""
        spin = self.findings.spin_ms
        first = self._call(Call(block.set, block.family, spin, True), patience)
        if isinstance(first, Failed):
            return first
        self.findings.warmup += 1
        timed: list[Trial] = []
        for _ in range(block.trials):
            trial = self._call(Call(block.set, block.family, spin, False), patience)
            if isinstance(trial, Failed):
                return trial
            timed.append(trial)
            done = len(self.findings.trials) + len(timed)
            total = self.asked.experiment.trials
            self.asked.listener(TrialDone(self.name, done, total, trial.device_ms))
        return timed

    def _report(self, patience: Patience) -> Failed | None:
        reply = self.desk.ask(ReportReply, {"op": "report"}, patience)
        if isinstance(reply, Failed):
            return reply
        self.findings.flags_after = reply.flags
        self.findings.peak_bytes = reply.peak_bytes or None
        if self.workload.device.type == "cuda":
            self._profile()
        return None

    def _profile(self) -> None:
        """Which kernels run: a label, so whatever goes wrong here is no verdict."""
        reply = self.desk.ask(ProfileReply, {"op": "profile"}, Patience(Phase.TIME, PROFILE_S))
        if not isinstance(reply, Failed) and reply.fault is None:
            self.findings.kernels = [Kernel(*row) for row in reply.kernels]


def _server_died(error: ServerDied, phase: Phase) -> Failed:
    return verdicts.failed(
        Status.POLICY_VIOLATION,
        phase,
        "fork_server_ended",
        "the fork server ended while this candidate ran: it was killed from inside, or for memory",
        {"log": str(error)},
    )
