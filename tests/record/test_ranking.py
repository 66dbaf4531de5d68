"""Who competes with whom, who shares a rank, who is left out and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from harness.record import schema
from harness.record.ranking import (
    Board,
    Exclusion,
    Ranking,
    Trust,
    exclusion,
    hardware_name,
    rank,
    stale,
    trust,
)
from harness.record.schema import Status
from tests.record import examples


def ranked(*records: schema.Record, **options: Any) -> Ranking:
    return rank(records, now=examples.NOW, **options)


def timed(name: str, ms: float, **changes: Any) -> schema.Record:
    """A record of exact samples; its source is its own."""
    digest = "sha256:" + name.encode().hex().ljust(64, "0")[:64]
    solution = examples.solution(name, digest=digest)
    return examples.record(solution=solution, samples_ms=(ms,) * 40, **changes)


def names(board: Board) -> list[tuple[int, str]]:
    return [(standing.rank, standing.record.solution.name) for standing in board.standings]


def test_the_fastest_median_is_first_and_ranks_are_dense() -> None:
    board = ranked(timed("c", 3.0), timed("a", 1.0), timed("d", 3.0), timed("b", 2.0)).boards[0]
    assert names(board) == [(1, "a"), (2, "b"), (3, "c"), (3, "d")]
    assert [standing.vs_best for standing in board.standings] == [1, 2, 3, 3]


def test_neighbours_whose_intervals_overlap_share_a_rank() -> None:
    def wide(name: str, low: float, high: float) -> schema.Record:
        digest = "sha256:" + name * 64
        return examples.record(
            solution=examples.solution(name, digest=digest),
            samples_ms=(low,) * 5 + (high,) * 5,  # two blocks: the interval is the range
        )

    board = ranked(wide("a", 1.0, 1.2), wide("b", 1.1, 1.3), wide("c", 1.25, 1.4), wide("d", 2, 3))
    assert names(board.boards[0]) == [(1, "a"), (1, "b"), (1, "c"), (2, "d")]


COHORTS: dict[str, dict[str, Any]] = {
    "another workload": {"workload_digest": "sha256:" + "b" * 64},
    "another size": {"problem": examples.problem(size="smoke")},
    "another device": {"environment": examples.environment(device="NVIDIA H100 80GB HBM3")},
    "another torch": {"environment": examples.environment(torch="2.13.0")},
    "another triton": {"environment": examples.environment(triton="3.7.1")},
    "another CUDA": {"environment": examples.environment(cuda="13.0")},
    "another driver": {"environment": examples.environment(driver="580.1")},
    "another protocol": {
        "protocol": schema.ProtocolSection(version=2, digest="sha256:" + "c" * 64)
    },
    "a warm cache": {"timing": examples.timing((1.0,) * 40, cache="warm")},
    "imported figures": {
        "origin": schema.OriginSection(kind="imported", source="x", license="MIT", attempts=1)
    },
}


@pytest.mark.parametrize("changes", COHORTS.values(), ids=list(COHORTS))
def test_never_rank_across_cohorts(changes: dict[str, Any]) -> None:
    one, other = examples.record(name="one"), examples.record(name="other", **changes)
    assert [names(board) for board in ranked(one, other).boards] in (
        [[(1, "one")], [(1, "other")]],
        [[(1, "other")], [(1, "one")]],
    )


def test_python_and_the_operating_system_do_not_part_a_cohort() -> None:
    other = examples.record(name="b", environment=examples.environment(python="3.11.1", os="x"))
    assert len(ranked(examples.record(name="a"), other).boards) == 1


def test_a_classs_board_includes_tighter_classes_and_no_looser_ones() -> None:
    records = [
        timed(name, ms, precision=examples.precision(class_=name))
        for name, ms in [("fp32", 4.0), ("tf32", 3.0), ("fp16", 2.0), ("bf16", 1.0)]
    ]
    boards = {board.accuracy: names(board) for board in ranked(*records).boards}
    assert boards == {
        "fp32": [(1, "fp32")],
        "tf32": [(1, "tf32"), (2, "fp32")],
        "fp16": [(1, "fp16"), (2, "tf32"), (3, "fp32")],
        "bf16": [(1, "bf16"), (2, "fp16"), (3, "tf32"), (4, "fp32")],
    }


def test_the_class_asked_for_does_not_part_a_board() -> None:
    lax = timed("lax", 1.0, precision=examples.precision(class_="tf32", asked="bf16"))
    assert names(ranked(lax, timed("b", 2.0)).boards[0]) == [(1, "lax"), (2, "b")]


def test_one_class_can_be_asked_for_though_nobody_reached_just_that() -> None:
    exact = timed("exact", 1.0, precision=examples.precision(class_="fp32"))
    (board,) = ranked(exact, accuracy="bf16").boards
    assert (board.accuracy, names(board)) == ("bf16", [(1, "exact")])


def test_a_record_has_its_place_on_the_board_of_its_own_class() -> None:
    exact = timed("exact", 1.0, precision=examples.precision(class_="fp32"))
    places = {s.record.solution.name: s.rank for s in ranked(exact, timed("b", 2.0)).standings()}
    assert places == {"exact": 1, "b": 2}


def interpreted() -> schema.TimingSection:
    return examples.timing(engine="interpreter")


def verdict(status: Status, reason: str) -> dict[str, Any]:
    return {"verdict": examples.failed(status, reason)}


EXCLUDED: dict[Exclusion, dict[str, Any]] = {
    Exclusion.BELOW_FLOOR: verdict(Status.SUSPECTED_REWARD_HACK, "below_floor"),
    Exclusion.INCOMPLETE: verdict(Status.INCOMPLETE_EVIDENCE, "clocks_disagree"),
    Exclusion.NOT_PASSED: verdict(Status.TIMEOUT, "deadline"),
    Exclusion.INTERPRETER: {"timing": interpreted()},
    Exclusion.DEGENERATE: {"problem": examples.problem(lint={"degenerate": True})},
    Exclusion.NO_SAMPLES: {
        "timing": None,
        "origin": schema.OriginSection(kind="imported", source="x", license="MIT", attempts=1),
    },
    Exclusion.NO_WORKLOAD: {
        "workload_digest": None,
        "origin": schema.OriginSection(kind="imported", source="x", license="MIT", attempts=1),
    },
}


@pytest.mark.parametrize(("code", "changes"), EXCLUDED.items(), ids=list(EXCLUDED))
def test_each_exclusion_has_its_code(code: Exclusion, changes: dict[str, Any]) -> None:
    found = ranked(examples.record(**changes), examples.record(name="other"))
    assert [item.code for item in found.excluded] == [code]
    assert [names(board) for board in found.boards] == [[(1, "other")]]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASSED])
def test_only_what_passed_is_ranked(status: Status) -> None:
    found = exclusion(examples.record(**verdict(status, "some_reason")))
    assert found is not None
    assert found.why == f"{status}: some_reason"


def revoked(record: schema.Record) -> schema.Revocation:
    return schema.Revocation(
        id="r", record_id=record.id, observed_at=examples.NOW, why="wrong clock"
    )


def test_a_revoked_record_is_on_no_board_and_not_lost() -> None:
    record = examples.record()
    found = ranked(record, events=[revoked(record)])
    assert not found.boards
    assert (found.excluded[0].code, found.excluded[0].why) == (Exclusion.REVOKED, "wrong clock")


def test_of_one_solution_the_newest_record_competes_and_not_the_luckiest() -> None:
    lucky = timed("a", 1.0, observed_at=examples.NOW - timedelta(days=1))
    newest = timed("a", 2.0)
    found = ranked(newest, lucky)
    assert [s.record for s in found.boards[0].standings] == [newest]
    assert [(e.record, e.code) for e in found.excluded] == [(lucky, Exclusion.SUPERSEDED)]


def test_a_revoked_newest_record_gives_its_place_back() -> None:
    older = timed("a", 1.0, observed_at=examples.NOW - timedelta(days=1))
    newest = timed("a", 2.0)
    found = ranked(newest, older, events=[revoked(newest)])
    assert [s.record for s in found.boards[0].standings] == [older]


def verified(record: schema.Record, machine: str, day: int, *, agreed: bool) -> schema.Verification:
    return schema.Verification(
        id=f"{machine}{day}",
        record_id=record.id,
        observed_at=examples.NOW + timedelta(days=day),
        agreed=agreed,
        machine=machine,
        evidence={},
    )


# (machine, day, agreed)...
TRUST = [
    ([], Trust.REPRODUCIBLE),
    ([("a", 1, True)], Trust.VERIFIED),
    ([("a", 1, True), ("a", 2, True)], Trust.VERIFIED),
    ([("a", 1, True), ("b", 2, True)], Trust.REPLICATED),
    ([("a", 1, False)], Trust.REPRODUCIBLE),
    ([("a", 1, True), ("a", 2, False)], Trust.REPRODUCIBLE),
    ([("a", 2, True), ("a", 1, False)], Trust.VERIFIED),
    ([("a", 1, True), ("b", 1, False)], Trust.REPRODUCIBLE),
]


@pytest.mark.parametrize(("said", "expected"), TRUST)
def test_trust_follows_from_what_verifications_said(
    said: list[tuple[str, int, bool]], expected: Trust
) -> None:
    record = examples.record()
    events = [verified(record, machine, day, agreed=agreed) for machine, day, agreed in said]
    assert trust(record, events) == expected
    assert trust(examples.record(), events) == Trust.REPRODUCIBLE


def test_an_imported_figure_is_only_reported() -> None:
    assert trust(examples.record(**COHORTS["imported figures"])) == Trust.REPORTED


@pytest.mark.parametrize(("days", "expected"), [(0, False), (180, False), (181, True)])
def test_a_record_is_stale_after_180_days(days: int, expected: bool) -> None:
    record = examples.record()
    assert stale(record, examples.NOW + timedelta(days=days)) is expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
        ("AMD EPYC", "AMD EPYC"),
    ],
)
def test_hardware_is_the_devices_model_name(device: str, expected: str) -> None:
    assert hardware_name(device) == expected
