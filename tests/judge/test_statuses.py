"""Every way in which a candidate can fail has its own status, phase and reason.

The table is the specification; each row is judged for real, in a worker process.
"""

import textwrap

import pytest

HEAD = """
import torch
from torch import nn
"""
RIGHT = """
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        return self.layer(x)
"""


def top(code):
    """A right solution with `code` run at import."""
    return HEAD + textwrap.dedent(code) + RIGHT


def constructor(code):
    """A right solution with `code` run in the constructor."""
    body = textwrap.indent(textwrap.dedent(code).strip("\n"), " " * 8)
    return HEAD + RIGHT.replace("        self.layer =", f"{body}\n        self.layer =")


def forward(code):
    """A solution whose forward is `code`; `y` is the right answer."""
    body = textwrap.indent(textwrap.dedent(code).strip("\n"), " " * 8)
    return HEAD + RIGHT.replace(
        "        return self.layer(x)", f"        y = self.layer(x)\n{body}"
    )


RUNTIME, COMPILE = "runtime_error", "compile_error"
SHAPE, DTYPE, NUMBERS = "incorrect_shape", "incorrect_dtype", "incorrect_numerical"
POLICY, RESOURCE = "policy_violation", "resource_exceeded"

# name: source, (status, phase, reason)
TABLE = {
    "right": (HEAD + RIGHT, ("passed", None, None)),
    "prints at import": (top("print('x' * 100000)"), ("passed", None, None)),
    "empty file": ("", (COMPILE, "load", "no_solution")),
    "the text None": ("None\n", (COMPILE, "load", "no_solution")),
    "only comments": ("# nothing\n", (COMPILE, "load", "no_solution")),
    "does not parse": ("class ModelNew(:\n", (COMPILE, "load", "syntax_error")),
    "no ModelNew": (HEAD + "class Model(nn.Module):\n    pass\n", (COMPILE, "load", "no_model")),
    "missing package": (top("import surely_not_installed"), ("unavailable", "load",
                                                             "missing_package")),
    "raises at import": (top("raise ValueError('no')"), (RUNTIME, "load", "exception")),
    "leaves at import": (top("raise SystemExit(0)"), (RUNTIME, "load", "exception")),
    "interrupts at import": (top("raise KeyboardInterrupt"), (RUNTIME, "load", "exception")),
    "exits at import": (top("import os; os._exit(0)"), (RUNTIME, "load", "worker_exited")),
    "KeyError in the constructor": (constructor("raise KeyError('bias')"),
                                    (RUNTIME, "build", "exception")),
    "SystemExit in the constructor": (constructor("raise SystemExit"),
                                      (RUNTIME, "build", "exception")),
    "RecursionError in the constructor": (
        constructor("def f():\n    return f()\nf()"), (RUNTIME, "build", "exception")),
    "exception whose text raises": (
        constructor("class E(Exception):\n    def __str__(self):\n        raise OSError\nraise E"),
        (RUNTIME, "build", "exception")),
    "constructor gives no module": (HEAD + "def ModelNew(features):\n    return (1, 2)\n",
                                    (RUNTIME, "build", "exception")),
    "compiler fails": (constructor("import subprocess; subprocess.check_call(['false'])"),
                       (COMPILE, "build", "build_failed")),
    "forward raises": (forward("raise IndexError('x')"), (RUNTIME, "prepare", "exception")),
    "prepare raises": (HEAD + RIGHT + "\n    def prepare(self):\n        raise TypeError\n",
                       (RUNTIME, "prepare", "exception")),
    "wrong shape": (forward("return y[:, :-1]"), (SHAPE, "prepare", "wrong_shape")),
    "broadcastable shape": (forward("return y[:1]"), (SHAPE, "prepare", "wrong_shape")),
    "a tuple": (forward("return (y,)"), (SHAPE, "prepare", "not_a_plain_tensor")),
    "None": (forward("return None"), (SHAPE, "prepare", "not_a_plain_tensor")),
    "a number": (forward("return 1.0"), (SHAPE, "prepare", "not_a_plain_tensor")),
    "a subclass": (
        forward("class T(torch.Tensor):\n    pass\nreturn y.as_subclass(T)"),
        (SHAPE, "prepare", "not_a_plain_tensor")),
    "sparse": (forward("return y.to_sparse()"), (SHAPE, "prepare", "not_dense")),
    "emptied storage": (forward("y.untyped_storage().resize_(0)\nreturn y"),
                        (SHAPE, "prepare", "storage_too_small")),
    "half precision": (forward("return y.half()"), (DTYPE, "prepare", "wrong_dtype")),
    "double precision": (forward("return y.double()"), (DTYPE, "prepare", "wrong_dtype")),
    "another device": (forward("return y.to('meta')"), (DTYPE, "prepare", "wrong_device")),
    "NaN": (forward("y[3, 3] = float('nan')\nreturn y"), (NUMBERS, "prepare", "not_finite")),
    "Inf": (forward("y[3, 3] = float('inf')\nreturn y"), (NUMBERS, "prepare", "not_finite")),
    "zeros": (forward("return torch.zeros_like(y)"), (NUMBERS, "prepare", "outside_budget")),
    "never written": (forward("return torch.empty_like(y).fill_(float('nan'))"),
                      (NUMBERS, "prepare", "not_finite")),
    "three times as large": (forward("return 3 * y"), (NUMBERS, "prepare", "outside_budget")),
    "the input": (forward("return x.clone()"), (NUMBERS, "prepare", "outside_budget")),
    "a row is wrong": (forward("y[5] = 0\nreturn y"), (NUMBERS, "prepare", "outside_budget")),
    "a channel is wrong": (forward("y[:, 5] *= 1.01\nreturn y"),
                           (NUMBERS, "prepare", "outside_budget")),
    "hangs at import": (top("import time; time.sleep(60)"), ("timeout", "load", "load_deadline")),
    "hangs in the constructor": (constructor("while True:\n    pass"),
                                 ("timeout", "build", "build_deadline")),
    "hangs in forward": (forward("import time; time.sleep(60)"),
                         ("timeout", "prepare", "prepare_deadline")),
    "ignores SIGTERM and hangs": (
        top("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"),
        ("timeout", "load", "load_deadline")),
    "exits in forward": (forward("import os; os._exit(3)"), (RUNTIME, "prepare", "worker_exited")),
    "segmentation fault": (forward("import ctypes; ctypes.string_at(0)"),
                           (RUNTIME, "prepare", "worker_crashed")),
    "abort": (forward("import os; os.abort()"), (RUNTIME, "prepare", "worker_crashed")),
    "kills itself": (forward("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
                     (RESOURCE, "prepare", "worker_killed")),
    "MemoryError": (forward("raise MemoryError"), (RESOURCE, "prepare", "out_of_memory")),
    "allocates a petabyte": (forward("torch.empty(10**15)"), (RESOURCE, "prepare",
                                                              "out_of_memory")),
    "writes its input": (forward("x.zero_()\nreturn y"), (RUNTIME, "prepare", "worker_crashed")),
    "leaves a child behind": (
        top("import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"),
        (POLICY, "time", "processes_left_behind")),
    "kills the fork server": (forward("import os; os.kill(os.getppid(), 9)\nreturn y"),
                              (POLICY, "prepare", "fork_server_ended")),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_each_way_to_fail_has_its_own_verdict(bench, name):
    source, expected = TABLE[name]
    assert bench.outcome(source) == expected


FIND_SOCKET = """
import os, socket, stat
fds = [int(n) for n in os.listdir("/proc/self/fd")]
def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
channel = socket.socket(fileno=os.dup(next(fd for fd in fds if is_socket(fd))))
"""
# What a candidate writes into the worker's own socket, while a request is open.
FORGERIES = {
    "garbage": ("channel.send(b'garbage')", "not_json"),
    "no object": ("channel.send(b'[1]')", "not_an_object"),
    "a repeated key": ("""channel.send(b'{"a":1,"a":2}')""", "repeated_key"),
    "a wrong nonce": ("""channel.send(b'{"nonce":"x","seq":1}')""", "wrong_nonce"),
    "a smuggled descriptor": (
        "channel.sendmsg([b'{}'], [(1, 1, (0).to_bytes(4, 'little'))])", "smuggled_descriptor"),
    "a closed socket": ("channel.shutdown(2); import time; time.sleep(60)", "socket_closed"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forged_message_is_a_violation_with_its_reason(bench, name):
    code, reason = FORGERIES[name]
    assert bench.outcome(top(FIND_SOCKET + code)) == (POLICY, "load", reason)


def test_a_message_that_nobody_asked_for_is_a_violation(bench):
    """A candidate that knows nonce and number can answer once more than it was asked.

    The second answer is there before the next request, or comes in answer to it: both have names.
    """
    code = """
    import sys
    from harness import wire
    kept = {}
    original = wire.send
    def twice(sock, message, fds=()):
        original(sock, message, fds)
        original(sock, message, fds)
    wire.send = twice
    """
    status, _, reason = bench.outcome(top(code))
    assert status == POLICY
    assert reason in ("unsolicited_message", "wrong_sequence")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device_ms", "-1.0"),
        ("device_ms", "'fast'"),
        ("device_ms", "1e300"),
        ("steps", "['x'] * 9 + [3]"),
        ("tail_ms", "None"),
        ("extra", "1"),
    ],
)
def test_a_reply_that_does_not_fit_is_a_violation(bench, field, value):
    code = f"""
    from harness import wire
    original = wire.send
    def forged(sock, message, fds=()):
        if "device_ms" in message:
            message[{field!r}] = {value}
        original(sock, message, fds)
    wire.send = forged
    """
    assert bench.outcome(top(code)) == (POLICY, "prepare", "malformed_reply")


def test_a_device_time_that_the_wall_clock_contradicts_is_no_evidence(bench):
    """20 ms of work that claims a microsecond: the judge's own clock has seen the 20 ms."""
    code = """
    import time
    from harness import wire
    original = wire.send
    def forged(sock, message, fds=()):
        if "device_ms" in message:
            message["device_ms"] = 0.001
        original(sock, message, fds)
    wire.send = forged
    """
    source = top(code).replace("return self.layer(x)", "time.sleep(0.02); return self.layer(x)")
    assert bench.outcome(source) == ("incomplete_evidence", "time", "clocks_disagree")


def test_a_device_time_above_the_wall_clock_is_no_evidence(bench):
    code = """
    from harness import wire
    original = wire.send
    def forged(sock, message, fds=()):
        if "device_ms" in message:
            message["device_ms"] = 5000.0
        original(sock, message, fds)
    wire.send = forged
    """
    expected = ("incomplete_evidence", "time", "device_time_over_wall")
    assert bench.outcome(top(code)) == expected


def test_an_answer_before_the_work_is_done_is_caught(bench):
    """The worker says done, then a thread writes the right output into the shared buffer."""
    code = """
    import threading, time
    from harness.worker import seal as sealing
    def late(found, structure, layouts, shared, device):
        right = found.detach().clone()
        def write():
            time.sleep(0.003)
            shared[0].copy_(right)
        threading.Thread(target=write).start()
    sealing.seal = late
    """
    status, _, reason = bench.outcome(top(code))
    assert (status, reason) in {
        ("suspected_reward_hack", "output_changed_after_answer"),
        ("incorrect_numerical", "not_finite"),  # so late that the poison was copied
    }


def test_a_fault_of_the_harness_is_retried_once_and_never_blamed(bench, monkeypatch):
    from harness.faults import HarnessFault
    from harness.judge.construction import Construction

    tries = []

    def broken(self, patience):
        tries.append(1)
        raise HarnessFault("no worker could be opened")

    monkeypatch.setattr(Construction, "load", broken)
    bench.judge._baselines.clear()
    assert bench.outcome(HEAD + RIGHT) == ("harness_fault", "load", "harness_fault")
    assert len(tries) == 4  # two for the baseline, two for the solution
    monkeypatch.undo()
    bench.judge._baselines.clear()
    assert bench.outcome(HEAD + RIGHT)[0] == "passed"
