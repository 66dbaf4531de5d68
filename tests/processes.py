"""The command line as a person starts it: real processes, and whatever they leave behind."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 240  # far above what any of these takes: an end for a hang, no claim about speed


def start(*arguments, root=ROOT, **options):
    """The program of the checkout at `root`, with its two streams as pipes."""
    return subprocess.Popen(
        [sys.executable, root / "run_eval.py", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=options.pop("stderr", subprocess.PIPE),
        text=True,
        **options,
    )


def run_eval(*arguments, root=ROOT, **options):
    """Run to the end: (exit status, stdout, stderr)."""
    with start(*arguments, root=root, **options) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def checkout(folder):
    """A copy of what is needed to run, so that a default run's results stay in `folder`."""
    for name in ("harness", "problems", "solutions", "configs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run_eval.py", folder)
    return folder


def descendants(pid):
    """Every living process that comes from `pid`, with the moment of its start: ids come again."""
    found = {}
    for child in _children(pid):
        found[child] = _started(child)
        found |= descendants(child)
    return found


def _children(pid):
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


def _started(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def survivors(before, *, within_s=20.0):
    """Those of `descendants` that are still there: a dying process may need a moment."""
    until = time.monotonic() + within_s
    while True:
        alive = [pid for pid, started in before.items() if started and _started(pid) == started]
        if not alive or time.monotonic() > until:
            return alive
        time.sleep(0.05)


def without_torch(folder):
    """An environment in which neither torch nor triton can be imported."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('torch', 'triton'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    return {**os.environ, "PYTHONPATH": str(folder)}
