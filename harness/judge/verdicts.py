"""From what went wrong to a verdict: the one table of statuses and reasons.

Owns the words; the evidence comes from those who found it.
"""

from __future__ import annotations

from typing import Any

from harness.judge.precision import METRICS, Budget, Errors
from harness.judge.reference import ReferenceFault
from harness.judge.replies import Fault, MismatchReply
from harness.record.schema import Failed, Phase, Status
from harness.record.strict_json import plain
from harness.sandbox.launch import Silence, describe

BY_FAULT = {
    "syntax_error": (Status.COMPILE_ERROR, "syntax_error"),
    "no_model": (Status.COMPILE_ERROR, "no_model"),
    "build_failed": (Status.COMPILE_ERROR, "build_failed"),
    "missing_package": (Status.UNAVAILABLE, "missing_package"),
    "out_of_memory": (Status.RESOURCE_EXCEEDED, "out_of_memory"),
    "exception": (Status.RUNTIME_ERROR, "exception"),
}
WRONG_DTYPE = ("wrong_dtype", "wrong_device")
BAD_ACCESS = (7, 11)  # SIGBUS, SIGSEGV


def failed(
    status: Status, phase: Phase, reason: str, detail: str, evidence: dict[str, Any] | None = None
) -> Failed:
    """A verdict whose evidence is made fit for a record."""
    return Failed(
        status=status, phase=phase, reason=reason, detail=detail, evidence=plain(evidence or {})
    )


def from_fault(fault: Fault, phase: Phase, log: str) -> Failed:
    """The candidate raised."""
    status, reason = BY_FAULT.get(fault.kind, BY_FAULT["exception"])
    first = fault.message.strip().splitlines()
    name = fault.type.rpartition(".")[2]
    detail = f"{name}: {first[0][:300]}" if first else name
    evidence = {"type": fault.type, "message": fault.message, "traceback": fault.traceback}
    return failed(status, phase, reason, detail, evidence | _log(log))


def from_mismatch(mismatch: MismatchReply, phase: Phase) -> Failed:
    """The returned object has the wrong structure, type, shape, storage, dtype or device."""
    wrong_dtype = mismatch.reason in WRONG_DTYPE
    status = Status.INCORRECT_DTYPE if wrong_dtype else Status.INCORRECT_SHAPE
    detail = f"forward returned {mismatch.found}, wanted {mismatch.wanted}"
    evidence = {"found": mismatch.found, "wanted": mismatch.wanted}
    return failed(status, phase, mismatch.reason, detail, evidence)


def incorrect(
    errors: Errors,
    allowed: Budget,
    phase: Phase,
    *,
    family: str,
    class_: str,
    unmatched: str | None,
) -> Failed:
    """The output is outside what the class allows; `unmatched` says which weights had no match."""
    evidence: dict[str, Any] = {
        "family": family,
        "class": class_,
        "errors": dict(zip(METRICS, errors.metrics, strict=True)),
        "budget": dict(zip(METRICS, allowed.metrics, strict=True)),
        "finite_masks_equal": errors.masks_equal,
    }
    detail = (
        f"relative L2 error {errors.rel_l2:.2e} on {family} inputs, class {class_} allows "
        f"{allowed.rel_l2:.2e}; worst element {errors.max_abs:.2e} of {allowed.max_abs:.2e}, "
        f"worst block {errors.worst_block:.2e} of {allowed.worst_block:.2e}"
    )
    reason = "outside_budget"
    if not errors.masks_equal:
        reason = "not_finite"
        detail = f"NaN or Inf where the reference is finite, or the reverse, on {family} inputs"
    if unmatched is not None:
        reason, evidence["weights"] = "weights_unmatched", unmatched
        detail = f"wrong without the reference's weights: {unmatched}"
    return failed(Status.INCORRECT_NUMERICAL, phase, reason, detail, evidence)


def from_silence(silence: Silence, phase: Phase, log: str, *, deadline_s: float) -> Failed:
    """No answer came."""
    if silence.kind == "timeout":
        detail = f"no answer within {deadline_s:g} s in phase {phase.value}"
        return failed(Status.TIMEOUT, phase, f"{phase.value}_deadline", detail, _log(log))
    if silence.kind == "protocol":
        return failed(Status.POLICY_VIOLATION, phase, silence.reason, silence.detail, _log(log))
    assert silence.death is not None
    evidence = {"exit": silence.death.exit, "signal": silence.death.signal} | _log(log)
    words = describe(silence.death)
    if silence.death.signal is None:
        detail = f"the worker ended itself with {words}"
        return failed(Status.RUNTIME_ERROR, phase, "worker_exited", detail, evidence)
    if silence.death.signal == 9:
        detail = f"the worker was {words}; the system kills for memory, and so may the candidate"
        return failed(Status.RESOURCE_EXCEEDED, phase, "worker_killed", detail, evidence)
    hint = "; inputs are read-only" if silence.death.signal in BAD_ACCESS else ""
    detail = f"the worker was {words}{hint}"
    return failed(Status.RUNTIME_ERROR, phase, "worker_crashed", detail, evidence)


def from_reference(fault: ReferenceFault, phase: Phase) -> Failed:
    """The problem's own code failed: never the solution's fault."""
    evidence = {"traceback": fault.trace}
    return failed(Status.INVALID_REFERENCE, phase, fault.reason, fault.detail, evidence)


def _log(log: str) -> dict[str, Any]:
    return {"log": log} if log.strip() else {}
