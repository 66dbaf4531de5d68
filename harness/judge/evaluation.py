"""One solution on one workload in one fresh worker: five phases, one outcome.

Owns the order of the phases and what each asks for. Failures of the candidate are values: a phase
gives a `Failed` or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.faults import HarnessFault
from harness.judge import precision, schedule, verdicts, weights
from harness.judge.arena import Arena
from harness.judge.events import Listener, PhaseStarted, TrialDone
from harness.judge.families import DECLARED
from harness.judge.precision import METRICS, Budget, Ledger, usage
from harness.judge.provenance import Kernel
from harness.judge.reference import ReferenceFault, take_apart
from harness.judge.replies import (
    BuildReply,
    OpenReply,
    PrepareReply,
    ProfileReply,
    ReportReply,
    StageReply,
)
from harness.judge.seeds import Seeds, derive
from harness.judge.trial import Call, Desk, Patience, Trial
from harness.judge.workload import Workload
from harness.record.environment import Telemetry
from harness.record.schema import Failed, Phase, Status
from harness.sandbox.launch import Server, ServerDied, Worker
from harness.spec.experiment import Experiment

WARMUP = 3  # untimed calls before the checks: the first compiles, the others show the host's time
BATCH = 32  # tensors of weights in one message, which carries at most 64 descriptors
SPIN_FACTOR = 2.0  # of the host's time to enqueue a call, so that the launch is queued behind it
SPIN_MAX_MS = 5.0
PROFILE_S = 30.0  # starting the profiler takes a second or two


@dataclass
class Findings:
    """What an evaluation has gathered so far, whatever its verdict will be."""

    trials: list[Trial] = field(default_factory=list)
    blocks: list[tuple[int, str]] = field(default_factory=list)
    budgets: dict[str, dict[str, Budget]] = field(default_factory=dict)
    telemetry: list[Telemetry] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)
    ledger: Ledger | None = None
    policy: str = "none"
    checks: int = 0
    warmup: int = 0
    discarded: int = 0
    spin_ms: float = 0.0
    build_ms: float = 0.0
    prepare_ms: float = 0.0
    host_ms: float | None = None
    flags: dict[str, str] = field(default_factory=dict)
    kernels: list[Kernel] | None = None
    flags_imported: dict[str, str] = field(default_factory=dict)
    flags_after: dict[str, str] = field(default_factory=dict)
    peak_bytes: int | None = None
    prepared: bool = False
    unmatched: str | None = None

    def reached(self, asked: str) -> str | None:
        """The tightest class that every call so far was within."""
        return self.ledger.reached(asked) if self.ledger is not None else None


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
        self.findings = Findings()
        self.findings.ledger = Ledger(small=workload.small)
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
        stages: tuple[tuple[Phase, Callable[[Patience], Failed | None]], ...] = (
            (Phase.LOAD, self._load),
            (Phase.BUILD, lambda patience: self._build(patience, seeded_only=seeded_only)),
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
        assert ledger is not None
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

    def _load(self, patience: Patience) -> Failed | None:
        """Open the device (ours to fail), then import the candidate's file."""
        device = str(self.workload.device)
        threads = torch.get_num_threads()
        request = {"op": "open", "device": device, "threads": threads}
        opened = self.desk.ask(OpenReply, request, Patience(Phase.LOAD, patience.total_s))
        if isinstance(opened, Failed):
            raise HarnessFault(f"a worker could not open {device}: {opened.detail} "
                               f"{opened.evidence.get('log', '')}")  # fmt: skip
        self.findings.flags = opened.flags
        path = self.desk.worker.scratch / "candidate.py"
        path.write_text(self.source, encoding="utf-8", errors="surrogatepass")
        name = f"candidate_{self.desk.worker.pid}"
        failed = self._stage({"op": "load", "path": str(path), "module": name}, patience)
        if failed is not None:
            return failed
        reply = self.desk.ask(ReportReply, {"op": "report"}, patience)
        if isinstance(reply, Failed):
            return reply
        self.findings.flags_imported = reply.flags
        return None

    def _stage(
        self, request: dict[str, Any], patience: Patience, descriptors: tuple[int, ...] = ()
    ) -> Failed | None:
        reply = self.desk.ask(StageReply, request, patience, descriptors)
        if isinstance(reply, Failed):
            return reply
        if reply.fault is not None:
            log = self.desk.worker.log_tail()
            return verdicts.from_fault(reply.fault, patience.phase, log)
        return None

    def _build(self, patience: Patience, *, seeded_only: bool) -> Failed | None:
        """Construct under the seed; then the reference's weights, unless the seed has to do."""
        request = {"op": "build", **self._constructor(), "dtype": self._cast()}
        request["seed"] = f"{derive(self.workload.weights_seed, 'weights'):x}"
        reply = self.desk.ask(BuildReply, request, patience)
        if isinstance(reply, Failed):
            return reply
        self.findings.build_ms = reply.took_ms
        if reply.fault is not None:
            log = self.desk.worker.log_tail()
            return verdicts.from_fault(reply.fault, patience.phase, log)
        wanted = weights.named_state(self.workload.model)
        if not wanted:
            return None
        if seeded_only:
            self.findings.policy = "seeded"
            return None
        listed = self._listed(reply, patience)
        if isinstance(listed, Failed):
            return listed
        found = [(name, tuple(shape), own) for name, shape, own in listed]
        matched = weights.match(wanted, found)
        if isinstance(matched, weights.Unmatched):
            self.findings.policy, self.findings.unmatched = "seeded", matched.detail
            return None
        self.findings.policy = matched.policy
        return self._load_weights(matched, patience)

    def _listed(
        self, first: BuildReply, patience: Patience
    ) -> list[tuple[str, list[int], bool]] | Failed:
        """The names of the solution's state, all pages of them."""
        listed, more = list(first.state or []), first.more
        while more:
            request = {"op": "state", "start": len(listed)}
            reply = self.desk.ask(BuildReply, request, patience)
            if isinstance(reply, Failed):
                return reply
            if reply.fault is not None:
                return verdicts.from_fault(reply.fault, patience.phase, self.desk.worker.log_tail())
            listed += reply.state or []
            more = reply.more and bool(reply.state)
        return listed

    def _constructor(self) -> dict[str, Any]:
        reference = self.workload.reference
        keywords = [[name, one] for name, one in reference.keywords.items()]
        names = [name for name, _ in keywords]
        taken = take_apart([*reference.arguments, *(one for _, one in keywords)])
        if taken.tensors:
            raise ReferenceFault("unsupported_argument", "a tensor among constructor arguments")
        count = len(reference.arguments)
        named = [list(pair) for pair in zip(names, taken.parts[count:], strict=True)]
        return {"arguments": list(taken.parts[:count]), "keywords": {"dict": named}}

    def _cast(self) -> str | None:
        cast = self.workload.reference.dtype
        return str(cast).removeprefix("torch.") if cast is not None else None

    def _load_weights(self, matched: weights.Matched, patience: Patience) -> Failed | None:
        """A few tensors a message: it carries only so many descriptors, and a process has few."""
        for start in range(0, len(matched.names), BATCH):
            batch = slice(start, start + BATCH)
            shared = weights.share(self.workload.model, self.workload.device, batch)
            try:
                request: dict[str, Any] = {"op": "weights", "names": list(matched.names[batch])}
                request["tensors"] = [one.spec() for one in shared]
                descriptors = tuple(one.descriptor for one in shared)
                failed = self._stage(request, patience, descriptors)
            finally:
                for one in shared:
                    one.close()
            if failed is not None:
                return failed
        return None

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
            failed = self._stage(request, patience, descriptors)
            if failed is not None:
                return failed
        request, descriptors = arena.output_request()
        request["structure"] = self.workload.structure
        return self._stage(request, patience, descriptors)

    def _call(self, call: Call, patience: Patience) -> Trial | Failed:
        """One trial, and the verdict if it leaves the class that was asked for."""
        trial = self.desk.trial(call, patience)
        if isinstance(trial, Failed):
            return trial
        ledger = self.findings.ledger
        assert ledger is not None
        allowed = self.workload.budgets_of_call(call.family, trial.seed).each
        ledger.add_outputs(trial.outputs, allowed)
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
