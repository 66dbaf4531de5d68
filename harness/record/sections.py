"""The sections of a record: every key, its unit, and what cannot be true of it.

Owns names, nesting, types and impossible states within one section. Knows neither the whole
record (that is `schema`) nor any file, formula or torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)

from harness.record.strict_json import BIGGEST_INT, PLAIN_DEPTH, decode, encode

_DIGEST = r"^sha256:[0-9a-f]{64}$"
_SNAKE = r"^[a-z][a-z0-9_]*$"


class Status(StrEnum):
    """The fourteen words that a verdict can be."""

    PASSED = "passed"
    INCORRECT_SHAPE = "incorrect_shape"
    INCORRECT_DTYPE = "incorrect_dtype"
    INCORRECT_NUMERICAL = "incorrect_numerical"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    RESOURCE_EXCEEDED = "resource_exceeded"
    UNAVAILABLE = "unavailable"
    INVALID_REFERENCE = "invalid_reference"
    POLICY_VIOLATION = "policy_violation"
    SUSPECTED_REWARD_HACK = "suspected_reward_hack"
    INCOMPLETE_EVIDENCE = "incomplete_evidence"
    HARNESS_FAULT = "harness_fault"


class Phase(StrEnum):
    """Where an evaluation was when its verdict fell; each has its own deadline."""

    LOAD = "load"
    BUILD = "build"
    PREPARE = "prepare"
    CHECK = "check"
    TIME = "time"


def _spelled(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse what no strict JSON can spell: NaN, lone surrogates, huge integers, deep nests.

    `strict_json.plain` makes a value of any origin fit.
    """
    decode(encode(value), depth=PLAIN_DEPTH)
    return value


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


