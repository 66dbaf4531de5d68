"""Problems: found by name, number, file or folder, read without being run, and given a size.

Owns what a problem is called, whether its file can be one, and what a size makes of it. Running a
problem is the judge's part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.faults import UsageError
from harness.spec.axes import SourceText, axes, parse, rewrite
from harness.spec.constants import Unknown, evaluate_text
from harness.spec.files import digest, existing, shortest, sources
from harness.spec.nearest import nearest, shown
from harness.spec.sidecar import FULL, DeclaredTensor, Sidecar, Size, beside
from harness.spec.sizing import AxisValue, fitting, initial
from harness.spec.strict_yaml import read_text
from harness.spec.tensor import TensorSpec

__all__ = [
    "AxisValue",
    "BadProblem",
    "Declared",
    "Problem",
    "Sidecar",
    "Sized",
    "SourceText",
    "axes",
    "declared_tensors",
    "everything",
    "find",
    "resize",
]

# why a file is no problem, and what would be one
_WANTED = {
    "unreadable": "a readable file in UTF-8",
    "syntax_error": "Python that parses",
    "no_model": "a class Model in KernelBench's format",
}


@dataclass(frozen=True)
class Problem:
    """A module in KernelBench's format: its source and its sidecar, not yet run."""

    path: Path
    source: str = field(repr=False)
    name: str
    level: int | None
    number: int | None
    sidecar: Sidecar

    @property
    def id(self) -> str:
        """`kernelbench/level1/87` for a numbered file in a level's folder, else `file/<name>`."""
        return _identity(self.path)

    @property
    def reference_digest(self) -> str:
        """`sha256:<hex>` of the module's source."""
        return digest(self.source.encode())


@dataclass(frozen=True)
class BadProblem:
    """A file met in a folder that can be no problem; `detail` is for a person.

    `reason` is unreadable, syntax_error, no_model or bad_sidecar.
    """

    path: Path
    reason: str
    detail: str
    source: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The file's stem."""
        return self.path.stem

    @property
    def level(self) -> int | None:
        """The level of the folder, if it is one's."""
        return _level(self.path)

    @property
    def number(self) -> int | None:
        """The number that the file's name begins with."""
        return _number(self.path)

    @property
    def id(self) -> str:
        """As a problem's."""
        return _identity(self.path)

    @property
    def reference_digest(self) -> str:
        """`sha256:<hex>` of what could be read."""
        return digest(self.source.encode())


@dataclass(frozen=True)
class Sized:
    """A problem with values for its axes: `source` is what the judge runs.

    `axes` holds every axis whose value is known, lists for tuples; `init` the keyword arguments
    that the constructor gets beside those of `get_init_inputs`.
    """

    problem: Problem
    size: str
    axes: Mapping[str, object]
    init: Mapping[str, AxisValue | None]
    source: str = field(repr=False)


@dataclass(frozen=True)
class Declared:
    """The tensors that a sidecar declares, at one size; `generators` goes with `inputs`."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    generators: tuple[str | None, ...]


# --- finding ---------------------------------------------------------------------------------


def find(query: str, root: Path, *, where: str = "--problem") -> tuple[Problem | BadProblem, ...]:
    """Return what `query` names: a name, `1/87`, `87`, a file or a folder.

    UsageError if it names nothing or several things, or a file that can be no problem; in a
    folder such a file is a BadProblem.
    """
    home = root / "problems"
    listed = sources(home)
    named = [path for path in listed if query in _names(path)]
    if len(named) == 1:
        return (_named(named[0], root),)
    if named:
        found = f"{query!r}, which fits {len(named)} problems"
        wanted = " or ".join(_short(path) for path in named)
        raise UsageError(where, found=found, wanted=wanted)
    place = existing(query, (root, home))
    if place is None:
        raise _unknown(query, listed, where)
    if place.is_dir():
        return _folder(place, root, where)
    return (_named(place, root),)


def everything(root: Path) -> tuple[Problem | BadProblem, ...]:
    """Return every problem of the repository, bad files among them."""
    return tuple(_read(path, root) for path in sources(root / "problems"))


def _folder(folder: Path, root: Path, where: str) -> tuple[Problem | BadProblem, ...]:
    found = tuple(_read(path, root) for path in sources(folder))
    if not found:
        place = f"the folder {shortest(folder, root)} without a Python file"
        raise UsageError(where, found=place, wanted="a folder of problems")
    return found


def _unknown(query: str, listed: list[Path], where: str) -> UsageError:
    numbers = [_short(path) for path in listed]
    numbered = re.fullmatch(r"[\d/]+", query)
    remedy = nearest(query, numbers if numbered else [path.stem for path in listed])
    wanted = "a problem's name, its number such as 1/87, a file or a folder"
    return UsageError(where, found=repr(query), wanted=wanted, remedy=remedy)


def _names(path: Path) -> set[str]:
    level, number, stem = _level(path), _number(path), path.stem
    names = {stem, path.name}
    if level is not None:
        names |= {f"level{level}/{stem}", f"level{level}/{path.name}"}
    if number is not None:
        names |= {str(number), stem.split("_", 1)[1]}
    if level is not None and number is not None:
        short = f"{level}/{number}"
        names |= {short, f"level{short}", f"kernelbench/level{short}"}
    return names


def _short(path: Path) -> str:
    level, number = _level(path), _number(path)
    return path.stem if level is None or number is None else f"{level}/{number}"


def _level(path: Path) -> int | None:
    match = re.fullmatch(r"level(\d{1,4})", path.absolute().parent.name)
    return int(match[1]) if match else None


def _number(path: Path) -> int | None:
    match = re.match(r"(\d{1,9})_", path.stem)
    return int(match[1]) if match else None


def _identity(path: Path) -> str:
    level, number = _level(path), _number(path)
    known = level is not None and number is not None
    return f"kernelbench/level{level}/{number}" if known else f"file/{path.stem}"


# --- reading ---------------------------------------------------------------------------------


def _named(path: Path, root: Path) -> Problem:
    """Read a file that was asked for by name; what is wrong with it is the asker's to mend."""
    found = _read(path, root)
    if isinstance(found, Problem):
        return found
    if found.reason in _WANTED:
        place = shortest(path, root)
        raise UsageError(place, found=found.detail, wanted=_WANTED[found.reason])
    raise UsageError(found.detail)


