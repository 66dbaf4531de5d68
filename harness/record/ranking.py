"""Who competes with whom, who is first, and how far a record can be trusted.

Owns cohorts, class boards, ranks, exclusions, trust and age; all of it derived, none of it stored.
Knows neither how records are kept nor how a table looks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from harness.record.schema import Accuracy, Failed, Record, Revocation, Status, Verification
from harness.record.statistics import Speedup, Summary, speedup_of, summary_of

# Tightest first: a class's board also holds what is tighter. fp16 stands behind tf32, whose
# mantissa it shares, because its range is narrower; bf16 has the shortest mantissa.
TIGHTNESS: tuple[Accuracy, ...] = ("fp32", "tf32", "fp16", "bf16")
STALE_AFTER = timedelta(days=180)  # the index's own limit
MACHINES_TO_REPLICATE = 2

Event = Verification | Revocation


class Trust(StrEnum):
    """How far a record can be relied on; derived from its origin and from event lines."""

    REPORTED = "reported"
    REPRODUCIBLE = "reproducible"
    VERIFIED = "verified"
    REPLICATED = "replicated"


class Exclusion(StrEnum):
    """Why a record is on no board."""

    REVOKED = "revoked"
    BELOW_FLOOR = "below_floor"
    INCOMPLETE = "incomplete"
    NOT_PASSED = "not_passed"
    INTERPRETER = "interpreter"
    DEGENERATE = "degenerate"
    NO_SAMPLES = "no_samples"
    NO_WORKLOAD = "no_workload"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Cohort:
    """Everything that must be equal before two times may be compared.

    The environment key is what makes code and runs it (driver, CUDA, torch, triton); Python and
    the operating system are not part of it.
    """

    problem: str
    size: str
    dtype: str
    workload_digest: str
    hardware: str
    driver: str | None
    cuda: str | None
    torch: str | None
    triton: str | None
    cache: str
    protocol_version: int
    protocol_digest: str
    origin: str


@dataclass(frozen=True)
class Standing:
    """One ranked record. `vs_best` says how many times as long as the first it takes (>= 1)."""

    rank: int
    record: Record
    summary: Summary
    vs_best: float
    speedup: Speedup | None
    trust: Trust
    stale: bool


@dataclass(frozen=True)
class Board:
    """A cohort's ranking for one class: who reached `accuracy` or a tighter one, fastest first."""

    cohort: Cohort
    accuracy: Accuracy
    standings: tuple[Standing, ...]


@dataclass(frozen=True)
class Excluded:
    """A record on no board, with the reason for a machine and for a person."""

    record: Record
    code: Exclusion
    why: str


@dataclass(frozen=True)
class Ranking:
    """All boards, all records that are on none, and the event lines that trust follows from."""

    boards: tuple[Board, ...]
    excluded: tuple[Excluded, ...]
    events: tuple[Event, ...] = ()

    def standings(self) -> tuple[Standing, ...]:
        """List each ranked record once, on the board of its own class where that is here."""
        found: dict[str, Standing] = {}
        for board in self.boards:
            for standing in board.standings:
                if board.accuracy == class_of(standing.record):
                    found[standing.record.id] = standing
                else:
                    found.setdefault(standing.record.id, standing)
        return tuple(found.values())


def hardware_name(device: str) -> str:
    """Shorten a device's string to its model: "NVIDIA H200" is "H200"."""
    return device.removeprefix("NVIDIA ").strip() or device


def class_of(record: Record) -> Accuracy | None:
    """Return the class that a record reached."""
    return record.precision.class_ if record.precision is not None else None


def cohort_of(record: Record) -> Cohort | None:
    """Return a record's cohort; None where it has no timing or no workload."""
    if record.timing is None or record.workload_digest is None:
        return None
    machine = record.environment
    return Cohort(
        problem=record.problem.name,
        size=record.problem.size,
        dtype=record.problem.dtype,
        workload_digest=record.workload_digest,
        hardware=hardware_name(machine.device),
        driver=machine.driver,
        cuda=machine.cuda,
        torch=machine.torch,
        triton=machine.triton,
        cache=record.timing.cache,
        protocol_version=record.protocol.version,
        protocol_digest=record.protocol.digest,
        origin=record.origin.kind,
    )


def exclusion(record: Record, events: Sequence[Event] = ()) -> Excluded | None:
    """Say why a record may not be ranked at all; None where it may."""
    revoked = [e for e in events if isinstance(e, Revocation) and e.record_id == record.id]
    if revoked:
        return Excluded(record, Exclusion.REVOKED, revoked[-1].why)
    if isinstance(record.verdict, Failed):
        return Excluded(record, _code_of(record.verdict), _why(record.verdict))
    if record.problem.lint.get("degenerate") is True:
        return Excluded(record, Exclusion.DEGENERATE, "the problem accepts wrong answers")
    return _without_evidence(record)


