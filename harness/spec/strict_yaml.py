"""YAML without surprises: what looks like a number is one, and everything odd is refused.

Owns reading and writing text; does not know any key. `no`, `12:30`, `010`, `1_000` and dates are
text; `1e3` is a float; anchors, aliases, tags, non-text and repeated keys are refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness.faults import UsageError
from harness.spec.nearest import shown

MAX_DEPTH = 30  # nothing of ours nests deeper than 5; a parser's stack ends near 1,000
MAX_NODES = 10_000  # hardware.yaml, the largest file of ours, has under 1,000

_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(
    r"[-+]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z"
    r"|[-+]?(0|[1-9][0-9]*)[eE][-+]?[0-9]+\Z"
)
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*\Z")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def load(text: str, where: str) -> Any:
    """Return the plain data that `text` spells (None where empty), or UsageError at `where`."""
    reader = _Reader(where)
    try:
        return reader.document(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else None
        raise UsageError(where, key=place, found=error.problem or "text", wanted="YAML") from None
    except yaml.YAMLError as error:
        raise UsageError(where, found=str(error).split("\n")[0], wanted="YAML") from None
    except (ValueError, OverflowError):  # an escape past the last code point
        raise UsageError(where, found="an impossible escape", wanted="YAML") from None


def load_file(path: Path, where: str | None = None) -> Any:
    """`load` of a UTF-8 file; a missing or unreadable one is a UsageError too."""
    name = where if where is not None else str(path)
    return load(read_text(path, name), name)


def load_mapping(path: Path, where: str | None = None) -> dict[str, Any]:
    """`load_file` where the top of the file has to be a mapping."""
    found = load_file(path, where)
    if isinstance(found, dict):
        return found
    kind = "a list" if isinstance(found, list) else shown(found)
    raise UsageError(where or str(path), found=kind, wanted="a mapping of keys to values")


def read_text(path: Path, where: str) -> str:
    """Return a UTF-8 file's text, or raise UsageError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(where, found=f"byte {error.start}", wanted="text in UTF-8") from None
    except OSError as error:
        reason = "a folder" if path.is_dir() else (error.strerror or type(error).__name__).lower()
        raise UsageError(where, found=reason, wanted="a readable file") from None


class _Reader:
    """Builds plain data from parser events; no object of the text's choosing is ever made."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._nodes = 0

    def document(self, events: Iterator[Any]) -> Any:
        next(events)  # the stream's start
        event = next(events)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        value = self._node(next(events), events, 1)
        next(events)  # the document's end
        event = next(events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._refusal(event, "a second document", "one document")
        return value

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Any:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise self._refusal(
                event, "too much", f"at most {MAX_DEPTH} levels and {MAX_NODES:,} values"
            )
        self._plain(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, depth)
        return self._mapping(events, depth)

    def _plain(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self._refusal(event, f"the alias *{event.anchor}", "the value itself")
        if event.anchor is not None:
            raise self._refusal(event, f"the anchor &{event.anchor}", "a plain value")
        if event.tag is not None:
            raise self._refusal(event, f"the tag {event.tag}", "a plain value")

    def _sequence(self, events: Iterator[Any], depth: int) -> list[Any]:
        found = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            found.append(self._node(event, events, depth + 1))
        return found

    def _mapping(self, events: Iterator[Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._node(event, events, depth + 1)
            if not isinstance(key, str):
                raise self._refusal(event, f"the key {shown(key)}", "keys that are text")
            if key in found:
                raise self._refusal(event, f"the key {key!r} twice", "each key once")
            found[key] = self._node(next(events), events, depth + 1)
        return found

    def _scalar(self, event: Any) -> str | int | float | bool | None:
        text: str = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise self._refusal(event, "half of a surrogate pair", "whole characters")
        if not event.implicit[0]:
            return text
        try:
            value = plain_scalar(text)
        except ValueError:
            raise self._refusal(event, shown(text), "a number that can be held") from None
        return value

    def _refusal(self, event: Any, found: str, wanted: str) -> UsageError:
        mark = event.start_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}"
        return UsageError(self._where, key=place, found=found, wanted=wanted)


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Resolve unquoted `text`; ValueError for a number too large to hold."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.match(text):
        return int(text)  # ValueError from 4,300 digits
    if _FLOAT.match(text):
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(text)
        return value
    return text


def dump(value: Mapping[str, object]) -> str:
    """`value` as block YAML that `load` reads back to the same value."""
    return "".join(_mapping_lines(value, "")) if value else "{}\n"


def _mapping_lines(value: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield f"{indent}{_text(key)}:\n"
            yield from _mapping_lines(item, indent + "  ")
        else:
            yield f"{indent}{_text(key)}: {inline(item)}\n"


def inline(value: object) -> str:
    """`value` on one line, flow style."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        pairs = (f"{_text(key)}: {inline(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return json.dumps(value, allow_nan=False)


def _text(value: str) -> str:
    if _PLAIN.match(value) and isinstance(plain_scalar(value), str):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