def _read(path: Path, root: Path) -> Problem | BadProblem:
    place = shortest(path, root)
    try:
        source = read_text(path, place)
    except UsageError as error:
        return BadProblem(path, "unreadable", error.found or str(error))
    try:
        tree = parse(source)
    except SyntaxError as error:
        line = f"line {error.lineno}: " if error.lineno else ""
        return BadProblem(path, "syntax_error", f"{line}{error.msg}", source)
    if "Model" not in _defined(tree.body):
        return BadProblem(path, "no_model", "no Model", source)
    try:
        sidecar = beside(path, shortest(path.with_suffix(".yaml"), root))
    except UsageError as error:
        return BadProblem(path, "bad_sidecar", str(error), source)
    return Problem(path, source, path.stem, _level(path), _number(path), sidecar)


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that a module defines at its top, inside `if` and `try` too."""
    for statement in body:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.If() | ast.Try() | ast.With():
                inner = (node for node in ast.iter_child_nodes(statement))
                yield from _defined([node for node in inner if isinstance(node, ast.stmt)])


# --- sizing ----------------------------------------------------------------------------------


def resize(
    problem: Problem, size: str, overrides: Mapping[str, AxisValue], *, where: str = "--set"
) -> Sized:
    """Return `problem` at a named size, single axes overridden; UsageError for what it lacks.

    An override keeps the size's name: the axes tell what was run.
    """
    chosen = _size(problem, size)
    declared = axes(problem.source)
    beside_it = f"{_sidecar_place(problem)}: sizes.{size}"
    asked = fitting(declared, chosen.axes, f"{beside_it}.axes")
    asked |= fitting(declared, overrides, where)
    changed = {name: value for name, value in asked.items() if not _same(declared[name], value)}
    source = rewrite(problem.source, changed)
    reached = axes(source)
    for name, value in asked.items():
        if not _same(reached.get(name), value):
            raise UsageError(
                where,
                key=name,
                found=f"{shown(value)}, which does not reach it",
                wanted=f"an axis that {problem.path.name} assigns plainly",
            )
    known = {name: _plain(v) for name, v in reached.items() if not isinstance(v, SourceText)}
    arguments = initial(problem.source, chosen.init, f"{beside_it}.init")
    return Sized(problem, size, known, arguments, source)


def _size(problem: Problem, size: str) -> Size:
    named = {FULL: Size(), **problem.sidecar.sizes}
    if size in named:
        return named[size]
    wanted, remedy = f"a size of {problem.name}", nearest(size, named)
    raise UsageError("--size", found=repr(size), wanted=wanted, remedy=remedy)


def _sidecar_place(problem: Problem) -> str:
    return shortest(problem.path.with_suffix(".yaml"), Path.cwd())


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _plain(value: object) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def declared_tensors(sized: Sized) -> Declared | None:
    """Return the sidecar's tensors at these axes, None where it declares no inputs."""
    tensors = sized.problem.sidecar.tensors
    if tensors is None or not tensors.inputs:
        return None
    where = f"{_sidecar_place(sized.problem)}: tensors"
    inputs = tuple(_tensor(tensor, sized.axes, where) for tensor in tensors.inputs)
    outputs = tuple(_tensor(tensor, sized.axes, where) for tensor in tensors.outputs)
    return Declared(inputs, outputs, tuple(tensor.generator for tensor in tensors.inputs))


def _tensor(tensor: DeclaredTensor, known: Mapping[str, object], where: str) -> TensorSpec:
    return TensorSpec(
        tensor.name,
        tuple(_length(length, known, f"{where}.{tensor.name}") for length in tensor.shape),
        tensor.dtype,
    )


def _length(length: int | str, known: Mapping[str, object], where: str) -> int:
    try:
        value = length if isinstance(length, int) else evaluate_text(length, known)
    except Unknown:
        value = None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise UsageError(where, key="shape", found=shown(length), wanted="an expression over the axes")