def _without_evidence(record: Record) -> Excluded | None:
    if record.timing is None or not record.timing.samples_ms or class_of(record) is None:
        return Excluded(record, Exclusion.NO_SAMPLES, "no samples were taken")
    if record.timing.engine == "interpreter":
        return Excluded(record, Exclusion.INTERPRETER, "ran in Triton's interpreter")
    if record.workload_digest is None:
        return Excluded(record, Exclusion.NO_WORKLOAD, "the workload could not be identified")
    return None


def _code_of(verdict: Failed) -> Exclusion:
    if verdict.reason == "below_floor":
        return Exclusion.BELOW_FLOOR
    if verdict.status is Status.INCOMPLETE_EVIDENCE:
        return Exclusion.INCOMPLETE
    return Exclusion.NOT_PASSED


def _why(verdict: Failed) -> str:
    return f"{verdict.status}: {verdict.reason}"


def rank(
    records: Iterable[Record],
    events: Sequence[Event] = (),
    *,
    now: datetime,
    accuracy: Accuracy | None = None,
) -> Ranking:
    """Sort records into cohorts and boards; of one solution's records the newest competes.

    Each cohort has a board for each class that some record reached, or the one for `accuracy`.
    """
    able: dict[Cohort, list[Record]] = defaultdict(list)
    excluded: list[Excluded] = []
    for record in records:
        refused, cohort = exclusion(record, events), cohort_of(record)
        if refused is not None:
            excluded.append(refused)
        elif cohort is not None:
            able[cohort].append(record)
    boards: list[Board] = []
    for cohort in sorted(able, key=_order):
        newest, older = _newest(able[cohort])
        excluded.extend(older)
        boards.extend(_boards(cohort, newest, events, now, only=accuracy))
    return Ranking(tuple(boards), tuple(excluded), tuple(events))


def _order(cohort: Cohort) -> tuple[str, ...]:
    named = (cohort.problem, cohort.size, cohort.hardware, cohort.dtype, cohort.origin)
    return (*named, *(str(value) for value in vars(cohort).values()))


def _newest(records: Sequence[Record]) -> tuple[list[Record], list[Excluded]]:
    """Keep each solution's newest record: neither its luckiest nor all of them."""
    kept: dict[tuple[str, str], Record] = {}
    older: list[Excluded] = []
    for record in sorted(records, key=lambda r: (r.observed_at, r.id), reverse=True):
        solution = (record.solution.name, record.solution.digest)
        newest = kept.setdefault(solution, record)
        if newest is not record:
            older.append(Excluded(record, Exclusion.SUPERSEDED, f"measured again in {newest.id}"))
    return list(kept.values()), older


def _boards(
    cohort: Cohort,
    records: Sequence[Record],
    events: Sequence[Event],
    now: datetime,
    *,
    only: Accuracy | None,
) -> list[Board]:
    summaries = {record.id: summary for record in records if (summary := summary_of(record))}
    reached = {class_of(record) for record in records}
    boards = []
    for accuracy in TIGHTNESS if only is None else (only,):
        able = TIGHTNESS[: TIGHTNESS.index(accuracy) + 1]
        listed = [(r, summaries[r.id]) for r in records if class_of(r) in able]
        if listed and (accuracy in reached or only is not None):
            boards.append(Board(cohort, accuracy, _standings(listed, events, now)))
    return boards


def _standings(
    listed: Sequence[tuple[Record, Summary]], events: Sequence[Event], now: datetime
) -> tuple[Standing, ...]:
    """Rank densely: neighbours whose 95 % intervals overlap share a rank."""
    ordered = sorted(listed, key=lambda pair: (pair[1].median_ms, pair[0].solution.name))
    standings: list[Standing] = []
    for record, summary in ordered:
        before = standings[-1] if standings else None
        place = 1 if before is None else before.rank + 1
        if before is not None and summary.interval.overlaps(before.summary.interval):
            place = before.rank
        best = standings[0].summary.median_ms if standings else summary.median_ms
        standings.append(
            Standing(
                rank=place,
                record=record,
                summary=summary,
                vs_best=summary.median_ms / best if best > 0 else 1.0,
                speedup=speedup_of(record),
                trust=trust(record, events),
                stale=stale(record, now),
            )
        )
    return tuple(standings)


def trust(record: Record, events: Sequence[Event] = ()) -> Trust:
    """Derive how far a record can be relied on; a machine's newest verification speaks for it."""
    if record.origin.kind == "imported":
        return Trust.REPORTED
    said: dict[str, bool] = {}
    for event in sorted(events, key=lambda e: e.observed_at):
        if isinstance(event, Verification) and event.record_id == record.id:
            said[event.machine] = event.agreed
    agreed = sum(said.values())
    if not agreed or not all(said.values()):
        return Trust.REPRODUCIBLE
    return Trust.REPLICATED if agreed >= MACHINES_TO_REPLICATE else Trust.VERIFIED


def stale(record: Record, now: datetime) -> bool:
    """Tell whether a record is older than 180 days."""
    return now - record.observed_at > STALE_AFTER
