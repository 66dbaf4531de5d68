"""The command line: commands, exit codes, and which stream gets what. No logic of its own.

Exit status: 0 the run completed, 1 a negative answer, 2 a usage or config error, 3 a fault of the
harness, 130 interrupted. Imports stay inside the commands, so that `--help` starts at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from harness.faults import HarnessFault, UsageError
from harness.spec.nearest import nearest

if TYPE_CHECKING:
    from harness.record.schema import Accuracy, Record
    from harness.spec.experiment import Experiment, Override

OK, NEGATIVE, USAGE, FAULT, INTERRUPTED = 0, 1, 2, 3, 130
PROGRAM = "run_eval.py"
ROOT = Path(__file__).resolve().parent.parent
Refused: Any = typer.BadParameter.__mro__[2]  # the base of all that the parser itself refuses

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    help="Judge, time and rank kernels for KernelBench problems; without a command: run.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status; every refusal is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without × or µ still gets the table
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _guarded(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        _stop_writing()
        return OK
    return status


def _guarded(arguments: list[str]) -> int:
    try:
        return _dispatch(arguments)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    except UsageError as error:
        _say(f"error: {error}")
        return USAGE
    except Refused as error:
        from harness.publish.refusal import in_our_words

        group = typer.main.get_command(app)
        _say(f"error: {in_our_words(error, arguments, PROGRAM, group)}")
        return USAGE
    except BrokenPipeError:
        raise
    except Exception as error:  # ours to mend, and never the answer "no" that exit status 1 means
        if not isinstance(error, HarnessFault):
            traceback.print_exc()
        _say(f"harness fault: {type(error).__name__}: {error}")
        return FAULT


def _dispatch(arguments: list[str]) -> int:
    command: Any = typer.main.get_command(app)
    first = next(iter(arguments), None)
    if first is not None and (first[:1] != "-" or first == "-") and first not in command.commands:
        remedy = nearest(first, command.commands)
        raise UsageError(PROGRAM, found=repr(first), wanted="a command", remedy=remedy)
    with command.make_context(PROGRAM, arguments) as context:
        return int(command.invoke(context) or OK)


def _say(text: str) -> None:
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    with contextlib.suppress(OSError):  # a closed stderr: the exit status still says it
        print(shown, file=sys.stderr)  # noqa: T201 - the one place that speaks without a console


def _stop_writing() -> None:
    """Let the interpreter's own last flush go nowhere, where a reader has closed the pipe."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> int | None:
    """Without a command, run configs/default.yaml."""
    if context.invoked_subcommand is not None:
        return None
    return _run(None, [], resume=None, as_json=False, strict=False, show_config=False)


@app.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="A YAML config.")] = None,
    problem: Annotated[
        list[str] | None, typer.Option(help="A name, a number such as 1/87, a file or a folder.")
    ] = None,
    solution: Annotated[list[str] | None, typer.Option(help="A name, a file or a folder.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cuda, cuda:N or cpu.")] = None,
    size: Annotated[list[str] | None, typer.Option(help="full, smoke or another.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="AXIS=VALUE", help="Another axis value.")
    ] = None,
    trials: Annotated[str | None, typer.Option(metavar="N", help="Timed calls.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("-o", metavar="KEY=VALUE", help="Any config key.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with a run's folder.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Where runs are kept.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One record a line on stdout.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 unless every solution passed.")
    ] = False,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print each value and its origin, and stop.")
    ] = False,
) -> int:
    """Evaluate solutions, record each, print a table."""
    from harness.spec.experiment import Override, assignment

    single = (("device", device), ("trials", trials), ("out", out))
    several = (("problems", problem), ("solutions", solution), ("sizes", size))
    named = {"problems": "--problem", "solutions": "--solution", "sizes": "--size"}
    options = [assignment(text, "-o") for text in option or ()]
    options += [Override(key, list(value), named[key]) for key, value in several if value]
    options += [Override(key, value, f"--{key}") for key, value in single if value is not None]
    options += [assignment(text, "--set", under="set.") for text in set_ or ()]
    return _run(
        config, options, resume=resume, as_json=as_json, strict=strict, show_config=show_config
    )


def _run(
    config: Path | None,
    options: list[Override],
    *,
    resume: str | None,
    as_json: bool,
    strict: bool,
    show_config: bool,
) -> int:
    from harness import api

    resolved, folder = api.settings(config, options, root=ROOT, resume=resume)
    if show_config:
        for key, value, origin in resolved.lines():
            print(f"{key}: {value}  # {origin}")  # noqa: T201
        return OK
    experiment = resolved.experiment
    if resolved.origins["out"] in ("--out", "-o"):  # typed: as the shell would take it
        experiment = experiment.model_copy(update={"out": str(Path(experiment.out).absolute())})
    left = _Left(folder)
    try:
        _carry_out(experiment, left, as_json=as_json)
    except (KeyboardInterrupt, BrokenPipeError) as stopped:
        why = "interrupted" if isinstance(stopped, KeyboardInterrupt) else "nobody reads any more"
        _say(why if left.folder is None else f"{why}; {left}; go on with --resume {left.folder}")
        if isinstance(stopped, BrokenPipeError):
            _stop_writing()
        return INTERRUPTED
    return _status(left.records, strict=strict)


