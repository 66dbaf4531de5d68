"""Whether a value that someone asks for fits the axis that a module declares.

Owns that rule and its refusals. Knows declared values, not files: `problem` brings both together.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from harness.faults import UsageError
from harness.spec.axes import SourceText, parse
from harness.spec.nearest import nearest, shown
from harness.spec.strict_model import BIGGEST_INT, Scalar

AxisValue = Scalar | tuple[Scalar, ...]


def fitting(
    declared: Mapping[str, object], asked: Mapping[str, AxisValue], where: str
) -> dict[str, object]:
    """Return `asked` in the declared types; UsageError for an unknown axis or a misfit."""
    fitted: dict[str, object] = {}
    for name, value in asked.items():
        if name not in declared:
            remedy = nearest(name, declared)
            raise UsageError(where, key=name, found="an unknown axis", remedy=remedy)
        try:
            fitted[name] = _fitted(declared[name], value)
        except _Misfit as misfit:
            raise UsageError(where, key=name, found=shown(value), wanted=misfit.wanted) from None
    return fitted


def initial(
    source: str, asked: Mapping[str, AxisValue | None], where: str
) -> dict[str, AxisValue | None]:
    """Return constructor arguments as asked; UsageError for one that `Model` does not take."""
    taken = _constructor(source)
    for name in asked:
        if taken is not None and name not in taken:
            remedy = nearest(name, taken)
            raise UsageError(
                where, key=name, found="no argument of Model's constructor", remedy=remedy
            )
    return dict(asked)


class _Misfit(Exception):
    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


def _fitted(declared: object, value: object) -> object:
    match declared:
        case SourceText() | None:
            return _bounded(value)  # nothing is known but that it is a value
        case bool():
            return _of_type(value, bool, "true or false")
        case int():
            return _whole(declared, value)
        case float():
            return float(_number(value))
        case str():
            return _of_type(value, str, "text")
        case tuple() | list():
            return _sequence(declared, value)
        case _:
            return _bounded(value)


def _of_type(value: object, kind: type, wanted: str) -> object:
    if isinstance(value, kind):
        return value
    raise _Misfit(wanted)


def _whole(declared: int, value: object) -> int:
    """A length that is declared positive stays positive; an index or a padding may be anything."""
    least, wanted = -BIGGEST_INT + 1, "a whole number"
    if declared >= 1:
        least, wanted = 1, f"a whole number of at least 1, like the declared {declared}"
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _Misfit(wanted)
    if value >= BIGGEST_INT:
        raise _Misfit("a whole number below 2^53")
    return value


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _Misfit("a finite number")
    return value


def _bounded(value: object) -> object:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int) and abs(value) >= BIGGEST_INT:
        raise _Misfit("a whole number below 2^53")
    return value


def _sequence(declared: tuple[object, ...] | list[object], value: object) -> object:
    if not isinstance(value, tuple | list) or (declared and not value):
        raise _Misfit("a list such as [1, 2]")
    if not declared:
        return type(declared)(value)
    return type(declared)(_fitted(declared[0], item) for item in value)


def _constructor(source: str) -> list[str] | None:
    """Return the names that `Model(...)` takes, None where the source does not say."""
    models = [
        node
        for node in parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == "Model"
    ]
    methods = [node for model in models for node in model.body if isinstance(node, ast.FunctionDef)]
    arguments = [method.args for method in methods if method.name == "__init__"]
    if not arguments or arguments[-1].kwarg is not None:
        return None
    last = arguments[-1]
    return [argument.arg for argument in (*last.posonlyargs, *last.args, *last.kwonlyargs)][1:]
