"""Imports go strictly down the layers, never sideways, and torch stays where it belongs."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.sandbox.launch import Server, Worker

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "harness"
# From the top down; a module may import its own layer's package and every layer below it.
LAYERS = (
    ("run_eval",),
    ("cli",),
    ("api",),
    ("sweep", "publish", "doctor"),
    ("judge",),
    ("sandbox",),
    ("floor", "record"),
    ("spec",),
    ("units", "wire", "faults", "mapping", "construct"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The worker stands beside: it loads only the leaves that both sides share.
WORKER_MAY = {"worker", "wire", "mapping", "construct"}
TORCH_IN = ("judge", "worker")
TORCH_FILES = {"floor/ceiling.py", "mapping.py", "construct.py", "sandbox/server.py"}


def modules():
    return sorted([*HARNESS.rglob("*.py"), ROOT / "run_eval.py"])


def place(path):
    """The name by which LAYERS knows a module: its package, or its own name at the top."""
    if path.parent == ROOT:
        return path.stem
    return path.relative_to(HARNESS).parts[0].removesuffix(".py")


def imported(path):
    """(module, whether inside `if TYPE_CHECKING`-free code), functions' imports included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "harness":
                yield from (f"harness.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_strictly_down(path):
    if path.name == "__init__.py":
        assert path.read_bytes() == b"", "every __init__.py is empty"
        return
    here = place(path)
    assert here in LEVEL or here == "worker", f"{here} has no layer"
    for name in imported(path):
        if not name.startswith("harness."):
            continue
        there = name.split(".")[1]
        if here == "worker":
            assert there in WORKER_MAY, f"the worker imports {name}"
            continue
        assert there in LEVEL, f"{name} has no layer"
        same_package = there == here and path.parent != HARNESS
        assert same_package or LEVEL[there] > LEVEL[here], f"{here} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_torch_is_imported_only_where_it_is_used(path):
    uses = any(name.split(".")[0] in ("torch", "triton") for name in imported(path))
    if not uses or path.name == "__init__.py":
        return
    relative = str(path.relative_to(ROOT / "harness")) if path.parent != ROOT else path.name
    inside_open = relative == "api.py"  # inside the function that opens a judge
    assert place(path) in TORCH_IN or relative in TORCH_FILES or inside_open


def test_a_live_worker_holds_nothing_of_judge_spec_or_record():
    probe = (
        "import sys, torch\n"
        "print('MODULES', sorted(n for n in sys.modules if n.startswith('harness')))\n"
        "class ModelNew(torch.nn.Module):\n    pass\n"
    )
    server = Server(interpret=False)
    try:
        worker = Worker(server)
        (worker.scratch / "c.py").write_text(probe)
        until = time.monotonic() + 30
        worker.ask({"op": "open", "device": "cpu", "threads": 1}, until)
        path = str(worker.scratch / "c.py")
        reply = worker.ask({"op": "load", "path": path, "module": "c"}, until)
        assert reply["fault"] is None
        line = next(one for one in worker.log_tail().splitlines() if one.startswith("MODULES"))
        worker.close(orderly=True)
    finally:
        server.close()
    found = set(ast.literal_eval(line.removeprefix("MODULES ")))
    assert found == {
        "harness",
        "harness.construct",
        "harness.mapping",
        "harness.wire",
        "harness.worker",
        "harness.worker.candidate",
        "harness.worker.clock",
        "harness.worker.flags",
        "harness.worker.main",
        "harness.worker.profile",
        "harness.worker.seal",
    }


@pytest.mark.parametrize("module", ["harness.cli", "harness.publish.csv", "harness.record.store"])
def test_listing_and_publishing_never_import_torch(module):
    code = f"import sys, {module}; assert 'torch' not in sys.modules, 'torch'"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=ROOT)
