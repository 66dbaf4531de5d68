"""Loading a candidate's file and naming what goes wrong in it.

Every exception of the candidate becomes a value here, told apart by its type and never by words
in its text. Owns the names of faults; what they mean for a verdict is the judge's business.
"""

from __future__ import annotations

import importlib.util
import linecache
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

MAX_TEXT = 6000  # characters of a traceback that travel: one message holds 64 KiB
# torch has no type of its own for a failed allocation on a CPU; this is its allocator's first word
CPU_ALLOCATOR = "DefaultCPUAllocator"


class NoModel(Exception):
    """The file defines no `ModelNew`."""


def load(path: Path, module_name: str) -> Any:
    """Import the file under a name of its own and return its `ModelNew`; raises what it raises."""
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # Triton and dataclasses look their module up by name
    linecache.checkcache(str(path))
    spec.loader.exec_module(module)
    try:
        return module.ModelNew
    except AttributeError as error:
        raise NoModel("the file defines no class ModelNew") from error


def attempt(call: Callable[[], Any]) -> tuple[Any, dict[str, str] | None]:
    """What `call` gave and None, or None and its fault: the one broad except of the worker.

    `BaseException`, because a candidate may raise SystemExit or KeyboardInterrupt.
    """
    try:
        return call(), None
    except BaseException as error:  # the candidate's own code: anything at all
        return None, describe(error)


def describe(error: BaseException) -> dict[str, str]:
    """A fault as plain text: kind, type, message, traceback (its end)."""
    return {
        "kind": kind_of(error),
        "type": f"{type(error).__module__}.{type(error).__qualname__}"[:200],
        "message": _text(lambda: str(error))[:2000],
        "traceback": _text(lambda: "".join(traceback.format_exception(error)))[-MAX_TEXT:],
    }


def _text(make: Callable[[], str]) -> str:
    try:
        return make().encode("utf-8", "replace").decode()
    except BaseException as error:  # an exception whose own __str__ raises
        return f"(no text: {type(error).__name__} while writing it)"


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _is_build_failure(error: BaseException) -> bool:
    kind = type(error)
    if kind.__module__.startswith("triton.compiler"):
        return True
    names = {base.__name__ for base in kind.__mro__}
    return isinstance(error, subprocess.CalledProcessError) or bool(
        names & {"CppCompileError", "CUDACompileError"}  # torch's inductor
    )


def kind_of(error: BaseException) -> str:
    """One of the names that the judge maps to a status."""
    if isinstance(error, NoModel):
        return "no_model"
    if isinstance(error, SyntaxError):
        return "syntax_error"
    if isinstance(error, ModuleNotFoundError):
        return "missing_package"
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return "out_of_memory"
    if isinstance(error, RuntimeError) and CPU_ALLOCATOR in _text(lambda: str(error)):
        return "out_of_memory"
    if any(_is_build_failure(one) for one in _chain(error)):
        return "build_failed"
    return "exception"
