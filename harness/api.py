"""What the command line and users' own loops call.

    from harness import api

    with api.open(device="cpu", trials=20) as judge:
        record = judge.evaluate("1/87", "my_kernel.py")

Owns opening and closing a judge; torch is imported only inside the functions that need one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.faults import UsageError
from harness.judge.events import Listener, Note
from harness.record import environment, ranking, selection, store
from harness.record.ranking import Ranking
from harness.record.schema import Accuracy, Record
from harness.record.store import RunFolder
from harness.spec import hardware, strict_yaml
from harness.spec import problem as problems
from harness.spec import solution as solutions
from harness.spec.experiment import Experiment, Override, Resolved, resolve
from harness.spec.problem import BadProblem, Problem, Sized

if TYPE_CHECKING:
    from harness.judge.session import Session

ROOT = Path(__file__).resolve().parent.parent


def silent(event: object) -> None:
    """A listener that hears nothing."""


class Judge:
    """Judges solutions one by one; keeps its server, its device and the baseline between calls."""

    def __init__(self, session: Session, experiment: Experiment, root: Path) -> None:
        self._session, self._experiment, self._root = session, experiment, root
        self._baselines: dict[tuple[str, str], Record] = {}
        self._closed = False

    def close(self) -> None:
        """End; a judge that is closed starts nothing any more."""
        self._closed = True

    def evaluate(self, problem: str | Path, solution: str | Path) -> Record:
        """One solution (a name or a file) on one problem; `UsageError` for a name unknown.

        The baseline is evaluated before the first solution of a problem and kept.
        """
        from harness.sweep import plan

        if self._closed:
            raise UsageError("evaluate", found="a closed judge", wanted="a call inside `with`")
        experiment = self._experiment.model_copy(
            update={
                "problems": (str(problem),),
                "solutions": (str(solution),),
                "solutions_explicit": True,
            }
        )
        on_gpu = self._session.device.type == "cuda"
        made = plan.make(experiment, self._root, on_gpu=on_gpu)
        if len(made.groups) != 1 or len(made.groups[0].others) > 1:
            raise UsageError(
                "evaluate",
                found=f"{len(made.groups)} workloads, {made.count} evaluations",
                wanted="one problem, one size and one solution",
            )
        group = made.groups[0]
        if isinstance(group.problem, BadProblem):
            return self._session.bad_problem(group.problem, group.baseline(group.problem))
        sized = self._session.fitting(group.sized)
        baseline = self._baseline(sized, group.baseline(sized))
        if not group.others:
            return baseline
        return self._session.evaluate(sized, group.others[0], baseline)

    def _baseline(self, sized: Sized, solution: solutions.Solution) -> Record:
        key = (sized.source, solution.digest)
        if key not in self._baselines:
            self._baselines[key] = self._session.evaluate(sized, solution, None, is_baseline=True)
        return self._baselines[key]


@contextlib.contextmanager
def open(*, root: Path = ROOT, listener: Listener = silent, **options: Any) -> Iterator[Judge]:
    """A judge with any key of the config as an option (`class` is spelled `asked`)."""
    overrides = [
        Override("class" if key == "asked" else key, value, "api.open")
        for key, value in options.items()
    ]
    from harness.sweep import plan

    experiment = resolve(None, overrides, root).experiment
    plan.offered(experiment)
    device = choose_device(experiment.device)
    from harness.judge.session import Session

    with Session(experiment, device, root, listener) as session:
        judge = Judge(session, experiment, root)
        with contextlib.closing(judge):
            yield judge


def choose_device(asked: str) -> Any:
    """The torch device that `asked` means; `UsageError` for one that is not there."""
    torch = _torch()
    count = torch.cuda.device_count()
    if asked == "cpu" or (asked == "auto" and count == 0):
        return torch.device("cpu")
    index = int(asked.partition(":")[2] or 0)
    if index >= count:
        raise UsageError(
            "--device",
            found=asked,
            wanted=f"one of {count} CUDA device(s)" if count else "cpu: torch sees no CUDA device",
            remedy="see `run_eval.py run --device cpu`" if not count else None,
        )
    return torch.device("cuda", index)


def _torch() -> Any:
    """torch, or one line that says where to get it."""
    try:
        import torch
    except ImportError as error:
        raise UsageError(
            "torch",
            found=f"{error} in {sys.executable}",
            wanted="a Python that imports torch",
            remedy="`make setup` makes one in .venv",
        ) from None
    return torch


@dataclass(frozen=True)
class Running:
    """A run in its folder: iterate `records` to carry it out."""

    folder: RunFolder
    records: Iterator[Record]
    notes: tuple[str, ...]


@contextlib.contextmanager
def run(
    experiment: Experiment,
    *,
    root: Path = ROOT,
    listener: Listener = silent,
    resume: Path | None = None,
) -> Iterator[Running]:
    """Plan, open the device and the run's folder; records come as they are written.

    `resume` is the folder of a run that was cut off: only what has no record there is evaluated.
    """
    device = choose_device(experiment.device)
    from harness.judge.session import Session
    from harness.sweep import local, plan
    from harness.sweep.resume import Done

    made = plan.make(experiment, root, on_gpu=device.type == "cuda")
    folder = RunFolder.open(resume) if resume is not None else None
    with Session(experiment, device, root, listener) as session:
        if folder is None:
            folder = _new_folder(experiment, session, root)
        earlier = folder.load()
        lane = local.Lane(
            session, made, _storing(folder, listener), listener, Done(earlier.records)
        )
        notes = [*made.notes, *folder.notes, *store.once_a_file(earlier.problems)]
        if experiment.device == "auto" and device.type == "cpu":
            notes.insert(0, "torch sees no CUDA device: running on the CPU")
        yield Running(folder, lane.run(), tuple(notes))


def settings(
    config: Path | None,
    options: Sequence[Override],
    *,
    root: Path = ROOT,
    resume: str | None = None,
) -> tuple[Resolved, Path | None]:
    """What a run is asked for, and the folder to go on in where `resume` names one."""
    if resume is None:
        return resolve(config, options, root), None
    from harness.sweep import resume as resuming

    typed = [str(one.value) for one in options if one.key == "out"]
    folder = resuming.find(resume, Path(typed[-1]) if typed else root / Experiment().out)
    return resuming.settings(folder, config, options, root), folder


def _storing(folder: RunFolder, listener: Listener) -> Callable[[Record], Record]:
    def keep(record: Record) -> Record:
        """Under the folder's run, which a resumed run goes on with."""
        kept = record.model_copy(update={"run_id": folder.run_id})
        repaired = folder.append(kept)
        if repaired is not None:
            listener(Note(repaired))
        return kept

    return keep


