"""The judge's end of the fork server: start it, ask it for workers, learn of deaths.

Owns processes and deadlines; does not know what is said to a worker.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import wire
from harness.faults import HarnessFault
from harness.sandbox import kin, limits

READY_S = 180.0  # importing torch takes 1 to 10 s; a cold disk has taken a minute
ANSWER_S = 60.0  # forking and reaping take milliseconds; a dying CUDA context, seconds
LOG_TAIL = 4000  # characters of a worker's output that go into evidence
_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Death:
    """How a process ended: an exit code or a signal's number, the other None."""

    exit: int | None
    signal: int | None


@dataclass(frozen=True)
class Ended:
    """What the server found when it ended a worker; `left` counts processes it left behind."""

    death: Death
    by_itself: bool
    left: int
    swept: bool


class ServerDied(Exception):
    """The fork server is gone: a worker ended it, or the system did."""


class Server:
    """One fork server; replaced by its owner whenever a worker died by signal or touched it."""

    def __init__(self, *, interpret: bool) -> None:
        self.interpret = interpret
        self._deaths: dict[int, Death] = {}
        self.workers: set[int] = set()  # those that have not been ended
        self._answers: deque[wire.Message] = deque()
        self._folder = Path(tempfile.mkdtemp(prefix="harness-server-"))
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = mine
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_HERE / "server.py"), str(theirs.fileno()),
                 str(_HERE.parent)],
                env=limits.server_environment(interpret=interpret),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )  # fmt: skip
        theirs.close()
        self._settings = kin.settings(self._process.pid)
        try:
            self.facts = self._await_ready()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    @property
    def touched(self) -> bool:
        """Whether a worker has changed what later workers would inherit: they would run slower."""
        return self._process.poll() is None and kin.settings(self.pid) != self._settings

    def _await_ready(self) -> wire.Message:
        if not select.select([self.control], [], [], READY_S)[0]:
            raise HarnessFault(f"the fork server was not ready within {READY_S:.0f} s")
        try:
            return wire.receive(self.control)[0]
        except wire.Closed:
            raise HarnessFault(f"the fork server did not start: {self.log()}") from None

    def log(self) -> str:
        """The end of what the server printed."""
        with contextlib.suppress(OSError):
            return (self._folder / "log").read_text(errors="replace")[-LOG_TAIL:]
        return ""

    def spawn(self, scratch: Path, log: int) -> tuple[int, socket.socket]:
        """A fresh worker whose output goes to `log`: its pid and the judge's end of its socket."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        work = scratch / "work"
        work.mkdir(exist_ok=True)
        request = {
            "op": "spawn",
            "environment": limits.worker_environment(scratch, interpret=self.interpret),
            "directory": str(work),
            "limits": limits.LIMITS,
        }
        try:
            wire.send(self.control, request, (theirs.fileno(), log))
            pid = self._answer("spawned")["spawned"]
            self.workers.add(pid)
            return pid, mine
        except wire.Closed:
            raise ServerDied(self.log()) from None
        finally:
            theirs.close()

    def end(self, pid: int, *, orderly: bool) -> Ended:
        """End a worker with all that it started, and reap it."""
        try:
            wire.send(self.control, {"op": "end", "pid": pid, "orderly": orderly})
            found = self._answer("ended")
        except wire.Closed:
            raise ServerDied(self.log()) from None
        death = Death(found["exit"], found["signal"])
        self._deaths.pop(pid, None)
        self.workers.discard(pid)
        return Ended(death, found["by_itself"], found["left"], found["swept"])

    def death_of(self, pid: int) -> Death | None:
        """How a worker died, if the server has said so by now (does not wait)."""
        while select.select([self.control], [], [], 0)[0]:
            self._take()
        return self._deaths.get(pid)

    def _take(self) -> None:
        try:
            found, _ = wire.receive(self.control)
        except wire.Closed:
            raise ServerDied(self.log()) from None
        if "died" in found:
            self._deaths[found["died"]] = Death(found["exit"], found["signal"])
        else:
            self._answers.append(found)

    def _answer(self, key: str) -> wire.Message:
        until = time.monotonic() + ANSWER_S
        while True:
            while self._answers:
                found = self._answers.popleft()
                if key in found:
                    return found
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.control], [], [], left)[0]:
                raise HarnessFault(f"the fork server gave no {key!r} within {ANSWER_S:.0f} s")
            self._take()

    def close(self) -> None:
        """End the server and every worker it still has."""
        self.control.close()
        try:
            self._process.wait(timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True)
class Silence:
    """No answer came: a deadline passed, the worker died, or what came was no answer."""

    kind: str  # "timeout" | "died" | "protocol"
    reason: str
    detail: str
    death: Death | None = None


class Worker:
    """One worker process and its scratch folder, from birth to the sweep."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.scratch = Path(tempfile.mkdtemp(prefix="harness-worker-"))
        self._log = os.open(self.scratch / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._envelope = wire.Envelope(os.urandom(16).hex())
        self._stopped: tuple[int, ...] = ()
        try:
            self.pid, self._sock = server.spawn(self.scratch, self._log)
        except BaseException:
            os.close(self._log)
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise

    def ask(
        self, message: wire.Message, until: float, descriptors: tuple[int, ...] = ()
    ) -> dict[str, Any] | Silence:
        """Send one request and take its one answer by `until` (monotonic seconds)."""
        if select.select([self._sock], [], [], 0)[0]:
            found = self._receive()
            if not isinstance(found, Silence):
                return Silence("protocol", "unsolicited_message", "a message that nobody asked for")
            return found
        try:
            wire.send(self._sock, self._envelope.seal(message), descriptors)
        except wire.Closed:
            return self._death()
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        poller.register(self.server.control, select.POLLIN)
        return self._await(poller, until)

    def _await(self, poller: select.poll, until: float) -> dict[str, Any] | Silence:
        while True:
            left_ms = (until - time.monotonic()) * 1e3
            if left_ms <= 0:
                return Silence("timeout", "deadline_passed", "no answer before the deadline")
            ready = [descriptor for descriptor, _ in poller.poll(left_ms)]
            if self._sock.fileno() in ready:
                return self._receive()
            if ready and self.server.death_of(self.pid) is not None:
                if select.select([self._sock], [], [], 0)[0]:  # it answered, then died
                    return self._receive()
                return self._death()

    def _receive(self) -> dict[str, Any] | Silence:
        try:
            message, descriptors = wire.receive(self._sock)
            for descriptor in descriptors:
                os.close(descriptor)
            if descriptors:
                raise wire.Malformed("smuggled_descriptor", f"{len(descriptors)} descriptors")
            return self._envelope.open(message)
        except wire.Closed:
            return self._death()
        except wire.Malformed as error:
            return Silence("protocol", error.reason, error.detail)

    def _death(self) -> Silence:
        """The socket is closed: learn how it died (it may live on with its socket closed)."""
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            death = self.server.death_of(self.pid)
            if death is not None:
                return Silence("died", "worker_died", describe(death), death)
            select.select([self.server.control], [], [], 0.05)
        return Silence("protocol", "socket_closed", "the worker closed its socket and lives on")

    def pause(self) -> bool:
        """Stop it and all that it started; False where something of it cannot be stopped."""
        stopped = kin.stop(self.pid, self.server.pid, self.server.workers)
        self._stopped = stopped or ()
        return stopped is not None

    def resume(self) -> None:
        """Let it run again, what it started as well."""
        kin.go_on(self._stopped)

    @property
    def alone(self) -> bool:
        """Whether it has started no process that is still there, not even as a dead one."""
        return len(kin.kin(self.pid, self.server.pid, self.server.workers)) == 1

    def waited_ms(self) -> tuple[float, float]:
        """So far: its first thread's waiting for a processor, and what all else of it has used.

        The first thread may have waited for exactly that, so who explains time by the one number
        has to look at the other.
        """
        ran, waited = kin.thread_ms(self.pid, self.pid)
        return waited, kin.used_ms(self.pid) - ran

    def log_tail(self) -> str:
        """The end of what the candidate printed."""
        size = os.fstat(self._log).st_size
        found = os.pread(self._log, LOG_TAIL, max(0, size - LOG_TAIL))
        return found.decode("utf-8", "replace")

    def close(self, *, orderly: bool) -> Ended:
        """Tell it to close if `orderly`, end it and all it started, remove its folder."""
        try:
            if orderly:
                with contextlib.suppress(wire.Closed):
                    wire.send(self._sock, self._envelope.seal({"op": "close"}))
            return self.server.end(self.pid, orderly=orderly)
        finally:
            self._sock.close()
            os.close(self._log)
            shutil.rmtree(self.scratch, ignore_errors=True)


def describe(death: Death) -> str:
    """A death in words, the signal by name."""
    if death.signal is None:
        return f"exit code {death.exit}"
    import signal

    try:
        return f"killed by {signal.Signals(death.signal).name}"
    except ValueError:
        return f"killed by signal {death.signal}"