@dataclass
class _Left:
    """What a run has left so far, for whoever interrupts it."""

    folder: Path | None
    records: list[Record] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{len(self.records)} record{'s' if len(self.records) != 1 else ''} kept"


def _carry_out(experiment: Experiment, left: _Left, *, as_json: bool) -> None:
    from harness import api
    from harness.publish import console as tables
    from harness.publish.progress import watching

    log = tables.Screen(stderr=True)
    with (
        watching(log) as listener,
        api.run(experiment, root=ROOT, listener=listener, resume=left.folder) as running,
    ):
        left.folder = running.folder.path
        for note in running.notes:
            tables.print_line(note, log)
        for record in running.records:
            left.records.append(record)
            if as_json:
                _print_record(record)
    tables.run_tables(left.records, log if as_json else tables.Screen())
    tables.print_line(f"records: {left.folder}", log)


def _print_record(record: Record) -> None:
    from harness.record.schema import dump

    sys.stdout.write(dump(record) + "\n")
    sys.stdout.flush()


def _status(records: list[Record], *, strict: bool) -> int:
    from harness.record.schema import Status

    found = {record.verdict.status for record in records}
    if Status.HARNESS_FAULT in found:
        return FAULT
    bad = found - {Status.PASSED, Status.UNAVAILABLE}
    return NEGATIVE if strict and bad else OK


@app.command()
def leaderboard(
    problem: Annotated[str | None, typer.Option(help="Only this problem.")] = None,
    hardware: Annotated[str | None, typer.Option(help="Only devices that begin so.")] = None,
    class_: Annotated[str | None, typer.Option("--class", help="fp32, tf32, fp16, bf16.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a CSV.")] = None,
    md: Annotated[Path | None, typer.Option(metavar="FILE", help="Write Markdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print ranked records.")] = False,
) -> int:
    """Rank every record under results/, one table per cohort."""
    from harness import api
    from harness.publish import console as tables

    _choice("--class", class_, ("fp32", "tf32", "fp16", "bf16"))
    ranked, problems = api.leaderboard(
        root=ROOT, problem=problem, hardware_name=hardware, accuracy=cast("Accuracy | None", class_)
    )
    for line in problems:
        tables.print_line(line, tables.Screen(stderr=True))
    if csv is not None:
        from harness.publish import csv as table

        table.write(ranked, csv)
    if md is not None:
        from harness.publish import markdown

        _write(md, markdown.leaderboard(ranked))
    if as_json:
        for standing in ranked.standings():
            _print_record(standing.record)
    else:
        tables.leaderboard_tables(ranked, tables.Screen())
    return OK


def _choice(option: str, value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        remedy = nearest(value, allowed)
        raise UsageError(option, found=repr(value), wanted=" or ".join(allowed), remedy=remedy)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            str(path), found=error.strerror or "an error", wanted="a file that can be written"
        ) from None


@app.command()
def floor(
    problem: Annotated[str, typer.Argument(help="A problem.")],
    size: Annotated[str, typer.Option(help="full, smoke or another.")] = "full",
    class_: Annotated[str, typer.Option("--class", help="fp32, tf32, fp16, bf16.")] = "tf32",
    hardware: Annotated[str | None, typer.Option(help="A row of `list hardware`.")] = None,
    policy: Annotated[str, typer.Option(help="complete-v2 or headroom-v1.")] = "complete-v2",
) -> int:
    """Print the least time that the hardware allows, and what that assumes."""
    from harness import api, units

    _choice("--class", class_, ("fp32", "tf32", "fp16", "bf16"))
    _choice("--policy", policy, ("complete-v2", "headroom-v1"))
    sized, found = api.floor(
        problem, size=size, class_=class_, hardware_name=hardware, policy=policy, root=ROOT
    )
    lines = [
        f"{units.milliseconds(found.floor_ms)}  {found.bound}-bound on {found.hardware}",
        f"{sized.problem.name}, {sized.size}, class {class_}, policy {found.policy}: "
        f"{units.gigabytes(found.bytes)}, {units.operations(found.flops)}",
        *found.assumptions,
        f"an estimate, not evidence; source: {found.source}",
    ]
    print("\n".join(lines))  # noqa: T201
    return OK


@app.command()
def lint(
    problem: Annotated[list[str], typer.Argument(help="Problems, as for run.")],
    device: Annotated[str, typer.Option(help="auto, cuda, cuda:N or cpu.")] = "auto",
) -> int:
    """Say whether a problem can tell a right answer from none."""
    from harness import api
    from harness.publish import console as tables

    console = tables.Screen()
    sound = True
    for found in api.lint(problem, device=device, root=ROOT):
        tables.print_line(f"{found.name}, {found.size}: {found.line}", console)
        sound = sound and found.sound
    return OK if sound else NEGATIVE


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(help="problems, solutions or hardware.")],
) -> int:
    """List what the repository has."""
    from harness import api
    from harness.publish import console as tables

    _choice("list", what, ("problems", "solutions", "hardware"))
    console = tables.Screen()
    for line in api.listing(what, root=ROOT):
        tables.print_line(line, console)
    return OK
