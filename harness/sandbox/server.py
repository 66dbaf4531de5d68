"""The fork server: imports torch once, then forks a clean worker for every evaluation.

Started by file path as ``python -I server.py CONTROL_FD``, with an environment of the judge's
making; it never sees the judge's modules, arguments or memory. It runs no tensor operation: one
parallel operation here would make every later child hang. Owns births, deaths and the sweep of
whatever a worker leaves behind; knows nothing of problems, candidates or verdicts.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 38, 36
HARNESS_EXIT = 70  # the worker's own code failed, outside the candidate (sysexits' EX_SOFTWARE)
SWEEP_S = (
    2.0  # killing all descendants takes 0.1 to 5 ms; longer means one forks faster than we kill
)
# In the order of their imports. The package is a stand-in without a path: nothing else of the
# harness can be imported through it.
PRELOADED = (
    "wire",
    "mapping",
    "construct",
    "worker.candidate",
    "worker.clock",
    "worker.flags",
    "worker.profile",
    "worker.seal",
    "worker.main",
)
_libc = ctypes.CDLL(None, use_errno=True)


def preload(harness: Path) -> None:
    """Load the worker's few modules by file under their usual names."""
    for name in ("harness", "harness.worker"):
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    for short in PRELOADED:
        name = f"harness.{short}"
        path = harness / (short.replace(".", "/") + ".py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[parent], last, module)
        spec.loader.exec_module(module)


def threads() -> int:
    """Threads of this process: a fork keeps only one, so there must be only one."""
    return len(list(Path("/proc/self/task").iterdir()))


def children() -> list[int]:
    """Our direct children, orphans that came to us as subreaper included."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def alive(pid: int) -> bool:
    """Whether a child is running, not only waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Server:
    """One lane's births and deaths."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.workers: dict[int, int] = {}  # pid -> pidfd
        self.wire = sys.modules["harness.wire"]

    def serve(self) -> None:
        """Until the judge closes the control socket: then end everybody and leave."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        while True:
            # One event at a time: handling one may close the descriptor of the next.
            descriptor, _ = poller.poll()[0]
            if descriptor != self.control.fileno():
                poller.unregister(descriptor)
                self._tell_death(descriptor)
                continue
            try:
                request, fds = self.wire.receive(self.control)
            except self.wire.Closed:
                self._end_all()
                return
            if request["op"] == "spawn":
                pid = self._spawn(request, fds)
                poller.register(self.workers[pid], select.POLLIN)
                self.wire.send(self.control, {"spawned": pid})
            else:
                self._end(request["pid"], poller, orderly=request["orderly"])

    def _tell_death(self, pidfd: int) -> None:
        pid = next(pid for pid, fd in self.workers.items() if fd == pidfd)
        self.wire.send(self.control, {"died": pid, **self._peek(pid)})

    def _peek(self, pid: int) -> dict[str, int | None]:
        """How a dead worker ended, without reaping it: its group id stays reserved."""
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert found is not None
        if found.si_code == os.CLD_EXITED:
            return {"exit": found.si_status, "signal": None}
        return {"exit": None, "signal": found.si_status}

    def _spawn(self, request: dict, fds: tuple[int, ...]) -> int:  # type: ignore[type-arg]
        count = threads()
        if count != 1:
            raise RuntimeError(f"the server has {count} threads; a fork needs exactly 1")
        pid = os.fork()
        if pid == 0:
            _be_worker(request, fds, self.control, list(self.workers.values()))
        for descriptor in fds:
            os.close(descriptor)
        self.workers[pid] = os.pidfd_open(pid)
        return pid

    def _end(self, pid: int, poller: select.poll, *, orderly: bool) -> None:
        pidfd = self.workers[pid]
        if orderly:  # it was told to close: let it go by itself first, and see what it leaves
            waiter = select.poll()
            waiter.register(pidfd, select.POLLIN)
            waiter.poll(5000)  # a CUDA context takes a second or two to go
        by_itself = not alive(pid)
        if not by_itself:
            os.killpg(pid, signal.SIGKILL)
        how = self._peek(pid)
        others = [one for one in children() if one not in self.workers and alive(one)]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with contextlib.suppress(KeyError):  # its death was told already
            poller.unregister(pidfd)
        os.close(pidfd)
        del self.workers[pid]
        swept = self._sweep()
        self.wire.send(
            self.control,
            {"ended": pid, **how, "by_itself": by_itself, "left": len(others), "swept": swept},
        )

    def _sweep(self) -> bool:
        """Kill what the dead worker left, its children's children too; False if some escaped."""
        until = time.monotonic() + SWEEP_S
        while time.monotonic() < until:
            rest = [pid for pid in children() if pid not in self.workers]
            if not rest:
                return True
            for pid in rest:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except (ProcessLookupError, ChildProcessError):
                    continue
        return False

    def _end_all(self) -> None:
        for pid in self.workers:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.workers.clear()
        self._sweep()


def _be_worker(
    request: dict,  # type: ignore[type-arg]
    fds: tuple[int, ...],
    control: socket.socket,
    others: list[int],
) -> None:
    """In the child: take the place of a worker, and never return."""
    code = HARNESS_EXIT
    try:
        sock_fd, log_fd = fds
        control.close()
        for pidfd in others:
            os.close(pidfd)
        os.setsid()
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        os.close(log_fd)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["directory"])
        _limit(request["limits"])
        sock = socket.socket(fileno=sock_fd)
        sys.modules["harness.worker.main"].run(sock)
        code = 0
    except BaseException as error:  # nothing may reach the server's own frames
        if isinstance(error, SystemExit) and error.code in (0, None):
            code = 0
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _limit(limits: dict) -> None:  # type: ignore[type-arg]
    import resource

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def main() -> None:
    """Import what workers need, say so, serve."""
    os.environ.pop("HARNESS_CONTROL", None)
    control = socket.socket(fileno=int(sys.argv[1]))
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    import torch

    with_triton = True
    try:
        import triton
        import triton.language
    except ImportError:
        with_triton = False
    preload(Path(sys.argv[2]))
    facts = {"ready": True, "torch": torch.__version__, "threads": threads()}
    facts["triton"] = triton.__version__ if with_triton else None
    control.sendmsg([json.dumps(facts).encode()])
    sys.argv = [sys.argv[0]]
    Server(control).serve()


if __name__ == "__main__":
    main()
