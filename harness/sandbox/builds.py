"""Compiling a solution's CUDA source where there is no device to run it on.

Owns finding nvcc, the build and its deadline. The source is read from the syntax tree: nothing of
the solution is executed.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox import limits

ARCHITECTURES = ("sm_80", "sm_90")  # an Ampere and a Hopper: what solutions here are written for
TAIL = 4000  # characters of the compiler's own message that are kept


@dataclass(frozen=True)
class Compiled:
    """What nvcc said of one architecture; `message` is the end of its output."""

    architecture: str
    ok: bool
    message: str


def cuda_source(source: str) -> str | None:
    """The text that a solution assigns to a module-level `CUDA_SOURCE`, if it is a plain text."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        names = [one.id for one in node.targets if isinstance(one, ast.Name)]
        if "CUDA_SOURCE" in names and isinstance(node.value.value, str):
            return node.value.value
    return None


def nvcc() -> str | None:
    """The compiler on the PATH or under CUDA_HOME."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    beside = Path(home) / "bin" / "nvcc"
    return shutil.which("nvcc") or (str(beside) if beside.exists() else None)


def compile_cuda(source: str, compiler: str, deadline_s: float) -> tuple[Compiled, ...]:
    """Build `source` as a shared library for each of `ARCHITECTURES`; the result is thrown away."""
    folder = Path(tempfile.mkdtemp(prefix="harness-build-"))
    try:
        (folder / "solution.cu").write_text(source, encoding="utf-8", errors="surrogatepass")
        return tuple(
            _compile(folder, compiler, architecture, deadline_s) for architecture in ARCHITECTURES
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(folder: Path, compiler: str, architecture: str, deadline_s: float) -> Compiled:
    suffix = "a" if architecture == "sm_90" else ""  # Hopper's own instructions need sm_90a
    target = f"-gencode=arch=compute_{architecture[3:]}{suffix},code={architecture}{suffix}"
    command = [compiler, "-shared", "-Xcompiler", "-fPIC", target, "-o", "out.so", "solution.cu"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**limits.server_environment(interpret=False), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Compiled(architecture, ok=False, message=f"no end within {deadline_s:g} s")
    return Compiled(architecture, process.returncode == 0, output[-TAIL:])
