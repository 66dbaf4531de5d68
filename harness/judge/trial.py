"""One trial, in the order that leaves a candidate nothing to cheat with.

The judge fills the inputs in place with new values and poisons the output; flushes the L2; says go;
the worker spins, records the start, calls, records the end, synchronises the device and seals; the
judge reads secret elements and its own clock, copies every chunk once to private memory (those
elements must still agree), and only then computes the truth, from inputs that it draws again from
its seed. The call that is timed is the call that is checked.

Owns the order; `steps` of each trial shows it.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from harness import wire
from harness.judge import replies
from harness.judge.arena import Arena, Probe
from harness.judge.clocks import Reading
from harness.judge.compare import Accumulator, worst_of
from harness.judge.precision import Errors
from harness.judge.replies import CallReply, StageReply
from harness.judge.seeds import Seeds, derive
from harness.judge.workload import Workload
from harness.record.schema import Failed, Phase, Status
from harness.sandbox import kin
from harness.sandbox.launch import Silence, Worker

from harness.judge import verdicts  # isort: skip

NS_PER_MS = 1e6


@dataclass
class Patience:
    """What is left of a phase's deadline; only waiting for the worker uses it up."""

    phase: Phase
    total_s: float
    left_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.left_s = self.total_s


@dataclass(frozen=True)
class Call:
    """What one call is to be: which buffers and values, and how it is queued."""

    set: int
    family: str
    spin_ms: float
    new_block: bool


@dataclass(frozen=True)
class Trial:
    """One call, answered and judged."""

    family: str
    seed: int
    device_ms: float
    host_ms: float
    tail_ms: float
    wall_ms: float
    stalled_ms: float
    took_ms: float
    compiles: int
    outputs: tuple[Errors, ...]
    steps: tuple[str, ...]

    @property
    def errors(self) -> Errors:
        """The worst over the outputs, metric by metric."""
        return worst_of(list(self.outputs))


def reading(trial: Trial) -> Reading:
    """The trial as the clocks are compared."""
    return Reading(trial.device_ms, trial.wall_ms, trial.tail_ms, trial.stalled_ms)


