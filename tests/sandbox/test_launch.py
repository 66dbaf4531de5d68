"""Births, deaths and what is left behind: no orphan outlives its worker."""

import os
import signal
import time
from pathlib import Path

import pytest

from harness.sandbox.launch import Death, Server, ServerDied, Silence, Worker

SOLUTION = "import torch\n{code}\nclass ModelNew(torch.nn.Module):\n    pass\n"


@pytest.fixture(scope="module")
def server():
    made = Server(interpret=False)
    yield made
    made.close()


def load(worker, code, seconds=20):
    """Open a worker and import `code` in it."""
    until = time.monotonic() + seconds
    opened = worker.ask({"op": "open", "device": "cpu", "threads": 1}, until)
    assert isinstance(opened, dict)
    path = worker.scratch / "candidate.py"
    path.write_text(SOLUTION.format(code=code))
    return worker.ask({"op": "load", "path": str(path), "module": "candidate"}, until)


def gone(pid):
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_gone(pid, seconds=5):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if gone(pid):
            return True
        time.sleep(0.01)
    return False


DEATHS = {
    "exit 0": ("import os; os._exit(0)", Death(0, None)),
    "exit 7": ("import os; os._exit(7)", Death(7, None)),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", Death(None, signal.SIGSEGV)),
    "abort": ("import os; os.abort()", Death(None, signal.SIGABRT)),
    "killed": ("import os; os.kill(os.getpid(), 9)", Death(None, signal.SIGKILL)),
}


@pytest.mark.parametrize("name", DEATHS)
def test_each_death_is_named_right(server, name):
    code, death = DEATHS[name]
    worker = Worker(server)
    found = load(worker, code)
    assert isinstance(found, Silence)
    assert found.death == death
    ended = worker.close(orderly=False)
    assert ended.death == death
    assert gone(worker.pid)
    assert not worker.scratch.exists()


LEFT = {
    "a child": "subprocess.Popen(['sleep', '300'])",
    "a child in a session of its own": "subprocess.Popen(['sleep', '300'], start_new_session=True)",
    "a grandchild whose parent is gone": (
        "subprocess.run(['sh', '-c', 'setsid sleep 300 & echo $!'])"),
    "a fork": "os.fork() or time.sleep(300)",
}  # fmt: skip


@pytest.mark.parametrize("orderly", [True, False])
@pytest.mark.parametrize("name", LEFT)
def test_whatever_a_worker_leaves_is_ended_with_it(server, name, orderly):
    before = _descendants(server.pid)
    worker = Worker(server)
    load(worker, f"import os, subprocess, time\n{LEFT[name]}", seconds=5)
    started = _descendants(server.pid) - before - {worker.pid}
    assert started, "the fixture starts something"
    ended = worker.close(orderly=orderly)
    assert ended.swept
    assert all(wait_gone(pid) for pid in started)
    assert not orderly or ended.left == len(started) or name == "a fork"


def _descendants(pid):
    found, waiting = set(), [pid]
    while waiting:
        one = waiting.pop()
        for task in Path(f"/proc/{one}/task").glob("*"):
            try:
                children = [int(n) for n in (task / "children").read_text().split()]
            except OSError:
                continue
            found |= set(children)
            waiting += children
    return found


def test_a_hanging_worker_is_timed_out_and_ended(server):
    worker = Worker(server)
    started = time.monotonic()
    found = load(worker, "import time; time.sleep(300)", seconds=1)
    assert isinstance(found, Silence)
    assert found.kind == "timeout"
    assert time.monotonic() - started < 30
    worker.close(orderly=False)
    assert gone(worker.pid)


def test_two_workers_live_side_by_side_and_one_death_leaves_the_other(server):
    one, other = Worker(server), Worker(server)
    load(one, "import os; os.abort()")
    assert load(other, "x = 1")["fault"] is None
    one.close(orderly=False)
    assert other.ask({"op": "report"}, time.monotonic() + 5)["flags"]
    assert other.close(orderly=True).death == Death(0, None)


def test_a_dead_server_is_noticed_and_its_workers_die_with_it():
    server = Server(interpret=False)
    worker = Worker(server)
    load(worker, "x = 1")
    os.kill(server.pid, signal.SIGKILL)
    assert wait_gone(server.pid)
    with pytest.raises(ServerDied):
        worker.close(orderly=False)
    assert wait_gone(worker.pid)
    server.close()


def test_a_server_ends_with_its_judge():
    """The judge is killed: the control socket closes, and everybody goes."""
    server = Server(interpret=False)
    worker = Worker(server)
    load(worker, "import subprocess; subprocess.Popen(['sleep', '300'], start_new_session=True)")
    everybody = _descendants(server.pid) | {server.pid}
    server.control.close()
    assert all(wait_gone(pid) for pid in everybody)
    server._process.wait()
    worker._sock.close()


def test_what_a_candidate_prints_is_kept_as_a_bounded_log(server):
    worker = Worker(server)
    load(worker, "print('A' * 100_000); print('the end')")
    assert worker.log_tail().rstrip().endswith("the end")
    assert len(worker.log_tail()) <= 4000
    worker.close(orderly=True)


def test_a_worker_forked_later_finds_nothing_of_an_earlier_one(server):
    first = Worker(server)
    load(first, "import builtins; builtins.left = 1; open('/tmp/harness-left', 'w').close()")
    first.close(orderly=True)
    second = Worker(server)
    found = load(second, "import builtins; assert not hasattr(builtins, 'left')")
    assert found["fault"] is None
    second.close(orderly=True)
    Path("/tmp/harness-left").unlink()


def test_triton_is_interpreted_in_one_server_and_compiled_in_the_other():
    code = "import triton, os; print('MODE', triton.knobs.runtime.interpret)"
    for interpret in (True, False):
        server = Server(interpret=interpret)
        worker = Worker(server)
        load(worker, code)
        assert f"MODE {interpret}" in worker.log_tail()
        worker.close(orderly=True)
        server.close()
