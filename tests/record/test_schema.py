"""The record: what it holds, what it refuses, and that its line gives it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.record import schema
from tests.record import examples

# architecture.md, "The record": every key, in its order
KEYS = {
    "": "schema id run_id observed_at problem workload_digest solution verdict precision weights "
    "provenance timing baseline floor environment resources protocol origin seeds harness",
    "problem": "name level number family reference_digest size axes init dtype lint",
    "solution": "name backend digest path license author source_url claims",
    "verdict": "status phase reason detail evidence",
    "precision": "class asked oracle rel_l2 max_abs worst_block budgets checks families",
    "weights": "policy",
    "timing": "clock engine trials samples_ms blocks wall_ms tail_ms overhead_ms "
    "overhead_noise_ms clock_window_ms bound_us host_ms bursts warmup discarded cache prepare_s "
    "build_s launches",
    "baseline": "solution solution_digest record_id samples_ms wall_ms",
    "floor": "policy bytes flops floor_ms bound bandwidth_gbps peak_tflops measured_gbps "
    "hardware source",
    "environment": "device memory_bytes driver cuda torch triton python os flags clocks power "
    "temperature throttle isolation",
    "resources": "needed_bytes peak_bytes",
    "protocol": "version digest",
    "origin": "kind source license attempts",
    "seeds": "inputs weights forward",
    "harness": "version commit dirty",
}
STATUSES = (
    "passed incorrect_shape incorrect_dtype incorrect_numerical compile_error runtime_error "
    "timeout resource_exceeded unavailable invalid_reference policy_violation "
    "suspected_reward_hack incomplete_evidence harness_fault"
)

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> str:
    value = json.loads(schema.dump(examples.record()))
    change(value)
    return json.dumps(value)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(examples.records)
def test_every_record_round_trips(record: schema.Record) -> None:
    line = schema.dump(record)
    assert "\n" not in line
    assert schema.parse(line) == record
    assert schema.parse(line.encode()) == record
    assert schema.dump(schema.parse(line)) == line


@pytest.mark.parametrize("section", KEYS)
def test_a_section_has_exactly_the_keys_of_the_design(section: str) -> None:
    record = examples.record(baseline=examples.baseline((1.0,)))
    value = json.loads(schema.dump(record))
    assert list(value[section] if section else value) == KEYS[section].split()


def test_there_are_the_fourteen_statuses_and_the_five_phases() -> None:
    assert [str(status) for status in schema.Status] == STATUSES.split()
    assert [str(phase) for phase in schema.Phase] == ["load", "build", "prepare", "check", "time"]


@pytest.mark.parametrize("section", sorted(KEYS))
def test_a_missing_key_and_an_unknown_key_are_refused_at_every_level(section: str) -> None:
    record = examples.record(baseline=examples.baseline((1.0,)))

    def inside(value: dict[str, Any]) -> dict[str, Any]:
        return value[section] if section else value

    for key in KEYS[section].split():
        value = json.loads(schema.dump(record))
        del inside(value)[key]
        with pytest.raises(schema.BadRecord):
            schema.parse(json.dumps(value))
    value = json.loads(schema.dump(record))
    inside(value)["surprise"] = 1
    with pytest.raises(schema.BadRecord, match="surprise"):
        schema.parse(json.dumps(value))


@pytest.mark.parametrize("section", ["precision", "weights", "provenance", "timing", "baseline"])
def test_a_section_that_does_not_apply_is_null_and_its_key_stays(section: str) -> None:
    verdict = examples.failed(schema.Status.COMPILE_ERROR, "syntax_error")
    line = schema.dump(examples.record(verdict=verdict, **{section: None}))
    assert json.loads(line)[section] is None
    assert getattr(schema.parse(line), section) is None


IMPOSSIBLE: dict[str, Change] = {
    "passed with a reason": lambda v: v["verdict"].update(reason="slow"),
    "passed with a phase": lambda v: v["verdict"].update(phase="time"),
    "failed without a reason": lambda v: v["verdict"].update(status="timeout", phase="time"),
    "an unknown status": lambda v: v["verdict"].update(status="ok"),
    "an unknown phase": lambda v: v["verdict"].update(
        status="timeout", phase="lunch", reason="late", detail=""
    ),
    "a reason that is a sentence": lambda v: v["verdict"].update(
        status="timeout", phase="time", reason="It was late.", detail=""
    ),
    "a negative sample": lambda v: v["timing"]["samples_ms"].__setitem__(0, -1.0),
    "a sample that is text": lambda v: v["timing"]["samples_ms"].__setitem__(0, "3.5"),
    "a sample that is NaN": lambda v: v["timing"]["samples_ms"].__setitem__(0, float("nan")),
    "a sample that is infinite": lambda v: v["timing"]["wall_ms"].__setitem__(0, float("inf")),
    "a wall time too few": lambda v: v["timing"]["wall_ms"].pop(),
    "a tail for one sample only": lambda v: v["timing"].update(tail_ms=[0.1]),
    "more samples than trials": lambda v: v["timing"].update(trials=3),
    "a block that is empty": lambda v: v["timing"]["blocks"].append(
        {"start": 40, "order": None, "family": "declared"}
    ),
    "blocks out of order": lambda v: v["timing"]["blocks"].reverse(),
    "samples in no block": lambda v: v["timing"].update(blocks=[]),
    "passed on too few trials": lambda v: v["timing"].update(trials=41),
    "passed without timing": lambda v: v.update(timing=None),
    "passed without a class": lambda v: v["precision"].update({"class": None}),
    "passed without a workload": lambda v: v.update(workload_digest=None),
    "a digest without its algorithm": lambda v: v["solution"].update(digest="a" * 64),
    "a seed that is a number": lambda v: v["seeds"].update(inputs=12),
    "a moment without a zone": lambda v: v.update(observed_at="2026-06-01T12:00:00"),
    "a moment that is a number": lambda v: v.update(observed_at=1_780_000_000),
    "a moment that is a number in quotes": lambda v: v.update(observed_at="1780000000"),
    "a count that is true": lambda v: v["timing"].update(warmup=True),
    "a count of 1.0": lambda v: v["timing"].update(warmup=1.0),
    "an unknown class": lambda v: v["precision"].update({"class": "fp8"}),
    "pydantic's own name for class": lambda v: v["precision"].update(
        class_=v["precision"].pop("class")
    ),
    "an unknown schema": lambda v: v.update(schema=2),
    "a schema that is true": lambda v: v.update(schema=True),
    "a schema of 1.0": lambda v: v.update(schema=1.0),
}


@pytest.mark.parametrize("change", IMPOSSIBLE.values(), ids=list(IMPOSSIBLE))
def test_what_cannot_be_true_cannot_be_read(change: Change) -> None:
    with pytest.raises(schema.BadRecord) as refusal:
        schema.parse(changed(change))
    assert "\n" not in str(refusal.value)


def test_an_unknown_schema_is_refused_by_its_number() -> None:
    with pytest.raises(schema.BadRecord, match="schema 7 is not known here"):
        schema.parse('{"schema": 7, "anything": "else"}')


@pytest.mark.parametrize("line", ["", "[]", "null", "1", "{}", "{", '{"schema": 1}'])
def test_what_is_no_record_is_refused(line: str) -> None:
    with pytest.raises(schema.BadRecord):
        schema.parse(line)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_garbage_makes_the_reader_stumble(line: bytes) -> None:
    with pytest.raises(schema.BadRecord):
        schema.parse(line)


@pytest.mark.parametrize(
    "evidence",
    [
        {"error": float("nan")},
        {"deep": [{"error": float("inf")}]},
        {"log": "\ud800"},
        {"\udfff": 1},
        {"huge": 2**63},
    ],
)
def test_evidence_that_json_cannot_spell_is_refused_when_it_is_made(evidence: Any) -> None:
    with pytest.raises(ValueError, match="evidence"):
        schema.Passed(evidence=evidence)


def test_a_record_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        examples.record().run_id = "other"  # type: ignore[misc]


def test_moments_are_kept_in_utc() -> None:
    there = datetime(2026, 6, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    record = examples.record(observed_at=there)
    assert json.loads(schema.dump(record))["observed_at"] == "2026-06-01T12:00:00Z"
    assert record.observed_at == there


def test_ids_sort_by_time_and_are_not_taken_for_numbers() -> None:
    early = schema.new_id(datetime(2026, 1, 1, tzinfo=UTC))
    late = schema.new_id(datetime(2026, 1, 2, tzinfo=UTC))
    assert early < late
    assert len({schema.new_id() for _ in range(100)}) == 100
    with pytest.raises(ValueError, match="could not convert"):
        float(early)


def test_imported_figures_need_no_samples() -> None:
    origin = schema.OriginSection(kind="imported", source="x", license="MIT", attempts=1)
    record = examples.record(origin=origin, timing=None, precision=None, seeds=None)
    assert schema.parse(schema.dump(record)) == record


EVENTS = st.builds(
    schema.Revocation,
    id=examples.names,
    record_id=examples.names,
    observed_at=examples.moments,
    why=examples.names,
) | st.builds(
    schema.Verification,
    id=examples.names,
    record_id=examples.names,
    observed_at=examples.moments,
    agreed=st.booleans(),
    machine=examples.names,
    evidence=examples.plains,
)


@settings(deadline=None)
@given(EVENTS)
def test_every_event_line_round_trips(event: schema.Verification | schema.Revocation) -> None:
    assert schema.parse_event(schema.dump_event(event)) == event


def test_an_event_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(schema.BadRecord):
        schema.parse_event('{"schema": 1, "event": "party"}')
