"""A plan carried out on one device of this machine, one evaluation after the other.

Owns the order and the store: each record is on the disk before the next evaluation starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.judge.events import EvaluationDone, EvaluationStarted, Listener, Note
from harness.judge.session import Session
from harness.record.schema import Record, Status
from harness.spec.problem import BadProblem, Sized
from harness.spec.solution import Solution
from harness.sweep.plan import Group, Plan
from harness.sweep.resume import Done

Store = Callable[[Record], Record]  # gives the record as it was stored


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
                yield self._bad(group, group.problem)
            else:
                yield from self._group(group)

    def _bad(self, group: Group, problem: BadProblem) -> Record:
        self._index += 1
        known = self._done.of_bad(problem)
        if known is not None:
            return self._known(known)
        return self._filed(self._session.bad_problem(problem, group.baseline(problem)))

    def _group(self, group: Group) -> Iterator[Record]:
        sized = self._session.fitting(group.sized)
        baseline = self._one(sized, group.baseline(sized), None, is_baseline=True)
        yield baseline
        if baseline.verdict.status is Status.INVALID_REFERENCE:
            if group.others:
                names = ", ".join(one.name for one in group.others)
                self._listener(Note(f"{group.problem.name}: left out with it: {names}"))
            self._index += len(group.others)
            return
        for solution in group.others:
            yield self._one(sized, solution, baseline, is_baseline=False)

    def _one(
        self, sized: Sized, solution: Solution, baseline: Record | None, *, is_baseline: bool
    ) -> Record:
        self._index += 1
        known = self._done.of(sized, solution, self._session.protocol_digest)
        if known is not None:
            return self._known(known)
        self._listener(
            EvaluationStarted(
                solution.name, sized.problem.name, sized.size, self._index, self._plan.count
            )
        )
        return self._filed(
            self._session.evaluate(sized, solution, baseline, is_baseline=is_baseline)
        )

    def _known(self, record: Record) -> Record:
        named = f"[{self._index}/{self._plan.count}] {record.solution.name}"
        self._listener(Note(f"{named}: has a record already, {record.id}"))
        return record

    def _filed(self, record: Record) -> Record:
        stored = self._store(record)
        self._listener(EvaluationDone(stored))
        return stored
