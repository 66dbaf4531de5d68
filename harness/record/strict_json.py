"""JSON as records use it: UTF-8, no repeated key, no NaN or Infinity, no lone surrogate.

Owns the text form only; what the keys mean is the schema's business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, overload

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_DEPTH = 60  # far below what a parser recurses to
PLAIN_DEPTH = 50  # of a value inside a record, so that the record's own levels fit on top
BIGGEST_INT = 2**63  # one bit less than what readers in other languages hold without loss


class NotStrict(ValueError):
    """The text is no JSON as records use it; the message says what is wrong with it."""


def decode(line: str | bytes, *, depth: int = MAX_DEPTH) -> object:
    """Return the value that `line` spells, or raise NotStrict."""
    try:
        text = line.decode("utf-8") if isinstance(line, bytes) else line
        text.encode("utf-8")
        value: object = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_small,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # an escape may hide one
    except NotStrict:
        raise
    except UnicodeError:
        raise NotStrict("not UTF-8, or a lone surrogate") from None
    except RecursionError:
        raise NotStrict("nested too deep") from None
    except ValueError as error:
        raise NotStrict(f"no JSON: {error}") from None
    if _depth(value) > depth:
        raise NotStrict("nested too deep")
    return value


def encode(value: object) -> str:
    """One line of JSON for `value`; NotStrict where JSON has no honest spelling of it."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStrict(f"cannot be written as JSON: {error}") from None
    return text


@overload
def plain(value: Mapping[Any, Any], *, depth: int = ...) -> dict[str, JsonValue]: ...
@overload
def plain(value: object, *, depth: int = ...) -> JsonValue: ...
def plain(value: object, *, depth: int = PLAIN_DEPTH) -> JsonValue:
    """`value` as something that JSON can spell, for evidence that comes from anywhere.

    Tuples and sets become lists, a number that is not finite its name (`"nan"`), lone surrogates
    question marks, what lies too deep or has no JSON form its `repr`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < BIGGEST_INT else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return _whole(value)
    return _plain_container(value, depth=depth)


def _plain_container(value: object, *, depth: int) -> JsonValue:
    if depth > 0 and isinstance(value, Mapping):
        return {_whole(str(key)): plain(item, depth=depth - 1) for key, item in value.items()}
    if depth > 0 and isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth=depth - 1) for item in value]
    return _whole(repr(value))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise NotStrict(f"key {key!r} twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise NotStrict(f"{name} is no number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotStrict(f"{digits} is too large for a number")
    return value


def _small(digits: str) -> int:
    value = int(digits) if len(digits) <= len(str(BIGGEST_INT)) + 1 else BIGGEST_INT
    if abs(value) >= BIGGEST_INT:
        raise NotStrict(f"{digits[:24]} is too large for a whole number")
    return value


def _depth(value: object) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below
    return deepest
