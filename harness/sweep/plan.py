"""What a run is to evaluate, in order, with every name looked up before anything runs.

Owns the choice of sizes and solutions. Whatever the user named wrongly is refused here, before the
first second is spent; whatever is wrong inside a file is left to its verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.faults import UsageError
from harness.sandbox import limits
from harness.spec import problem as problems
from harness.spec import solution as solutions
from harness.spec.experiment import Experiment
from harness.spec.problem import BadProblem, Problem, Sized
from harness.spec.sidecar import AUTO, FULL
from harness.spec.solution import Solution

SMOKE = "smoke"
Fits = Callable[[Sized], bool]


@dataclass(frozen=True)
class Group:
    """One workload's evaluations: the baseline first, then the others.

    `sized` is what to run, in the order of preference: the first that fits the device is taken.
    `named_baseline` is None where the problem's own Model is the baseline.
    """

    problem: Problem | BadProblem
    sized: tuple[Sized, ...]
    named_baseline: Solution | None
    others: tuple[Solution, ...]

    def baseline(self, sized: Sized | BadProblem) -> Solution:
        """The baseline at one size: a Model that reads an axis itself has to read this size's."""
        if self.named_baseline is not None:
            return self.named_baseline
        if isinstance(sized, BadProblem):
            return Solution("eager", None, sized.source, "other", sized.reference_digest)
        return solutions.reference_as_solution(sized)

    @property
    def count(self) -> int:
        """Evaluations."""
        return 1 if isinstance(self.problem, BadProblem) else 1 + len(self.others)


@dataclass(frozen=True)
class Plan:
    """Groups in the order of the config, and what had to be said while making them."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        """Evaluations of the whole run."""
        return sum(group.count for group in self.groups)


def make(experiment: Experiment, root: Path, *, on_gpu: bool) -> Plan:
    """Look everything up; raises `UsageError` for a name that stands for nothing."""
    offered(experiment)
    found = _found(experiment, root)
    missing: list[tuple[str, str, UsageError]] = []
    groups: list[Group] = []
    for problem in found:
        if isinstance(problem, BadProblem):
            groups.append(Group(problem, (), None, ()))
            continue
        baseline, others = _chosen(experiment, problem, root, missing)
        groups += [
            Group(problem, _sizes(experiment, problem, size, on_gpu=on_gpu), baseline, others)
            for size in dict.fromkeys(experiment.sizes)
        ]
    real = sum(isinstance(problem, Problem) for problem in found)
    return Plan(tuple(groups), _told(missing, real))


def offered(experiment: Experiment) -> None:
    """UsageError for what the config can spell and this version cannot do: no silent substitute."""
    if experiment.executor == "ray":
        raise UsageError("executor", found="ray", wanted="local", remedy="there is no cluster yet")
    if experiment.pairing == "abba":
        raise UsageError("pairing", found="abba", wanted="auto or off", remedy="no pairs yet")
    missing = [name for name, stands in limits.layers().items() if not stands]
    if experiment.isolation == "strict" and missing:
        raise UsageError(
            "isolation",
            found=f"strict, without {', '.join(missing)} here",
            wanted="auto, the walls that this machine can build",
        )


def _found(experiment: Experiment, root: Path) -> tuple[Problem | BadProblem, ...]:
    """Every problem that is named, once however often it is."""
    found: dict[Path, Problem | BadProblem] = {}
    for query in experiment.problems:
        for problem in problems.find(query, root):
            found.setdefault(problem.path.resolve(), problem)
    return tuple(found.values())


def _told(missing: list[tuple[str, str, UsageError]], count: int) -> tuple[str, ...]:
    """Say which solution which problem lacks; raise for one that every problem lacks."""
    lacking = Counter(query for query, _, _ in missing)
    for query, _, error in missing:
        if lacking[query] == count:
            raise error
    return tuple(f"{name}: left out here: {error}" for _, name, error in missing)


def _sizes(
    experiment: Experiment, problem: Problem, size: str, *, on_gpu: bool
) -> tuple[Sized, ...]:
    names = [size]
    if size == AUTO:
        small = [SMOKE] if SMOKE in problem.sidecar.sizes else []
        names = [FULL, *small] if on_gpu else [*small, FULL]
    return tuple(problems.resize(problem, name, experiment.axes) for name in names)


def _chosen(
    experiment: Experiment,
    problem: Problem,
    root: Path,
    missing: list[tuple[str, str, UsageError]],
) -> tuple[Solution | None, tuple[Solution, ...]]:
    """The baseline (None: the problem's own Model), and what is to be held against it."""
    own = solutions.of_problem(problem, root)
    named = _named(experiment, problem, root, own, missing)
    baseline = _baseline(experiment.baseline, problem, root, own)
    others = [one for one in named if baseline is None or not _same(one, baseline)]
    return baseline, tuple({(one.name, one.digest): one for one in others}.values())


def _named(
    experiment: Experiment,
    problem: Problem,
    root: Path,
    own: tuple[Solution, ...],
    missing: list[tuple[str, str, UsageError]],
) -> list[Solution]:
    """As asked for. The default list is problem 87's: another problem gives all that it has."""
    names = {one.name for one in own}
    if not experiment.solutions_explicit and not names.issuperset(experiment.solutions):
        return list(own)
    found: list[Solution] = []
    for query in experiment.solutions:
        try:
            found += solutions.find(query, problem, root)
        except UsageError as error:
            if query == experiment.baseline == "eager":
                continue  # the problem's own Model stands in for it
            missing.append((query, problem.name, error))
    return found


def _baseline(
    name: str, problem: Problem, root: Path, own: tuple[Solution, ...]
) -> Solution | None:
    if name == "eager" and name not in {one.name for one in own}:
        return None
    found = solutions.find(name, problem, root, where="baseline")
    if len(found) != 1:
        raise UsageError(
            "baseline", found=f"{name!r}, {len(found)} solutions", wanted="one solution"
        )
    return found[0]


def _same(one: Solution, other: Solution) -> bool:
    return one.digest == other.digest and one.name == other.name
