"""The record: one evaluation as one JSON line, and the event lines that speak about records.

Owns what makes a whole record possible, and the way to and from its line. Knows no file, no
formula and no torch. A section that does not apply is null; a missing or unknown key is refused.

History: 1, the first.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from harness.record.sections import (
    Accuracy,
    BaselineSection,
    Block,
    Burst,
    Clocks,
    Digest,
    EnvironmentSection,
    Failed,
    FloorSection,
    HarnessSection,
    Moment,
    Name,
    OriginSection,
    Passed,
    Phase,
    Plain,
    PrecisionSection,
    ProblemSection,
    ProtocolSection,
    ResourcesSection,
    Section,
    SeedsSection,
    SolutionSection,
    Status,
    TimingSection,
    Verdict,
    WeightsSection,
)
from harness.record.strict_json import NotStrict, decode, encode

__all__ = [
    "SCHEMA",
    "Accuracy",
    "BadRecord",
    "BaselineSection",
    "Block",
    "Burst",
    "Clocks",
    "Digest",
    "EnvironmentSection",
    "Event",
    "Failed",
    "FloorSection",
    "HarnessSection",
    "Moment",
    "Name",
    "OriginSection",
    "Passed",
    "Phase",
    "Plain",
    "PrecisionSection",
    "ProblemSection",
    "ProtocolSection",
    "Record",
    "ResourcesSection",
    "Revocation",
    "Section",
    "SeedsSection",
    "SolutionSection",
    "Status",
    "TimingSection",
    "Verdict",
    "Verification",
    "WeightsSection",
    "dump",
    "dump_event",
    "new_id",
    "parse",
    "parse_event",
]

SCHEMA = 1


class BadRecord(ValueError):
    """A line that is no record of a schema this reader knows; the message is one line."""


class Record(Section):
    """One evaluation. A value: nothing in it changes once it is written."""

    schema_: int = Field(default=SCHEMA, validation_alias="schema", serialization_alias="schema")
    id: Name
    run_id: Name
    observed_at: Moment
    problem: ProblemSection
    workload_digest: Digest | None
    solution: SolutionSection
    verdict: Verdict
    precision: PrecisionSection | None
    weights: WeightsSection | None
    provenance: Plain | None
    timing: TimingSection | None
    baseline: BaselineSection | None
    floor: FloorSection | None
    environment: EnvironmentSection
    resources: ResourcesSection | None
    protocol: ProtocolSection
    origin: OriginSection
    seeds: SeedsSection | None
    harness: HarnessSection

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.schema_ != SCHEMA:
            raise ValueError(f"schema {self.schema_}: this reader knows {SCHEMA}")
        if isinstance(self.verdict, Passed) and self.origin.kind == "measured":
            _require_evidence(self)
        return self


def _require_evidence(record: Record) -> None:
    if record.workload_digest is None:
        raise ValueError("passed without a workload_digest")
    if record.precision is None or record.precision.class_ is None:
        raise ValueError("passed without a precision class")
    if record.timing is None or len(record.timing.samples_ms) != record.timing.trials:
        raise ValueError("passed without all the samples that were asked for")
    if record.timing.trials == 0:
        raise ValueError("passed without a single trial")


class Verification(Section):
    """Event line: a later run on fresh secret inputs agreed with the record, or did not."""

    schema_: int = Field(default=SCHEMA, validation_alias="schema", serialization_alias="schema")
    event: Literal["verification"] = "verification"
    id: Name
    record_id: Name
    observed_at: Moment
    agreed: bool
    machine: Name
    evidence: Plain


class Revocation(Section):
    """Event line: the record no longer counts, and why. It is never deleted."""

    schema_: int = Field(default=SCHEMA, validation_alias="schema", serialization_alias="schema")
    event: Literal["revocation"] = "revocation"
    id: Name
    record_id: Name
    observed_at: Moment
    why: Name


Event = Annotated[Verification | Revocation, Field(discriminator="event")]

_EVENT: TypeAdapter[Verification | Revocation] = TypeAdapter(Event)


def new_id(now: datetime | None = None) -> str:
    """Make an id that sorts by time and that no spreadsheet takes for a number."""
    moment = datetime.now(UTC) if now is None else now.astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}-{secrets.token_hex(6)}"


def dump(record: Record) -> str:
    """Write `record` as one line without its newline; every key is there, null if unknown."""
    return encode(record.model_dump(mode="json", by_alias=True))


def dump_event(event: Verification | Revocation) -> str:
    """Write `event` as one line without its newline."""
    return encode(event.model_dump(mode="json", by_alias=True))


def parse(line: str | bytes) -> Record:
    """Read one line; BadRecord says in one line what is wrong with it."""
    _check_line(line)
    try:
        return Record.model_validate_json(line)
    except ValidationError as error:
        raise BadRecord(_first(error)) from None


def parse_event(line: str | bytes) -> Verification | Revocation:
    """Read one event line; BadRecord says in one line what is wrong with it."""
    _check_line(line)
    try:
        return _EVENT.validate_json(line)
    except ValidationError as error:
        raise BadRecord(_first(error)) from None


def _check_line(line: str | bytes) -> None:
    """Refuse what is not strict JSON, and a schema number that this reader does not know."""
    try:
        value = decode(line)
    except NotStrict as error:
        raise BadRecord(str(error)) from None
    if not isinstance(value, dict):
        raise BadRecord("not an object")
    number = value.get("schema")
    if number != SCHEMA or isinstance(number, bool | float):
        raise BadRecord(f"schema {number!r} is not known here; this reader knows {SCHEMA}")
    _check_spelling(value)


def _check_spelling(value: dict[str, object]) -> None:
    """Refuse what pydantic lets through: its field names, keys left out, numbers as moments."""
    precision, moment = value.get("precision"), value.get("observed_at")
    verdict = value.get("verdict")
    if "schema_" in value or (isinstance(precision, dict) and "class_" in precision):
        raise BadRecord("schema_ and class_ are no keys of a record")
    if isinstance(verdict, dict) and not verdict.keys() >= Failed.model_fields.keys():
        raise BadRecord(f"verdict: wanted each of {', '.join(Failed.model_fields)}")
    if isinstance(moment, str) and "T" not in moment:
        raise BadRecord(f"observed_at: {moment!r} is no ISO 8601 moment")


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    key = ".".join(str(part) for part in found[0]["loc"]) or "record"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{key}: {found[0]['msg']}{more}"
