"""What to do about a verdict: a line for each reason, and one for each status where none is known.

Owns advice and nothing else; a reason that is missing here still gets its status's line.
"""

from __future__ import annotations

from harness.record.schema import Failed, Status

_BY_REASON: dict[tuple[Status, str], str] = {
    (Status.COMPILE_ERROR, "syntax_error"): "fix the line that the detail names",
    (Status.COMPILE_ERROR, "build_failed"): "read the compiler's log in the record's evidence",
    (Status.COMPILE_ERROR, "no_model"): "define a class ModelNew with the arguments of Model",
    (Status.COMPILE_ERROR, "no_solution"): "write a class ModelNew into it",
    (Status.UNAVAILABLE, "missing_package"): "install the package, or leave the solution out",
    (Status.UNAVAILABLE, "no_cuda_device"): "run it on a machine with a CUDA device",
    (Status.INCORRECT_DTYPE, "wrong_device"): "return a tensor on the device of the inputs",
    (Status.INCORRECT_NUMERICAL, "outside_budget"): (
        "compute more exactly, or ask for a looser class with -o class=bf16 where that is meant"
    ),
    (Status.INCORRECT_NUMERICAL, "not_finite"): "look for overflow, or for outputs never written",
    (Status.INCORRECT_NUMERICAL, "weights_unmatched"): (
        "name and shape the parameters as Model does, or define prepare() to pack them"
    ),
    (Status.RUNTIME_ERROR, "worker_crashed"): ("look for a write to an input or beyond a buffer"),
    (Status.RUNTIME_ERROR, "worker_exited"): "let forward return: it must not end its process",
    (Status.RESOURCE_EXCEEDED, "worker_killed"): (
        "use less memory, or a smaller size with --size or --set"
    ),
    (Status.POLICY_VIOLATION, "processes_left_behind"): (
        "end every process and thread that the solution starts"
    ),
    (Status.SUSPECTED_REWARD_HACK, "output_changed_after_answer"): (
        "finish all work on the device before forward returns its result"
    ),
    (Status.INCOMPLETE_EVIDENCE, "compiled_while_timing"): (
        "compile in prepare() or in the first calls, and for these shapes only"
    ),
    (Status.POLICY_VIOLATION, "cannot_be_stopped"): (
        "start no process that starts others without end"
    ),
    (Status.POLICY_VIOLATION, "fork_server_touched"): (
        "leave the priority, processors and limits of other processes alone"
    ),
    (Status.INCOMPLETE_EVIDENCE, "device_time_over_wall"): (
        "leave torch's events and the clock alone; if you did, run again and report it"
    ),
    (Status.INCOMPLETE_EVIDENCE, "too_few_trials"): (
        "cool the device or close other jobs on it, and run again"
    ),
    (Status.SUSPECTED_REWARD_HACK, "below_floor"): (
        "no machine moves these bytes in that time: look for work that is skipped or moved "
        "out of the timed call"
    ),
    (Status.SUSPECTED_REWARD_HACK, "input_dependent_speed"): (
        "make the speed independent of the inputs' values"
    ),
    (Status.INCOMPLETE_EVIDENCE, "clocks_disagree"): (
        "finish all work before forward returns its result, close other jobs, run again"
    ),
    (Status.INCOMPLETE_EVIDENCE, "baseline_disturbed"): (
        "close other jobs on the device and run again"
    ),
}

_BY_STATUS: dict[Status, str] = {
    Status.PASSED: "nothing to do",
    Status.INCORRECT_SHAPE: "return what the reference returns: same structure, shape, layout",
    Status.INCORRECT_DTYPE: "return the reference's dtype on the device of the inputs",
    Status.INCORRECT_NUMERICAL: (
        "compare with the reference in fp64; if a lower precision is meant, ask for it with "
        "-o class=bf16"
    ),
    Status.COMPILE_ERROR: "read the log in the record's evidence",
    Status.RUNTIME_ERROR: "read the traceback in the record's evidence",
    Status.TIMEOUT: "make the phase faster, or raise its deadline with -o deadlines_s.PHASE=N",
    Status.RESOURCE_EXCEEDED: "choose a smaller size with --size or --set, or use less memory",
    Status.UNAVAILABLE: "run it on a machine that has what the detail names",
    Status.INVALID_REFERENCE: "mend the problem file: the solution is not to blame",
    Status.POLICY_VIOLATION: "keep to the contract in the README: the answer did not count",
    Status.SUSPECTED_REWARD_HACK: "read the evidence; the record is kept and not ranked",
    Status.INCOMPLETE_EVIDENCE: "close other jobs, run again, or raise --trials",
    Status.HARNESS_FAULT: "not the solution's fault: report it with the record",
}


def remedy(verdict: Failed) -> str:
    """Say what a person can do about a verdict."""
    if verdict.status is Status.TIMEOUT:
        return _BY_STATUS[Status.TIMEOUT].replace("PHASE", verdict.phase)
    return _BY_REASON.get((verdict.status, verdict.reason), _BY_STATUS[verdict.status])
