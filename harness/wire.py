"""Message framing between judge, server and worker; a leaf that both sides load.

One message is one datagram of a ``SOCK_SEQPACKET`` socket: a JSON object in UTF-8, at most 64 KiB,
with descriptors beside it. Nothing is ever unpickled. Owns the encoding and the envelope (nonce and
sequence number); does not know what any message means.
"""

from __future__ import annotations

import array
import json
import os
import socket
from dataclasses import dataclass
from typing import Any

MAX_BYTES = 65536  # one datagram; longer texts (logs, sources) travel as files
MAX_DESCRIPTORS = 64  # far above any problem's tensors, far below the kernel's 253
Message = dict[str, Any]


class Malformed(Exception):
    """What came over the socket is no message of ours; `reason` is a stable snake_case id."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


class Closed(Exception):
    """The other side has closed the socket."""


def _unique(pairs: list[tuple[str, Any]]) -> Message:
    found: Message = {}
    for key, value in pairs:
        if key in found:
            raise Malformed("repeated_key", repr(key)[:80])
        found[key] = value
    return found


def _refuse_constant(text: str) -> None:
    raise Malformed("not_finite", text)


def encode(message: Message) -> bytes:
    """The bytes of one datagram; `ValueError` for NaN or over 64 KiB (a bug of ours)."""
    payload = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(payload) > MAX_BYTES:
        raise ValueError(f"message of {len(payload)} bytes is over {MAX_BYTES}")
    return payload


def decode(payload: bytes) -> Message:
    """The object in one datagram; raises `Malformed` for anything that is not exactly one."""
    try:
        found = json.loads(
            payload.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed("not_json", str(error)[:120]) from error
    except (RecursionError, ValueError) as error:  # too deep; an integer of thousands of digits
        raise Malformed("not_json", type(error).__name__) from error
    if not isinstance(found, dict):
        raise Malformed("not_an_object", type(found).__name__)
    return found


def send(sock: socket.socket, message: Message, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message, the descriptors beside it; raises `Closed` if nobody is there."""
    ancillary = []
    if descriptors:
        packed = array.array("i", descriptors)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)]
    try:
        sock.sendmsg([encode(message)], ancillary)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise Closed from error


def receive(sock: socket.socket) -> tuple[Message, tuple[int, ...]]:
    """Take one message and its descriptors (closed again if the message is malformed)."""
    space = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)
    try:
        payload, ancillary, flags, _ = sock.recvmsg(MAX_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError as error:
        raise Closed from error
    descriptors = _descriptors(ancillary)
    try:
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise Malformed("truncated", f"a message of over {MAX_BYTES} bytes")
        if not payload:
            raise Closed
        return decode(payload), descriptors
    except (Malformed, Closed):
        for descriptor in descriptors:
            os.close(descriptor)
        raise


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, ...]:
    found = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            whole = len(content) - len(content) % found.itemsize
            found.frombytes(content[:whole])
    return tuple(found)


@dataclass
class Envelope:
    """The judge's side of one conversation: a nonce for the worker, a number for each request.

    It keeps honest mistakes and replays apart, each under a name of its own; it is no secret from
    code that runs in the worker, and no verdict rests on it.
    """

    nonce: str
    sequence: int = 0

    def seal(self, message: Message) -> Message:
        """The next request, numbered."""
        self.sequence += 1
        return {**message, "nonce": self.nonce, "seq": self.sequence}

    def open(self, message: Message) -> Message:
        """The answer to the last request without its envelope, or `Malformed` with the reason."""
        if message.get("nonce") != self.nonce:
            raise Malformed("wrong_nonce", "the answer does not carry this conversation's nonce")
        number = message.get("seq")
        if type(number) is not int or number != self.sequence:
            raise Malformed("wrong_sequence", f"answer {number!r} to request {self.sequence}"[:120])
        return {key: value for key, value in message.items() if key not in ("nonce", "seq")}