def _new_folder(experiment: Experiment, session: Session, root: Path) -> RunFolder:
    out = Path(experiment.out)
    return RunFolder.create(
        out if out.is_absolute() else root / out,
        session.run_id,
        config=strict_yaml.dump(experiment.as_config()),
        environment=environment.environment(str(session.device)),
    )


def leaderboard(
    *,
    root: Path = ROOT,
    problem: str | None = None,
    hardware_name: str | None = None,
    accuracy: Accuracy | None = None,
) -> tuple[Ranking, tuple[str, ...]]:
    """The ranking of every record under `results/`, and one line for each file refused."""
    results = root / "results"
    loaded = store.read_all([results] if results.is_dir() else [])
    records: Sequence[Record] = loaded.records
    if problem is not None:
        records = selection.of_problem(records, problem, root)
    if hardware_name is not None:
        records = selection.on_hardware(records, hardware_name)
    ranked = ranking.rank(records, loaded.events, now=datetime.now(UTC), accuracy=accuracy)
    return ranked, store.once_a_file(loaded.problems)


def floor(
    problem: str, *, size: str, class_: str, hardware_name: str | None, policy: str,
    root: Path = ROOT,
) -> Any:  # fmt: skip
    """The floor of one problem at one size on one row of `hardware.yaml`, and its signature."""
    named = problems.find(problem, root, where="PROBLEM")
    found = [one for one in named if isinstance(one, Problem)]
    if len(found) != 1:
        raise UsageError("PROBLEM", found=f"{problem!r}, {len(found)} problems", wanted="one")
    sized = problems.resize(found[0], size, {})
    row = hardware.find(hardware_name) if hardware_name is not None else _this_hardware()
    _torch()
    from harness.floor.floor import floor as least
    from harness.floor.floor import precision_named
    from harness.floor.traffic import policy_named
    from harness.judge.reference import Reference, ReferenceFault
    from harness.judge.signature import trace

    try:
        signature = trace(Reference(sized, None)).signature
    except ReferenceFault as fault:
        raise UsageError(
            str(found[0].path), found=fault.detail, wanted="a problem that runs"
        ) from None
    return sized, least(
        signature, row, policy=policy_named(policy), precision=precision_named(class_)
    )


@dataclass(frozen=True)
class Linted:
    """One problem at one size: whether it is sound, and what there is to say in a line."""

    name: str
    size: str
    sound: bool
    line: str


def lint(queries: Sequence[str], *, device: str, root: Path = ROOT) -> Iterator[Linted]:
    """Try every null answer on each problem, at the size that suits the device."""
    _torch()
    from harness.judge.session import Session
    from harness.sweep import plan

    options = [
        Override("problems", list(queries), "lint"),
        Override("device", device, "--device"),
    ]
    experiment = resolve(None, options, root).experiment
    with Session(experiment, choose_device(device), root, silent) as session:
        made = plan.make(experiment, root, on_gpu=session.device.type == "cuda")
        for group in made.groups:
            if isinstance(group.problem, BadProblem):
                said = f"cannot be read: {group.problem.detail}"
                yield Linted(group.problem.name, "-", sound=False, line=said)
                continue
            sized = session.fitting(group.sized)
            sound, line = session.lint(sized)
            yield Linted(group.problem.name, sized.size, sound, line)


def _this_hardware() -> hardware.Hardware:
    names = environment.device_names()
    row = hardware.of_device(names[0]) if names else None
    if row is None:
        raise UsageError(
            "--hardware",
            found=names[0] if names else "no GPU here",
            wanted="a row of hardware.yaml",
            remedy="name one; `run_eval.py list hardware` lists them",
        )
    return row


def listing(what: str, *, root: Path = ROOT) -> Iterator[str]:
    """One line for each problem, solution or row of hardware; executes none of them."""
    if what == "hardware":
        for row in hardware.everything():
            yield f"{row.name}  {row.bandwidth_gbps:g} GB/s  {', '.join(row.devices)}"
        return
    for problem in problems.everything(root):
        if isinstance(problem, BadProblem):
            yield f"{problem.name}  cannot be read: {problem.detail}"
        elif what == "problems":
            sizes = ", ".join(["full", *problem.sidecar.sizes])
            yield f"{_numbered(problem)}  {problem.name}  sizes: {sizes}"
        else:
            for one in solutions.of_problem(problem, root):
                yield f"{_numbered(problem)}  {problem.name}  {one.name}  {one.backend}"


def _numbered(problem: Problem) -> str:
    if problem.level is None or problem.number is None:
        return "-"
    return f"{problem.level}/{problem.number}"
