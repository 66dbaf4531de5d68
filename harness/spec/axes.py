"""Axes of a problem: its module-level assignments, read and replaced in the syntax tree.

Owns which names there are, what they are worth, and the source with other values in their place.
Never runs the module, and does not know sizes or sidecars. Setting attributes after the module ran
would be simpler but breaks every file that derives one constant from another.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from harness.spec.constants import Unknown, evaluate

NOT_AXES = frozenset({"Model", "ModelNew", "get_inputs", "get_init_inputs"})  # the interface
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class SourceText(str):
    """The source of a value that only running the module could tell."""

    __slots__ = ()


def parse(source: str) -> ast.Module:
    """Return the syntax tree; whatever the parser says of a text that is no Python, SyntaxError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is not our business
            return ast.parse(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deep") from None


def axes(source: str) -> dict[str, object]:
    """Return each axis with its value: a literal's own, a derived one's, else its SourceText."""
    found = _run(parse(source).body, {})
    return {name: value for name, value in found.items() if is_axis(name)}


def is_axis(name: str) -> bool:
    """Tell whether an assigned name is an axis and not private or part of the interface."""
    return not name.startswith("_") and name not in NOT_AXES


def rewrite(source: str, values: Mapping[str, object]) -> str:
    """Return `source` with every assignment of the named axes replaced by the given values."""
    if not values:
        return source
    tree = parse(source)
    tree.body = _rewritten(tree.body, values)
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except RecursionError:
        raise SyntaxError("nested too deep") from None


# --- reading ---------------------------------------------------------------------------------


def _run(body: Iterable[ast.stmt], known: Mapping[str, object]) -> dict[str, object]:
    values = dict(known)
    for statement in body:
        for name, expression in _bindings(statement):
            values[name] = _worth(expression, values)
        branches = _branches(statement)
        if branches:
            values = _merged([_run(branch, values) for branch in branches])
    return values


def _worth(expression: ast.expr, known: Mapping[str, object]) -> object:
    definite = {name: value for name, value in known.items() if not isinstance(value, SourceText)}
    with suppress(Unknown):
        value = evaluate(expression, definite)
        if is_plain(value):
            return value
    try:
        return SourceText(ast.unparse(expression))
    except RecursionError:
        return SourceText("an expression nested too deep")


def is_plain(value: object) -> bool:
    """Tell whether JSON can spell `value`: no infinity, no half of a surrogate pair."""
    if isinstance(value, tuple | list):
        return all(is_plain(item) for item in value)
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, float) or math.isfinite(value)


def _merged(outcomes: Sequence[dict[str, object]]) -> dict[str, object]:
    """Keep what all branches agree on; the rest depends on which of them runs."""
    merged: dict[str, object] = {}
    for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
        values = list(dict.fromkeys(repr(outcome[name]) for outcome in outcomes if name in outcome))
        first = next(outcome[name] for outcome in outcomes if name in outcome)
        merged[name] = first if len(values) == 1 else SourceText(" or ".join(values))
    return merged


def _branches(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the bodies of which one runs, in a compound statement of the module's own scope."""
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            if _is_main_guard(test):
                return [orelse]
            if isinstance(test, ast.Constant):
                return [body if test.value else orelse]
            return [body, orelse]
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            return [body + orelse, orelse]
        case ast.With(body=body):
            return [body]
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            return [body + orelse + final, *(handler.body + final for handler in handlers)]
        case _:
            return []


def _is_main_guard(test: ast.expr) -> bool:
    names = [node.id for node in ast.walk(test) if isinstance(node, ast.Name)]
    return names == ["__name__"]


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that the statement itself assigns, with an expression for its value."""
    for walrus in _walruses(statement):
        if isinstance(walrus.target, ast.Name):
            yield walrus.target.id, walrus.value
    for target, value in _headed(statement):
        yield from _paired(target, _opaque(value))
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _paired(target, value)
        case ast.AugAssign(target=ast.Name(id=name), op=sign, value=value):
            yield name, ast.BinOp(left=ast.Name(id=name, ctx=ast.Load()), op=sign, right=value)


def _headed(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets that the head of a loop or a `with` assigns, and from what."""
    match statement:
        case ast.For(target=target, iter=value):
            return [(target, value)]
        case ast.With(items=items):
            return [(i.optional_vars, i.context_expr) for i in items if i.optional_vars is not None]
        case _:
            return []


def _walruses(statement: ast.stmt) -> Iterator[ast.NamedExpr]:
    """Yield the `:=` of the statement's own expressions, those inside functions aside."""
    waiting: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)
    ]
    if isinstance(statement, _SCOPES):
        return
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.NamedExpr):
            yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from _paired(target.value, value)  # already one that no one can evaluate
    elif isinstance(target, ast.Tuple | ast.List):
        parts = _elements(target, value)
        for index, element in enumerate(target.elts):
            yield from _paired(element, parts[index] if parts else _item(target, value, index))


