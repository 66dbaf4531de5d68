"""Records to test with: one that is complete and passed, and hypothesis strategies for any."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from harness.record import schema

DIGEST = "sha256:" + "a" * 64
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def problem(**changes: Any) -> schema.ProblemSection:
    values = {
        "name": "87_conv_pointwise_2D",
        "level": 1,
        "number": 87,
        "family": "convolution",
        "reference_digest": DIGEST,
        "size": "full",
        "axes": {"batch_size": 16},
        "init": {},
        "dtype": "float32",
        "lint": {},
    }
    return schema.ProblemSection(**{**values, **changes})


def solution(name: str = "eager", **changes: Any) -> schema.SolutionSection:
    values = {
        "name": name,
        "backend": "eager",
        "digest": DIGEST,
        "path": None,
        "license": None,
        "author": None,
        "source_url": None,
        "claims": {},
    }
    return schema.SolutionSection(**{**values, **changes})


def precision(**changes: Any) -> schema.PrecisionSection:
    values = {
        "class_": "tf32",
        "asked": "tf32",
        "oracle": "fp64",
        "rel_l2": 2.6e-4,
        "max_abs": 1e-3,
        "worst_block": 3e-4,
        "budgets": {"rel_l2": 1e-3},
        "checks": 5,
        "families": ("declared", "zero_mean"),
    }
    return schema.PrecisionSection(**{**values, **changes})


def timing(samples_ms: tuple[float, ...] = (3.5, 3.6) * 20, **changes: Any) -> schema.TimingSection:
    starts = range(0, len(samples_ms), 5)
    values = {
        "clock": "cuda_event",
        "engine": "device",
        "trials": len(samples_ms),
        "samples_ms": samples_ms,
        "blocks": tuple(schema.Block(start=s, order=None, family="declared") for s in starts),
        "wall_ms": tuple(sample + 0.3 for sample in samples_ms),
        "tail_ms": (),
        "overhead_ms": 0.3,
        "overhead_noise_ms": 0.05,
        "clock_window_ms": 4.0,
        "bound_us": None,
        "host_ms": 0.05,
        "bursts": (),
        "warmup": 5,
        "discarded": 0,
        "cache": "cold",
        "prepare_s": 0.5,
        "build_s": None,
        "launches": "eager",
    }
    return schema.TimingSection(**{**values, **changes})


def floor(**changes: Any) -> schema.FloorSection:
    values = {
        "policy": "complete-v2",
        "bytes": 12_884_934_656,
        "flops": 274_877_906_944,
        "floor_ms": 2.684,
        "bound": "memory",
        "bandwidth_gbps": 4800.0,
        "peak_tflops": 494.7,
        "measured_gbps": None,
        "hardware": "H200 SXM",
        "source": "datasheet",
    }
    return schema.FloorSection(**{**values, **changes})


def environment(**changes: Any) -> schema.EnvironmentSection:
    values = {
        "device": "NVIDIA H200",
        "memory_bytes": 150_000_000_000,
        "driver": "570.86.15",
        "cuda": "12.8",
        "torch": "2.11.0+cu128",
        "triton": "3.6.0",
        "python": "3.12.3",
        "os": "Linux",
        "flags": {},
        "clocks": (),
        "power": (),
        "temperature": (),
        "throttle": None,
        "isolation": {},
    }
    return schema.EnvironmentSection(**{**values, **changes})


def failed(status: schema.Status, reason: str, **changes: Any) -> schema.Failed:
    values = {"phase": schema.Phase.CHECK, "detail": "what happened", "evidence": {}}
    return schema.Failed(status=status, reason=reason, **{**values, **changes})


def baseline(samples_ms: tuple[float, ...], **changes: Any) -> schema.BaselineSection:
    values = {
        "solution": "eager",
        "solution_digest": DIGEST,
        "record_id": "the-baseline",
        "wall_ms": (),
    }
    return schema.BaselineSection(samples_ms=samples_ms, **{**values, **changes})


def record(**changes: Any) -> schema.Record:
    """A passed record; `name` and `samples_ms` are short for a solution and a timing."""
    name, samples = changes.pop("name", "eager"), changes.pop("samples_ms", None)
    values = {
        "id": changes.get("id") or schema.new_id(),
        "run_id": "run",
        "observed_at": NOW,
        "problem": problem(),
        "workload_digest": DIGEST,
        "solution": solution(name),
        "verdict": schema.Passed(evidence={}),
        "precision": precision(),
        "weights": schema.WeightsSection(policy="matched"),
        "provenance": {},
        "timing": timing() if samples is None else timing(samples),
        "baseline": None,
        "floor": floor(),
        "environment": environment(),
        "resources": schema.ResourcesSection(needed_bytes=10, peak_bytes=None),
        "protocol": schema.ProtocolSection(version=1, digest=DIGEST),
        "origin": schema.OriginSection(kind="measured", source=None, license=None, attempts=1),
        "seeds": schema.SeedsSection(inputs="0a", weights="0b", forward="0c"),
        "harness": schema.HarnessSection(version="0.1.0", commit=None, dirty=None),
    }
    return schema.Record(**{**values, **changes})


# --- any record at all ----------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = texts.filter(bool)
maybe_text = st.none() | texts
counts = st.integers(0, 2**63 - 1)
amounts = st.floats(0, allow_nan=False, allow_infinity=False)
maybe_amount = st.none() | amounts
digests = st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:".__add__)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
plains = st.dictionaries(texts, json_values, max_size=3)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))
accuracies = st.sampled_from(["fp32", "tf32", "fp16", "bf16"])

problems = st.builds(
    schema.ProblemSection,
    name=names,
    level=st.none() | counts,
    number=st.none() | counts,
    family=maybe_text,
    reference_digest=digests,
    size=names,
    axes=plains,
    init=plains,
    dtype=names,
    lint=plains,
)
solutions = st.builds(
    schema.SolutionSection,
    name=names,
    backend=st.sampled_from(["eager", "inductor", "triton", "cuda", "other"]),
    digest=digests,
    path=maybe_text,
    license=maybe_text,
    author=maybe_text,
    source_url=maybe_text,
    claims=plains,
)
passes = st.builds(schema.Passed, detail=maybe_text, evidence=plains)
failures = st.builds(
    schema.Failed,
    status=st.sampled_from([s for s in schema.Status if s is not schema.Status.PASSED]),
    phase=st.sampled_from(schema.Phase),
    reason=st.from_regex(r"\A[a-z][a-z0-9_]{0,20}\Z"),
    detail=texts,
    evidence=plains,
)
precisions = st.builds(
    schema.PrecisionSection,
    class_=accuracies,
    asked=accuracies,
    oracle=names,
    rel_l2=maybe_amount,
    max_abs=maybe_amount,
    worst_block=maybe_amount,
    budgets=plains,
    checks=counts,
    families=st.lists(texts, max_size=3).map(tuple),
)
bursts = st.builds(schema.Burst, calls=st.integers(1, 64), wall_ms=amounts, device_ms=maybe_amount)


@st.composite
def timings(draw: st.DrawFn) -> schema.TimingSection:
    count = draw(st.integers(1, 12))
    exactly = st.lists(amounts, min_size=count, max_size=count).map(tuple)
    starts = (
        [0, *sorted(draw(st.sets(st.integers(1, count - 1), max_size=3)))] if count > 1 else [0]
    )
    orders = st.sampled_from([None, "candidate_first", "baseline_first"])
    return schema.TimingSection(
        clock=draw(names),
        engine=draw(st.sampled_from(["device", "interpreter"])),
        trials=count,
        samples_ms=draw(exactly),
        blocks=tuple(schema.Block(start=s, order=draw(orders), family=draw(names)) for s in starts),
        wall_ms=draw(exactly),
        tail_ms=draw(st.just(()) | exactly),
        overhead_ms=draw(maybe_amount),
        overhead_noise_ms=draw(maybe_amount),
        clock_window_ms=draw(maybe_amount),
        bound_us=draw(maybe_amount),
        host_ms=draw(maybe_amount),
        bursts=tuple(draw(st.lists(bursts, max_size=2))),
        warmup=draw(counts),
        discarded=draw(counts),
        cache=draw(st.sampled_from(["cold", "warm"])),
        prepare_s=draw(maybe_amount),
        build_s=draw(maybe_amount),
        launches=draw(st.sampled_from(["eager", "graph"])),
    )


baselines = st.lists(amounts, max_size=4).flatmap(
    lambda samples: st.builds(
        schema.BaselineSection,
        solution=names,
        solution_digest=digests,
        record_id=maybe_text,
        samples_ms=st.just(tuple(samples)),
        wall_ms=st.sampled_from([(), tuple(samples)]),
    )
)
floors = st.builds(
    schema.FloorSection,
    policy=names,
    bytes=counts,
    flops=counts,
    floor_ms=amounts,
    bound=st.sampled_from(["memory", "compute"]),
    bandwidth_gbps=amounts,
    peak_tflops=maybe_amount,
    measured_gbps=maybe_amount,
    hardware=maybe_text,
    source=names,
)
environments = st.builds(
    schema.EnvironmentSection,
    device=names,
    memory_bytes=st.none() | counts,
    driver=maybe_text,
    cuda=maybe_text,
    torch=maybe_text,
    triton=maybe_text,
    python=texts,
    os=texts,
    flags=plains,
    clocks=st.lists(st.builds(schema.Clocks, sm_mhz=counts, memory_mhz=counts), max_size=2).map(
        tuple
    ),
    power=st.lists(amounts, max_size=2).map(tuple),
    temperature=st.lists(st.floats(-50, 150), max_size=2).map(tuple),
    throttle=st.none() | st.lists(texts, max_size=2).map(tuple),
    isolation=plains,
)
seeds = st.from_regex(r"\A[0-9a-f]{1,64}\Z")
records = st.builds(
    schema.Record,
    id=names,
    run_id=names,
    observed_at=moments,
    problem=problems,
    workload_digest=digests,
    solution=solutions,
    verdict=passes | failures,
    precision=precisions,
    weights=st.none() | st.builds(schema.WeightsSection, policy=names),
    provenance=st.none() | plains,
    timing=timings(),
    baseline=st.none() | baselines,
    floor=st.none() | floors,
    environment=environments,
    resources=st.none()
    | st.builds(
        schema.ResourcesSection,
        needed_bytes=st.none() | counts,
        peak_bytes=st.none() | counts,
    ),
    protocol=st.builds(schema.ProtocolSection, version=st.integers(1, 99), digest=digests),
    origin=st.builds(
        schema.OriginSection,
        kind=st.sampled_from(["measured", "imported"]),
        source=maybe_text,
        license=maybe_text,
        attempts=st.integers(1, 9),
    ),
    seeds=st.none() | st.builds(schema.SeedsSection, inputs=seeds, weights=seeds, forward=seeds),
    harness=st.builds(
        schema.HarnessSection, version=names, commit=maybe_text, dirty=st.none() | st.booleans()
    ),
)