class Desk:
    """The judge's side of one worker: asks, waits, judges what was called."""

    def __init__(self, worker: Worker, workload: Workload, arena: Arena, seeds: Seeds) -> None:
        self.worker, self.workload, self.arena, self.seeds = worker, workload, arena, seeds
        self.threads = torch.get_num_threads()  # those that the worker is given
        self.calls = 0

    def ask(
        self,
        kind: type[replies.Kind],
        request: dict[str, Any],
        patience: Patience,
        descriptors: tuple[int, ...] = (),
    ) -> replies.Kind | Failed:
        """One request and its parsed answer, or the verdict that its absence is."""
        before = time.monotonic()
        answer = self.worker.ask(request, before + patience.left_s, descriptors)
        patience.left_s -= time.monotonic() - before
        if isinstance(answer, Silence):
            return self._silent(answer, patience)
        try:
            return replies.parse(kind, answer)
        except wire.Malformed as error:
            silence = Silence("protocol", error.reason, error.detail)
            return self._silent(silence, patience)

    def _silent(self, silence: Silence, patience: Patience) -> Failed:
        log = self.worker.log_tail()
        return verdicts.from_silence(silence, patience.phase, log, deadline_s=patience.total_s)

    def stage(
        self, request: dict[str, Any], patience: Patience, descriptors: tuple[int, ...] = ()
    ) -> Failed | None:
        """One request that only says done, or the candidate's fault."""
        reply = self.ask(StageReply, request, patience, descriptors)
        if isinstance(reply, Failed):
            return reply
        if reply.fault is not None:
            log = self.worker.log_tail()
            return verdicts.from_fault(reply.fault, patience.phase, log)
        return None

    def trial(self, call: Call, patience: Patience) -> Trial | Failed:
        """Fill, poison, flush, go, probe, private copy, truth."""
        steps: list[str] = []
        number, self.calls = self.calls, self.calls + 1
        seed = derive(self.seeds.inputs, "call", number)
        forward_seed = derive(self.seeds.forward, "call", number)
        if not self.worker.pause():  # nothing of it may see the inputs before it is told to go
            return _unstoppable(patience)
        probe = self._laid_out(call, seed, steps)
        request = {
            "op": "call",
            "set": call.set,
            "seed": f"{forward_seed:x}",
            "spin_ms": call.spin_ms,
            "new_block": call.new_block,
        }
        steps.append("go")
        before = self._waited_ms()
        self.worker.resume()
        go = time.perf_counter_ns()
        reply = self.ask(CallReply, request, patience)
        probe.read()
        wall_ms = (time.perf_counter_ns() - go) / NS_PER_MS
        after = self._waited_ms() if self.worker.alone else before
        if isinstance(reply, Failed):
            return reply
        steps += [*reply.steps, "done", "probe"]
        wrong = self._wrong(reply, patience)
        if wrong is not None:
            return wrong
        outputs = self._judged(probe, seed, forward_seed, call.family, steps)
        if outputs is None:
            return _late(patience)
        return Trial(
            family=call.family,
            seed=seed,
            device_ms=reply.device_ms,
            host_ms=reply.host_ms,
            tail_ms=reply.tail_ms,
            wall_ms=wall_ms,
            stalled_ms=self._stalled_ms(before, after, reply.device_ms),
            took_ms=reply.took_ms,
            compiles=reply.compiles,
            outputs=outputs,
            steps=tuple(steps),
        )

    def _laid_out(self, call: Call, seed: int, steps: list[str]) -> Probe:
        """New inputs in place, poison in the output, secret places chosen, the L2 flushed."""
        self.arena.fill(call.set, self.workload.inputs(seed, call.family))
        steps.append("fill")
        self.arena.poison()
        steps.append("poison")
        probe = self.arena.probe()
        self.arena.flush()
        steps.append("flush")
        return probe

    def _waited_ms(self) -> tuple[float, float]:
        """Both sides' waiting for a processor so far, and what the worker's other threads used."""
        waited, used = self.worker.waited_ms()
        return kin.thread_ms(os.getpid(), threading.get_native_id())[1] + waited, used

    def _stalled_ms(
        self, before: tuple[float, float], after: tuple[float, float], device_ms: float
    ) -> float:
        """Wall time of a call that both sides spent waiting for a processor, for no doing of ours.

        Work of the candidate's other threads makes the first one wait as well. What an honest call
        of `device_ms` gives them is what its threads can do meanwhile; the rest is taken off.
        """
        others = self.threads - 1 if self.workload.device.type == "cpu" else 0
        hidden = max(0.0, after[1] - before[1] - others * device_ms)
        return max(0.0, after[0] - before[0] - hidden)

    def _wrong(self, reply: CallReply, patience: Patience) -> Failed | None:
        if reply.fault is not None:
            return verdicts.from_fault(reply.fault, patience.phase, self.worker.log_tail())
        if reply.mismatch is not None:
            return verdicts.from_mismatch(reply.mismatch, patience.phase)
        return None

    def _judged(
        self, probe: Probe, seed: int, forward_seed: int, family: str, steps: list[str]
    ) -> tuple[Errors, ...] | None:
        """Errors of each sealed output; None if it changed after the answer."""
        oracle = self.workload.oracle
        tensors = self.workload.inputs(seed, family)
        out_bytes = self.workload.sizes.outputs
        sums = [Accumulator(one.shape, one.eps) for one in self.workload.outputs]
        row = 0
        for chunk in oracle.chunks(tensors, out_bytes):
            rows = chunk[oracle.split.inputs[0]].shape[0] if oracle.split.inputs else None
            private = self._private(row, rows)
            steps.append("copy")
            for leaf, copied in enumerate(private):
                per_row = copied.numel() // rows if rows else 0
                if not probe.agrees(leaf, copied, row * per_row):
                    return None
            truth = oracle.forward(chunk, forward_seed)
            steps.append("truth")
            for one, copied, true in zip(sums, private, truth, strict=True):
                one.add(copied, true)
            row += rows or 0
        steps.append("compare")
        return tuple(one.errors() for one in sums)

    def _private(self, row: int, rows: int | None) -> list[torch.Tensor]:
        if rows is None:
            return [one.tensor.clone() for one in self.arena.output]
        return [one.tensor[row : row + rows].clone() for one in self.arena.output]


def _unstoppable(patience: Patience) -> Failed:
    return verdicts.failed(
        Status.POLICY_VIOLATION,
        patience.phase,
        "cannot_be_stopped",
        "the worker or a process that it started could not be stopped between two calls",
    )


def _late(patience: Patience) -> Failed:
    return verdicts.failed(
        Status.SUSPECTED_REWARD_HACK,
        patience.phase,
        "output_changed_after_answer",
        "the output was still being written after the worker had answered that it was done",
    )
