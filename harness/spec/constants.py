"""What a module-level expression is worth, worked out without running the module.

Owns the arithmetic of literals and of names already known. Knows neither files nor statements.
Bounded: no expression can make it build a large object.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

LARGEST_EXPONENT = 64  # 2**64 is past every axis; 10**10**10 would not end
LARGEST_INT = 2**128  # likewise, so that squares of squares stop
LONGEST = 1_000  # elements of a sequence that `*` or `+` may build


class Unknown(Exception):
    """The expression cannot be worked out from literals and known names."""


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: operator.pow,
    }
)
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = MappingProxyType(
    {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
)
_CALLS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"int": int, "float": float, "bool": bool, "len": len, "min": min, "max": max, "sum": sum}
)


def evaluate(node: ast.expr, known: Mapping[str, object]) -> Any:
    """Return the number, text, boolean, None or sequence that `node` is worth; else Unknown."""
    try:
        return _value(node, known)
    except Unknown:
        raise
    except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError):
        raise Unknown from None


def evaluate_text(text: str, known: Mapping[str, object]) -> Any:
    """Evaluate the expression that `text` spells; Unknown where it spells none."""
    try:
        return evaluate(ast.parse(text.strip(), mode="eval").body, known)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unknown from None


def _value(node: ast.expr, known: Mapping[str, object]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Tuple(elts=elements):
            return tuple(_value(element, known) for element in elements)
        case ast.List(elts=elements):
            return [_value(element, known) for element in elements]
        case ast.NamedExpr(value=inner):
            return _value(inner, known)
        case ast.Subscript(value=sequence, slice=index):
            return _value(sequence, known)[_value(index, known)]
        case _:
            return _computed(node, known)


def _computed(node: ast.expr, known: Mapping[str, object]) -> Any:
    match node:
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand, known))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(type(sign), _value(left, known), _value(right, known))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_value(argument, known) for argument in arguments))
        case _:
            raise Unknown


def _bounded(sign: type[ast.operator], left: Any, right: Any) -> Any:
    numbers = all(isinstance(side, int | float) for side in (left, right))
    if sign is ast.Pow and not (numbers and abs(right) <= LARGEST_EXPONENT):
        raise Unknown
    if sign is ast.Mod and not numbers:
        raise Unknown  # text formatting may ask for any width
    if not numbers and _length(sign, left, right) > LONGEST:
        raise Unknown
    result = _BINARY[sign](left, right)
    if isinstance(result, complex) or (isinstance(result, int) and abs(result) > LARGEST_INT):
        raise Unknown
    return result


def _length(sign: type[ast.operator], left: Any, right: Any) -> int:
    if sign is ast.Mult:
        sides = (left, right) if isinstance(right, int) else (right, left)
        return len(sides[0]) * int(sides[1])
    return len(left) + len(right)