Name = Annotated[str, StringConstraints(min_length=1)]
Digest = Annotated[str, StringConstraints(pattern=_DIGEST)]
Seed = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,64}$")]  # hex: 2^53 is too small
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Count = Annotated[int, Field(ge=0, lt=BIGGEST_INT)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Plain = Annotated[dict[str, JsonValue], AfterValidator(_spelled)]
Accuracy = Literal["fp32", "tf32", "fp16", "bf16"]


class Section(BaseModel):
    """What every section shares: frozen, strictly typed, and nothing that is not named."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)


class ProblemSection(Section):
    """Which workload: `size` is resolved (never auto); `axes` and `init` are as used."""

    name: Name
    level: Count | None
    number: Count | None
    family: str | None
    reference_digest: Digest
    size: Name
    axes: Plain
    init: Plain
    dtype: Name
    lint: Plain


class SolutionSection(Section):
    """Which source was judged. `path` is as a person would type it, null if there is no file."""

    name: Name
    backend: Literal["eager", "inductor", "triton", "cuda", "other"]
    digest: Digest
    path: str | None
    license: str | None
    author: str | None
    source_url: str | None
    claims: Plain


class Passed(Section):
    """The answer was right and the evidence complete: there is no phase and no reason."""

    status: Literal[Status.PASSED] = Status.PASSED
    phase: None = None
    reason: None = None
    detail: str | None = None
    evidence: Plain


class Failed(Section):
    """Any other verdict: where, why for a machine, why for a person, and the evidence."""

    status: Status
    phase: Phase
    reason: Annotated[str, StringConstraints(pattern=_SNAKE)]
    detail: str
    evidence: Plain

    @model_validator(mode="after")
    def _not_passed(self) -> Self:
        if self.status is Status.PASSED:
            raise ValueError("passed has neither phase nor reason")
        return self


def _verdict_kind(value: object) -> str:
    status = value.get("status") if isinstance(value, Mapping) else getattr(value, "status", None)
    return "passed" if status == Status.PASSED else "failed"


Verdict = Annotated[
    Annotated[Passed, Tag("passed")] | Annotated[Failed, Tag("failed")],
    Discriminator(_verdict_kind),
]


class PrecisionSection(Section):
    """The accuracy that was reached, `class_` (JSON: `class`), null where none was.

    The three errors are the worst over all calls; one that is not finite is null here and named
    in the verdict's evidence. `checks` counts the untimed calls that were compared.
    """

    class_: Accuracy | None = Field(validation_alias="class", serialization_alias="class")
    asked: Accuracy
    oracle: Name
    rel_l2: Amount | None
    max_abs: Amount | None
    worst_block: Amount | None
    budgets: Plain
    checks: Count
    families: tuple[str, ...]


class WeightsSection(Section):
    """How the reference's weights reached the solution."""

    policy: Name


class Block(Section):
    """A few trials on one set of buffers: `start` is the index of its first sample.

    `order` says which side of a pair went first, null where the run was not paired.
    """

    start: Count
    order: Literal["candidate_first", "baseline_first"] | None
    family: Name


class Burst(Section):
    """`calls` calls on as many inputs within one *go*: bounds the clock, is never the score."""

    calls: Annotated[int, Field(ge=1)]
    wall_ms: Amount
    device_ms: Amount | None


class TimingSection(Section):
    """Raw samples, in the order they were taken; everything else is derived from them.

    `trials` is the number asked for, `discarded` the number thrown away with throttled blocks,
    `warmup` the number of untimed calls before. `wall_ms` has one entry a sample, `tail_ms` too
    where the device has one. `host_ms` is the host's time to enqueue one call.
    """

    clock: Name
    engine: Literal["device", "interpreter"]
    trials: Count
    samples_ms: tuple[Amount, ...]
    blocks: tuple[Block, ...]
    wall_ms: tuple[Amount, ...]
    tail_ms: tuple[Amount, ...]
    overhead_ms: Amount | None
    overhead_noise_ms: Amount | None
    clock_window_ms: Amount | None
    bound_us: Amount | None
    host_ms: Amount | None
    bursts: tuple[Burst, ...]
    warmup: Count
    discarded: Count
    cache: Literal["cold", "warm"]
    prepare_s: Amount | None
    build_s: Amount | None
    launches: Literal["eager", "graph"]

    @model_validator(mode="after")
    def _samples_agree(self) -> Self:
        count = len(self.samples_ms)
        if count > self.trials:
            raise ValueError(f"{count} samples of {self.trials} trials")
        if len(self.wall_ms) != count or len(self.tail_ms) not in (0, count):
            raise ValueError("wall_ms and tail_ms have one entry for each sample")
        starts = [block.start for block in self.blocks]
        if starts != sorted(set(starts)) or (starts and (starts[0] != 0 or starts[-1] >= count)):
            raise ValueError("blocks start at 0, rise, and hold at least one sample each")
        if count and not starts:
            raise ValueError("samples belong to blocks")
        return self


class BaselineSection(Section):
    """What the solution was measured against, with that side's own raw samples."""

    solution: Name
    solution_digest: Digest
    record_id: str | None
    samples_ms: tuple[Amount, ...]
    wall_ms: tuple[Amount, ...]

    @model_validator(mode="after")
    def _walls_agree(self) -> Self:
        if len(self.wall_ms) not in (0, len(self.samples_ms)):
            raise ValueError("wall_ms has one entry for each sample")
        return self


class FloorSection(Section):
    """The least time that the hardware allows. `hardware` is a row's name, null if measured."""

    policy: Name
    bytes: Count
    flops: Count
    floor_ms: Amount
    bound: Literal["memory", "compute"]
    bandwidth_gbps: Amount
    peak_tflops: Amount | None
    measured_gbps: Amount | None
    hardware: str | None
    source: Name


class Clocks(Section):
    """The two clocks that decide speed, as NVML read them."""

    sm_mhz: Count
    memory_mhz: Count


class EnvironmentSection(Section):
    """The machine. `device` is the model's name; on a CPU there is no driver and no cuda.

    `clocks`, `power` (watts) and `temperature` (degrees Celsius) have one entry for each block
    that was read, none on a CPU; `throttle` lists every reason seen, null where none can be read.
    """

    device: Name
    memory_bytes: Count | None
    driver: str | None
    cuda: str | None
    torch: str | None
    triton: str | None
    python: str
    os: str
    flags: Plain
    clocks: tuple[Clocks, ...]
    power: tuple[Amount, ...]
    temperature: tuple[float, ...]
    throttle: tuple[str, ...] | None
    isolation: Plain


class ResourcesSection(Section):
    """Memory that the workload was expected to need, and the most that it was seen to use."""

    needed_bytes: Count | None
    peak_bytes: Count | None


class ProtocolSection(Section):
    """By which rules it was judged; records of different digests are not compared."""

    version: Annotated[int, Field(ge=1)]
    digest: Digest


class OriginSection(Section):
    """Measured here, or imported from somebody's figures. `attempts` counts the evaluations."""

    kind: Literal["measured", "imported"]
    source: str | None
    license: str | None
    attempts: Annotated[int, Field(ge=1)]


class SeedsSection(Section):
    """The secrets of the evaluation, written down once they are worthless."""

    inputs: Seed
    weights: Seed
    forward: Seed


class HarnessSection(Section):
    """Which harness judged: null commit where it ran outside a checkout."""

    version: Name
    commit: str | None
    dirty: bool | None