def _elements(target: ast.Tuple | ast.List, value: ast.expr) -> list[ast.expr] | None:
    """Return what each element of `target` gets, where the source spells them one by one."""
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(target.elts):
        return None
    starred = any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts))
    return None if starred else value.elts


def _item(target: ast.Tuple | ast.List, value: ast.expr, index: int) -> ast.expr:
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return _opaque(value)
    return ast.Subscript(value=value, slice=ast.Constant(index), ctx=ast.Load())


def _opaque(value: ast.expr) -> ast.expr:
    """Return an expression that no one can evaluate and that shows where the value comes from."""
    return ast.Starred(value=value, ctx=ast.Load())


# --- rewriting -------------------------------------------------------------------------------


def _rewritten(body: Iterable[ast.stmt], values: Mapping[str, object]) -> list[ast.stmt]:
    return [new for statement in body for new in _replaced(statement, values)]


def _replaced(statement: ast.stmt, values: Mapping[str, object]) -> list[ast.stmt]:
    if isinstance(statement, _SCOPES):
        return [statement]
    for walrus in _walruses(statement):
        if isinstance(walrus.target, ast.Name) and walrus.target.id in values:
            walrus.value = _literal(values[walrus.target.id])
    match statement:
        case ast.Assign():
            return _assignment(statement, values)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) if name in values:
            statement.value = _literal(values[name])
        case ast.AugAssign(target=ast.Name(id=name)) if name in values:
            return [_plain_assignment(name, values)]
        case _:
            _descend(statement, values)
    return [statement]


def _descend(statement: ast.stmt, values: Mapping[str, object]) -> None:
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(statement, field, None)
        if isinstance(inner, list) and inner:
            setattr(statement, field, _rewritten(inner, values))
    for handler in getattr(statement, "handlers", []):
        handler.body = _rewritten(handler.body, values)


def _assignment(statement: ast.Assign, values: Mapping[str, object]) -> list[ast.stmt]:
    """Split off the named targets of `a = b = 1`; replace elements of `a, b = 1, 2` in place."""
    own = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    split = [_plain_assignment(name, values) for name in own if name in values]
    rest = [
        target
        for target in statement.targets
        if not (isinstance(target, ast.Name) and target.id in values)
    ]
    if not rest:
        return split
    statement.targets = rest
    after = [name for target in rest for name in _names(target) if name in values]
    if len(rest) == 1 and after:
        replaced = _substituted(rest[0], statement.value, values)
        if replaced is not None:
            statement.value, after = replaced, []
    return [statement, *split, *(_plain_assignment(name, values) for name in after)]


def _substituted(
    target: ast.expr, value: ast.expr, values: Mapping[str, object]
) -> ast.expr | None:
    """Return `value` with the named elements replaced, None where it is not spelled out."""
    if isinstance(target, ast.Name):
        return _literal(values[target.id]) if target.id in values else value
    if not isinstance(target, ast.Tuple | ast.List):
        return value
    parts = _elements(target, value)
    if parts is None:
        return None if any(name in values for name in _names(target)) else value
    new = [_substituted(*pair, values) for pair in zip(target.elts, parts, strict=True)]
    whole = [part for part in new if part is not None]
    return ast.Tuple(elts=whole, ctx=ast.Load()) if len(whole) == len(new) else None


def _names(target: ast.expr) -> list[str]:
    stored = (node for node in ast.walk(target) if isinstance(node, ast.Name))
    return [node.id for node in stored if isinstance(node.ctx, ast.Store)]


def _plain_assignment(name: str, values: Mapping[str, object]) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=_literal(values[name]))


def _literal(value: object) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple(elts=[_literal(item) for item in value], ctx=ast.Load())
    if isinstance(value, list):
        return ast.List(elts=[_literal(item) for item in value], ctx=ast.Load())
    assert value is None or isinstance(value, bool | int | float | str)
    return ast.Constant(value)
