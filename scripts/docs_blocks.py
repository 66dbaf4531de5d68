#!/usr/bin/env python3
"""Fills the generated blocks of the documents; `--check` says whether any is out of date.

A block is everything between `<!-- generated: NAME -->` and `<!-- end -->`. NAME is one of `BLOCKS`
or `$ COMMAND`, whose real output is put there. Figures come from `results/published` alone, so a
document shows the same ones on every machine. Owns no figure and no wording of the harness.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rich.console import Console

from harness.publish import console, markdown
from harness.record import ranking, store
from harness.record.ranking import Ranking
from harness.record.schema import Record
from harness.record.statistics import summary_of
from harness.sandbox import limits
from harness.units import milliseconds

DOCUMENTS = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/record.md")
PUBLISHED = ROOT / "results" / "published"
COLUMNS = "96"  # characters: what GitHub shows of a code block without scrolling
NONE_YET = "*No record has been published yet.*"
_BLOCK = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

WALLS = {
    "own_process": "a process of its own, forked clean for each evaluation",
    "own_session": "a session of its own, ended as a group",
    "clean_environment": "an environment that holds an allow-list and nothing else",
    "isolated_interpreter": "Python started with `-I`; nothing of the judge can be imported",
    "private_caches": "folders of its own for builds, caches and temporary files",
    "read_only_inputs": "inputs mapped read-only: a write ends the worker",
    "no_new_privileges": "`no_new_privs`: no setuid program helps it",
    "resource_limits": "limits on file size, open files and core dumps",
    "subreaper": "whatever it starts is found and ended, also after `setsid`",
    "private_uid": "a user id of its own",
    "network_namespace": "a network of its own",
    "mount_namespace": "a file system of its own",
    "pid_namespace": "a process table of its own",
}


def published() -> tuple[list[Record], Ranking]:
    """The committed records and their ranking, as it stood when the newest was measured."""
    if not PUBLISHED.is_dir():
        return [], Ranking((), ())
    loaded = store.read_all([PUBLISHED])
    if loaded.problems:
        raise SystemExit("\n".join(loaded.problems))
    records = sorted(loaded.records, key=lambda one: (one.observed_at, one.id))
    if not records:
        return [], Ranking((), ())
    # not today's date: else every table would turn stale, and its test fail, after 180 days
    now = records[-1].observed_at
    return records, ranking.rank(records, loaded.events, now=now)


def board() -> str:
    """Every published board as Markdown."""
    records, ranked = published()
    return markdown.leaderboard(ranked).rstrip("\n") if records else NONE_YET


def run() -> str:
    """The newest published run as the terminal shows it at its end."""
    records, _ = published()
    if not records:
        return NONE_YET
    newest = [one for one in records if one.run_id == records[-1].run_id]
    drawn = io.StringIO()
    console.run_tables(newest, Console(file=drawn, width=int(COLUMNS)))
    return _fence("$ python run_eval.py run configs/h200.yaml", drawn.getvalue())


def window() -> str:
    """How wide the two clocks' window was in the published records, beside what was measured."""
    records, _ = published()
    lines = [
        "| problem | size | solution | median | the judge's overhead | window |",
        "| :-- | :-- | :-- | --: | --: | --: |",
    ]
    for record in records:
        summary, timing = summary_of(record), record.timing
        if summary is None or timing is None or timing.clock_window_ms is None:
            continue
        over = milliseconds(timing.overhead_ms) if timing.overhead_ms is not None else "–"
        lines.append(
            f"| {record.problem.name} | {record.problem.size} | {record.solution.name} "
            f"| {milliseconds(summary.median_ms)} | {over} "
            f"| {milliseconds(timing.clock_window_ms)} |"
        )
    return "\n".join(lines) if len(lines) > 2 else NONE_YET


def placement() -> str:
    """How far the block medians of the published records lie apart."""
    records, _ = published()
    spreads = []
    for record in records:
        summary, timing = summary_of(record), record.timing
        if summary is None or timing is None or len(timing.blocks) < 2:
            continue
        starts = [block.start for block in timing.blocks]
        ends = [*starts[1:], len(timing.samples_ms)]
        pairs = zip(starts, ends, strict=True)
        medians = [statistics.median(timing.samples_ms[start:end]) for start, end in pairs]
        share = (max(medians) / min(medians) - 1) * 100
        spreads.append(f"{record.solution.name} {share:.1f} %")
    if not spreads:
        return NONE_YET
    return f"Slowest over fastest block median in the published records: {', '.join(spreads)}."


def layers() -> str:
    """Every wall between a worker and the machine, and whether it stands."""
    lines = ["| in the record | what it is | stands |", "| :-- | :-- | :-- |"]
    for name, stands in limits.layers().items():
        lines.append(f"| `{name}` | {WALLS[name]} | {'yes' if stands else '**no**'} |")
    return "\n".join(lines)


def _fence(command: str, output: str) -> str:
    body = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    return f"```console\n{command}\n{body}\n```"


def _output(command: str) -> str:
    """What `python run_eval.py ...` prints on stdout, by this Python and at a fixed width."""
    program, *arguments = shlex.split(command)
    if program != "python":
        raise SystemExit(f"{command}: only `python ...` is run for a document")
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return _fence(f"$ {command}", done.stdout)


BLOCKS: dict[str, Callable[[], str]] = {
    "board": board,
    "run": run,
    "window": window,
    "placement": placement,
    "layers": layers,
}


def filled(text: str) -> str:
    """`text` with every generated block as it has to be."""

    def fill(found: re.Match[str]) -> str:
        begin, name, _, end = found.groups()
        body = _output(name[2:]) if name.startswith("$ ") else BLOCKS[name]()
        return f"{begin}{body}\n{end}"

    return _BLOCK.sub(fill, text)


def main() -> int:
    """Write the documents, or with --check only compare them."""
    parser = argparse.ArgumentParser(description="Fill the generated blocks of the documents.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one differs")
    check = parser.parse_args().check
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = filled(text)
        if new == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(new, encoding="utf-8")
    for name in stale:
        said = "is out of date; `make docs` fills it" if check else "filled"
        print(f"{name}: {said}")
    return int(check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
