"""JSON as records use it: what it refuses, and that anything can be made to fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.record.strict_json import NotStrict, decode, encode, plain
from tests.record import examples

REFUSED = {
    "a key twice": '{"a": 1, "a": 2}',
    "a key twice, further in": '[{"b": {"a": 1, "a": 1}}]',
    "NaN": '{"a": NaN}',
    "Infinity": "[Infinity]",
    "minus Infinity": "[-Infinity]",
    "a number beyond floats": "[1e999]",
    "an integer beyond 64 bits": "[9223372036854775808]",
    "an integer of a million digits": f"[{'9' * 1_000_000}]",
    "a lone surrogate, escaped": '["\\ud800"]',
    "a lone surrogate": '["\ud800"]',
    "a lone surrogate as a key": '{"\\udc00": 1}',
    "bytes that are no UTF-8": b'["\xff"]',
    "nothing": "",
    "half of it": '{"a": ',
    "something behind it": "{} {}",
    "a nest of 61": "[" * 61 + "]" * 61,
    "a nest of a million": "[" * 1_000_000,
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=list(REFUSED))
def test_what_is_not_strict_is_refused(line: str | bytes) -> None:
    with pytest.raises(NotStrict):
        decode(line)


@given(examples.json_values)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert decode(encode(value)) == value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], "\ud800", {1: object()}, {1, 2}])
def test_what_json_cannot_spell_is_not_written(value: object) -> None:
    with pytest.raises(NotStrict):
        encode(value)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=4)
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text(st.characters(), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_anything_can_be_made_plain(value: object) -> None:
    encode(plain(value))


def test_plain_keeps_what_is_plain_and_names_the_rest() -> None:
    kept = {"a": [1, 2.5, None, True, "text"]}
    assert plain(kept) == kept
    assert plain(float("nan")) == "nan"
    assert plain((1, {2})) == [1, [2]]
    assert plain("\ud800") == "?"


def test_plain_ends_a_value_that_contains_itself() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert json.loads(encode(plain(endless)))
