"""Both corpora judged for real, as a table: file, expected, got; the last line counts them.

    python -m tests.corpora [--device cuda] [--json FILE] [--only TEXT]

A file's docstring ends in a header of `key: value` lines, so that it stays an ordinary solution:

problem    a file of tests/data, or a problem of the repository such as 1/87
expected   status and reason (`-` for none); several outcomes that are as good with ` | ` between
class      of an honest file, the class that it reaches; of an exploit, the class that is asked for
device     cuda for what needs a GPU, cpu for what attacks only a CPU
trials     timed calls, where the default is too few for the rule that catches it
open       why this cheat is not caught yet: its outcome is then not counted as a failure
harmless   of an exploit that passes: what it gains nothing by
answer_s   seconds that the fork server has for an answer, where a file stops it
kinds, surface, caught_by, naive    see docs/cheats.md and tests/test_corpora.py
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox import launch

TESTS = Path(__file__).resolve().parent
CHECKS = 9  # every family, so that no outcome hangs on the draw of some
TRIALS = 15  # three blocks: one of them is of the deciding family
DEADLINES = {"load": 20, "build": 20, "prepare": 20, "check": 60, "time": 120}


@dataclass(frozen=True)
class Case:
    """One file of a corpus and what its header says."""

    path: Path
    header: dict[str, str]

    @property
    def name(self):
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def honest(self):
        return self.path.parent.name == "honest"

    @property
    def problem(self):
        named = self.header["problem"]
        own = TESTS / "data" / f"{named}.py"
        return str(own) if own.exists() else named

    @property
    def on_gpu(self):
        return self.header.get("device") == "cuda"

    def runs(self, *, on_gpu):
        """Whether it shows anything there: some need a GPU, some attack what only a CPU has."""
        return self.header.get("device") != ("cpu" if on_gpu else "cuda")

    @property
    def expected(self):
        """The outcomes that are right: (status, reason), and the class of an honest one."""
        if self.honest:
            return (("passed", self.header["class"]),)
        return tuple(tuple(one.split()) for one in self.header["expected"].split(" | "))

    @property
    def options(self):
        """What its judge is opened with."""
        found = {"trials": int(self.header.get("trials", TRIALS))}
        if not self.honest and "class" in self.header:
            found["class"] = self.header["class"]
        if "hangs" in self.path.stem:
            found["deadlines_s"] = {**DEADLINES, "prepare": 3}
        return found

    @property
    def answer_s(self):
        """How long the judge waits for its fork server, which some files stop."""
        return float(self.header.get("answer_s", launch.ANSWER_S))


def read(path):
    """The header of one file; every line of it is `key: value`."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    lines = text.rpartition("\n\n")[2].splitlines()
    return Case(path, dict(line.split(": ", 1) for line in lines))


def cases(*, on_gpu=None):
    """All files of both corpora, or those that show something on this kind of device."""
    found = [read(one) for name in ("exploits", "honest") for one in (TESTS / name).glob("*.py")]
    found = [one for one in found if one.path.stem != "__init__"]
    if on_gpu is not None:
        found = [one for one in found if one.runs(on_gpu=on_gpu)]
    return sorted(found, key=lambda one: (str(one.options), one.problem, one.name))


def outcome(case, record):
    """(status, reason), or (passed, class) of an honest file."""
    verdict = record.verdict
    if case.honest and verdict.status.value == "passed":
        return ("passed", record.precision.class_)
    return (verdict.status.value, verdict.reason or "-")


def judged(chosen, device):
    """Each case with its record; one judge for those that ask for the same, kept open."""
    import torch

    from harness import api

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two busy threads on two busy cores wait for each other
    try:
        options = None
        with contextlib.ExitStack() as stack:
            for case in chosen:
                if options != case.options:
                    stack.close()
                    options = case.options
                    keys = {"deadlines_s": DEADLINES, "checks": CHECKS, **options}
                    judge = stack.enter_context(api.open(device=device, **keys))
                usual, launch.ANSWER_S = launch.ANSWER_S, case.answer_s
                try:
                    record = judge.evaluate(case.problem, case.path)
                finally:
                    launch.ANSWER_S = usual
                yield case, record
    finally:
        torch.set_num_threads(threads)
        for left in Path("/dev/shm").glob("exploit-answer*"):
            left.unlink(missing_ok=True)


def row(case, record):
    """One line of the table, as plain data."""
    got = outcome(case, record)
    right = got in case.expected
    return {
        "file": case.name,
        "expected": [" ".join(one) for one in case.expected],
        "got": " ".join(map(str, got)),
        "result": "ok" if right else "open" if "open" in case.header else "WRONG",
        "detail": getattr(record.verdict, "detail", None),
        "open": case.header.get("open"),
    }


def main(arguments=None):
    """Print the table; 1 if a file got what it should not."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--json", type=Path, help="also write the table to this file")
    parser.add_argument("--only", default="", help="files whose name contains this")
    given = parser.parse_args(arguments)
    on_gpu = given.device.startswith("cuda")
    chosen = [one for one in cases(on_gpu=on_gpu) if given.only in one.name]
    rows = []
    for case, record in judged(chosen, given.device):
        rows.append(row(case, record))
        one = rows[-1]
        wanted = " | ".join(one["expected"])
        print(f"{one['result']:5}  {one['file']:44}  {wanted:44}  {one['got']}", flush=True)
        if one["result"] == "WRONG":
            print(f"       {one['detail']}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    count = {name: sum(one["result"] == name for one in rows) for name in ("ok", "open", "WRONG")}
    if count["open"]:
        print(f"{count['open']} open, see docs/cheats.md")
    print(f"{count['ok']} passed, {count['WRONG']} failed")
    return 1 if count["WRONG"] else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
