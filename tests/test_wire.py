"""The wire takes exactly one JSON object a datagram and gives everything else a name."""

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import wire

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
    allow_infinity=False) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@pytest.fixture
def pair():
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    yield mine, theirs
    mine.close()
    theirs.close()


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), plain))
def test_what_is_encoded_is_what_is_decoded(message):
    assert wire.decode(wire.encode(message)) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_malformed(payload):
    try:
        found = wire.decode(payload)
    except wire.Malformed as error:
        found = {"reason": error.reason}
    assert isinstance(found, dict)
    assert found.get("reason", "object")


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not_json"),
        (b"[1]", "not_an_object"),
        (b'{"a":1,"a":2}', "repeated_key"),
        (b'{"a":NaN}', "not_finite"),
        (b'{"a":Infinity}', "not_finite"),
        (b'{"a":"\xff"}', "not_json"),
        (b'{"a":' + b"[" * 20000 + b"]" * 20000 + b"}", "not_json"),
        (b'{"a":' + b"9" * 5000 + b"}", "not_json"),
    ],
)
def test_each_kind_of_garbage_has_its_reason(payload, reason):
    with pytest.raises(wire.Malformed) as caught:
        wire.decode(payload)
    assert caught.value.reason == reason


def test_descriptors_travel_beside_a_message(pair):
    mine, theirs = pair
    read, write = os.pipe()
    wire.send(mine, {"n": 1}, (write,))
    message, descriptors = wire.receive(theirs)
    os.write(descriptors[0], b"x")
    assert message == {"n": 1}
    assert os.read(read, 1) == b"x"
    for one in (read, write, *descriptors):
        os.close(one)


def test_descriptors_of_a_malformed_message_are_closed(pair):
    mine, theirs = pair
    before = len(list(Path("/proc/self/fd").iterdir()))
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (1).to_bytes(4, "little"))]
    mine.sendmsg([b"garbage"], ancillary)
    with pytest.raises(wire.Malformed):
        wire.receive(theirs)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_message_over_the_limit_is_truncated_and_refused(pair):
    mine, theirs = pair
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    mine.send(b" " * (wire.MAX_BYTES + 1))
    with pytest.raises(wire.Malformed) as caught:
        wire.receive(theirs)
    assert caught.value.reason == "truncated"


def test_a_closed_socket_is_closed_and_no_message(pair):
    mine, theirs = pair
    mine.close()
    with pytest.raises(wire.Closed):
        wire.receive(theirs)


def test_an_answer_carries_nonce_and_number_of_its_request():
    envelope = wire.Envelope("abc")
    request = envelope.seal({"op": "x"})
    assert envelope.open({**request, "y": 1}) == {"op": "x", "y": 1}
    with pytest.raises(wire.Malformed, match="wrong_nonce"):
        envelope.open({"nonce": "other", "seq": 1})
    with pytest.raises(wire.Malformed, match="wrong_sequence"):
        envelope.open({"nonce": "abc", "seq": 2})
    with pytest.raises(wire.Malformed, match="wrong_sequence"):
        envelope.open({"nonce": "abc", "seq": True})


def test_numbers_above_the_limit_of_our_own_messages_are_our_bug():
    with pytest.raises(ValueError, match="over"):
        wire.encode({"a": "x" * wire.MAX_BYTES})
    with pytest.raises(ValueError, match="JSON"):
        wire.encode({"a": float("nan")})
    assert json.loads(wire.encode({"a": 1})) == {"a": 1}
