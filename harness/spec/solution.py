"""Solutions: one source file each that defines `ModelNew`, found by name, file or folder.

Owns names, metadata and what can be told from the text alone. Never runs a solution; a file that
does not even parse is a solution still, and its verdict comes from whoever tries it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from harness.faults import UsageError
from harness.spec.axes import parse
from harness.spec.files import digest, existing, shortest, sources
from harness.spec.nearest import nearest
from harness.spec.problem import BadProblem, Problem, Sized
from harness.spec.strict_model import Setting, StrictModel, read
from harness.spec.strict_yaml import load_mapping

Backend = Literal["eager", "inductor", "triton", "cuda", "other"]
BACKENDS: tuple[str, ...] = get_args(Backend)

_PLAIN_TORCH = frozenset({"torch", "numpy"}) | sys.stdlib_module_names  # no compiler of their own
_CUDA_NAMES = frozenset({"CUDA_SOURCE", "load_inline", "cpp_extension", "RawKernel", "RawModule"})


@dataclass(frozen=True)
class Solution:
    """A candidate's source and what its author says about it; `path` is None for one of ours."""

    name: str
    path: Path | None
    source: str = field(repr=False)
    backend: Backend
    digest: str
    license: str | None = None
    author: str | None = None
    source_url: str | None = None
    claims: Mapping[str, object] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to run: an empty file, the word None, or only comments."""
        try:
            body = parse(self.source).body
        except SyntaxError:
            return False
        return not body or all(_says_nothing(statement) for statement in body)


class Metadata(StrictModel):
    """The optional YAML file beside a solution."""

    backend: Backend | None = None
    license: str | None = None
    author: str | None = None
    source_url: str | None = None
    claims: dict[str, Setting] = Field(default_factory=dict)


def find(
    query: str, problem: Problem | BadProblem, root: Path, *, where: str = "--solution"
) -> tuple[Solution, ...]:
    """Return what `query` names: one of the problem's solutions, a file, or all below a folder.

    UsageError if it names nothing.
    """
    named = _paths(problem, root)
    if query in named:
        return (_read(named[query], query, root),)
    place = existing(query, (root, root / "solutions"))
    if place is None:
        wanted = f"a solution of {problem.name}, a file or a folder"
        raise UsageError(where, found=repr(query), wanted=wanted, remedy=nearest(query, named))
    if place.is_file():
        return (_read(place, place.stem, root),)
    found = [_read(path, _below(path, place), root) for path in sources(place)]
    if not found:
        folder = f"the folder {shortest(place, root)} without a Python file"
        raise UsageError(where, found=folder, wanted="a folder of solutions")
    return tuple(found)


def of_problem(problem: Problem | BadProblem, root: Path) -> tuple[Solution, ...]:
    """Return the repository's solutions of `problem`, none where there is no folder."""
    named = _paths(problem, root)
    return tuple(_read(path, name, root) for name, path in named.items())


def reference_as_solution(problem: Problem | Sized, name: str = "eager") -> Solution:
    """Return the problem's own Model under the name ModelNew, run through a worker like anyone's.

    The baseline of a problem that has no eager solution. Its digest is that of the text it runs.
    """
    own = problem.problem if isinstance(problem, Sized) else problem
    source = problem.source.rstrip("\n") + "\n\n\nModelNew = Model\n"
    return Solution(
        name, None, source, "eager", digest(source.encode()), license=own.sidecar.license
    )


def _paths(problem: Problem | BadProblem, root: Path) -> dict[str, Path]:
    home = root / "solutions"
    if problem.level is not None:
        folders = [home / f"level{problem.level}" / problem.name]
    else:  # a problem's file outside a level's folder: by its name alone
        folders = [home / problem.name]
        folders += [level / problem.name for level in sorted(home.glob("level*"))]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    return {_below(path, folder): path for path in sources(folder)} if folder else {}


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _read(path: Path, name: str, root: Path) -> Solution:
    place = shortest(path, root)
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(place, found=reason, wanted="a readable file") from None
    metadata = _metadata(path, root)
    source = raw.decode("utf-8-sig", "replace")  # never refused here: a verdict is the judge's
    return Solution(
        name=name,
        path=path,
        source=source,
        backend=metadata.backend or backend_of(source),
        digest=digest(raw),
        license=metadata.license,
        author=metadata.author,
        source_url=metadata.source_url,
        claims=metadata.claims,
    )


def _metadata(path: Path, root: Path) -> Metadata:
    beside = path.with_suffix(".yaml")
    if not beside.is_file():
        return Metadata()
    place = shortest(beside, root)
    return read(Metadata, load_mapping(beside, place), place)


def backend_of(source: str) -> Backend:
    """Tell from the syntax tree what a solution is written in; `other` where it does not say."""
    try:
        tree = parse(source)
    except SyntaxError:
        return "other"
    modules, names = set(_imported(tree)), set(_mentioned(tree))
    if "triton" in modules:
        return "triton"
    if names & _CUDA_NAMES:
        return "cuda"
    if "torch.compile" in names:
        return "inductor"
    return "eager" if modules and modules <= _PLAIN_TORCH else "other"


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the first part of every imported module's name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]


def _mentioned(tree: ast.Module) -> Iterator[str]:
    """Yield names, attributes and imported names; `torch.compile` whole, however it is imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="torch"), attr="compile"):
                yield "torch.compile"
            case ast.ImportFrom(module="torch", names=names) if "compile" in _originals(names):
                yield "torch.compile"
            case ast.ImportFrom(names=names):
                yield from _originals(names)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                yield name


def _originals(names: list[ast.alias]) -> list[str]:
    return [alias.name for alias in names]


def _says_nothing(statement: ast.stmt) -> bool:
    """Tell whether a statement is a bare literal: a docstring, or None that was once no text."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
