"""A plan carried out on one device of this machine, one evaluation after the other.

Owns the order and the store: each record is on the disk before the next evaluation starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.judge.events import EvaluationDone, EvaluationStarted, Listener, Note
from harness.judge.session import Session
from harness.record.schema import Record, Status
from harness.spec.problem import BadProblem, Problem, Sized
from harness.spec.solution import Solution
from harness.sweep.plan import Group, Plan

Store = Callable[[Record], None]


@dataclass(frozen=True)
class Done:
    """What earlier records of a resumed run already answer."""

    records: tuple[Record, ...] = ()

    def of(self, sized: Sized, solution: Solution, protocol: str) -> Record | None:
        """The record of the same sources at the same size under the same protocol."""
        for record in self.records:
            if _same(record, sized, solution) and record.protocol.digest == protocol:
                return None if record.verdict.status is Status.HARNESS_FAULT else record
        return None


def _same(record: Record, sized: Sized, solution: Solution) -> bool:
    problem = record.problem
    axes = json.loads(json.dumps(dict(sized.axes), default=str))
    return (
        problem.reference_digest == sized.problem.reference_digest
        and problem.size == sized.size
        and problem.axes == axes
        and record.solution.digest == solution.digest
        and record.solution.name == solution.name
    )


class Lane:
    """One device's work through a plan."""

    def __init__(
        self, session: Session, plan: Plan, store: Store, listener: Listener, done: Done
    ) -> None:
        self._session, self._plan, self._store = session, plan, store
        self._listener, self._done = listener, done
        self._index = 0

    def run(self) -> Iterator[Record]:
        """Every record of the plan, stored before it is given; old ones of a resumed run too."""
        for group in self._plan.groups:
            if isinstance(group.problem, BadProblem):
                yield self._filed(
                    self._session.bad_problem(group.problem, group.baseline(group.problem))
                )
                continue
            yield from self._group(group)

    def _group(self, group: Group) -> Iterator[Record]:
        sized = self._session.fitting(group.sized)
        baseline = self._one(sized, group.baseline(sized), None, is_baseline=True)
        yield baseline
        if baseline.verdict.status is Status.INVALID_REFERENCE:
            if group.others:
                names = ", ".join(one.name for one in group.others)
                self._listener(Note(f"{_name(group.problem)}: left out with it: {names}"))
            self._index += len(group.others)
            return
        for solution in group.others:
            yield self._one(sized, solution, baseline, is_baseline=False)

    def _one(
        self, sized: Sized, solution: Solution, baseline: Record | None, *, is_baseline: bool
    ) -> Record:
        known = self._done.of(sized, solution, self._session.protocol_digest)
        self._index += 1
        if known is not None:
            self._listener(Note(f"{solution.name}: has a record already, {known.id}"))
            return known
        self._listener(
            EvaluationStarted(
                solution.name, sized.problem.name, sized.size, self._index, self._plan.count
            )
        )
        return self._filed(
            self._session.evaluate(sized, solution, baseline, is_baseline=is_baseline)
        )

    def _filed(self, record: Record) -> Record:
        self._store(record)
        self._listener(EvaluationDone(record))
        return record


def _name(problem: Problem | BadProblem) -> str:
    return problem.name
