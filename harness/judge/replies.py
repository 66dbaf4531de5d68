"""What a worker may answer: every reply is parsed here and nowhere else.

A reply that does not fit is the worker's fault (`policy_violation`), never an exception of the
judge.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.wire import Malformed

Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=8000)]


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    took_ms: Amount


class Fault(BaseModel):
    """An exception of the candidate, in the worker's words."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    kind: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    type: Text
    message: Text
    traceback: Text


class MismatchReply(BaseModel):
    """The returned object was not of the reference's kind."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
    reason: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    found: Text
    wanted: Text


class OpenReply(_Reply):
    """The device is up; the global flags as they stand before the candidate comes."""

    flags: dict[str, Text]


class StageReply(_Reply):
    """Load, weights, inputs, output: done, or the candidate's fault."""

    fault: Fault | None


class BuildReply(_Reply):
    """Constructed: a page of the state's names, shapes and whether each is a parameter."""

    fault: Fault | None
    state: list[tuple[Text, list[int], bool]] | None = None
    more: bool = False


class PrepareReply(_Reply):
    """Prepared: whether the candidate defines `prepare()`."""

    fault: Fault | None
    defined: bool


class CallReply(_Reply):
    """One call, in ms: on the device, on the host until it returned, after the end event."""

    fault: Fault | None
    mismatch: MismatchReply | None = None
    device_ms: Amount = 0.0
    host_ms: Amount = 0.0
    tail_ms: Amount = 0.0
    compiles: int = 0
    steps: list[Annotated[str, Field(max_length=20)]] = []


class ReportReply(_Reply):
    """Flags and peak device memory at the end."""

    flags: dict[str, Text]
    peak_bytes: Annotated[int, Field(ge=0)]


class ProfileReply(_Reply):
    """Kernels of one unscored call: name, microseconds on the device, launches."""

    fault: Fault | None
    kernels: list[tuple[Text, Amount, Annotated[int, Field(ge=0)]]] = []


Kind = TypeVar("Kind", bound=_Reply)


def parse(kind: type[Kind], message: dict[str, Any]) -> Kind:
    """The message as this kind of reply, or `Malformed`."""
    try:
        return kind.model_validate_json(_again(message))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise Malformed("malformed_reply", f"{where}: {first['msg']}"[:200]) from None


def _again(message: dict[str, Any]) -> bytes:
    """Back to JSON: pydantic's strict mode takes tuples and floats from JSON as JSON has them."""
    from harness.wire import encode

    return encode(message)
