"""A run that was cut off, gone on with: its folder, its settings, what it has answered already.

Owns what counts as answered. A resumed run keeps the settings that it was begun with, so that one
folder never holds the records of two different questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.faults import UsageError
from harness.record.schema import Record, Status
from harness.record.store import CONFIG, RECORDS
from harness.spec.experiment import Override, Resolved, resolve
from harness.spec.files import existing
from harness.spec.nearest import nearest
from harness.spec.problem import BadProblem, Sized
from harness.spec.solution import Solution

FREE = frozenset({"out"})  # where the folder lies is no part of the question


def find(query: str, out: Path) -> Path:
    """Return the run's folder that `query` names, as a path or as a name below `out`."""
    place = existing(query, (out,))
    if place is not None and (place / RECORDS).is_file():
        return place
    runs = sorted((path.parent.name for path in out.glob(f"*/{RECORDS}")), reverse=True)
    wanted = f"the folder of a run, or its name below {out}"
    raise UsageError("--resume", found=repr(query), wanted=wanted, remedy=nearest(query, runs))


def settings(
    folder: Path, config: Path | None, options: Sequence[Override], root: Path
) -> Resolved:
    """Return the settings that the run in `folder` was begun with.

    A config or an option may repeat them; UsageError for one that says anything else.
    """
    kept = resolve(folder / CONFIG, (), root)
    asked = resolve(config or folder / CONFIG, options, root)
    known = {key: value for key, value, _ in kept.lines()}
    for key, value, origin in asked.lines():
        if key not in FREE and known.get(key) != value:
            raise UsageError(
                origin,
                key=key,
                found=value,
                wanted=f"{known.get(key, 'nothing')}, as the run was begun",
                remedy="leave it out, or begin another run without --resume",
            )
    # Nobody chose the default list: there each problem gives the solutions that it has.
    explicit = kept.experiment.solutions != resolve(None, (), root).experiment.solutions
    experiment = kept.experiment.model_copy(update={"solutions_explicit": explicit})
    return Resolved(experiment, kept.origins)


@dataclass(frozen=True)
class Done:
    """What earlier records of a resumed run answer; a fault of the harness answers nothing."""

    records: tuple[Record, ...] = ()

    def of(self, sized: Sized, solution: Solution, protocol: str) -> Record | None:
        """The record of the same sources at the same size under the same protocol."""
        return self._first(
            record
            for record in self.records
            if _same(record, sized, solution) and record.protocol.digest == protocol
        )

    def of_bad(self, bad: BadProblem) -> Record | None:
        """The record of the same file that can be no problem."""
        return self._first(
            record
            for record in self.records
            if record.verdict.status is Status.INVALID_REFERENCE
            and record.problem.name == bad.name
            and record.problem.reference_digest == bad.reference_digest
        )

    def _first(self, found: Iterable[Record]) -> Record | None:
        answers = (one for one in found if one.verdict.status is not Status.HARNESS_FAULT)
        return next(answers, None)


def _same(record: Record, sized: Sized, solution: Solution) -> bool:
    problem = record.problem
    return (
        problem.name == sized.problem.name
        and problem.reference_digest == sized.problem.reference_digest
        and problem.size == sized.size
        and problem.axes == _plain(sized.axes)
        and problem.init == _plain(sized.init)
        and record.solution.digest == solution.digest
        and record.solution.name == solution.name
    )


def _plain(values: Mapping[str, object]) -> object:
    """As a record holds them: lists for tuples, text for what JSON has no word for."""
    return json.loads(json.dumps(dict(values), default=str))
