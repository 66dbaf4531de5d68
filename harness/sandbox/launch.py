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
from harness.sandbox import limits

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
        try:
            self.facts = self._await_ready()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

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
            return self._answer("spawned")["spawned"], mine
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


def stalled_ms(pid: int, thread: int) -> float:
    """How long a thread has so far been ready to run while others had the processor.

    Kept by the kernel, so no candidate can change it; 0 where this kernel does not keep it.
    """
    try:
        text = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text()
        return int(text.split()[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


def describe(death: Death) -> str:
    """A death in words, the signal by name."""
    if death.signal is None:
        return f"exit code {death.exit}"
    import signal

    try:
        return f"killed by {signal.Signals(death.signal).name}"
    except ValueError:
        return f"killed by signal {death.signal}"
