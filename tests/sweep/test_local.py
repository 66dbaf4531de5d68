"""A lane on a judge's twin: the order, the store before the record, what a resumed run skips."""

import pytest

from harness.judge.events import EvaluationDone, EvaluationStarted, Note
from harness.record.schema import Phase, Status
from harness.spec.experiment import Experiment
from harness.sweep import plan
from harness.sweep.local import Lane
from harness.sweep.resume import Done
from tests.record import examples


class Twin:
    """What a lane asks of a session; `ends` says how an evaluation ends, by its solution."""

    protocol_digest = examples.DIGEST

    def __init__(self, ends=()):
        self.ends, self.asked = dict(ends), []

    def fitting(self, preferred):
        return preferred[0]

    def evaluate(self, sized, solution, baseline, *, is_baseline=False):
        self.asked.append((sized.problem.name, solution.name, baseline and baseline.id))
        return recorded(sized.problem, solution, self.ends.get(solution.name), sized)

    def bad_problem(self, bad, solution):
        self.asked.append((bad.name, solution.name, None))
        return recorded(bad, solution, Status.INVALID_REFERENCE)


def recorded(problem, solution, status=None, sized=None):
    changes = {"reference_digest": problem.reference_digest, "number": problem.number}
    if sized is not None:
        changes |= {"size": sized.size, "axes": dict(sized.axes), "init": dict(sized.init)}
    ended = {}
    if status is not None:
        ended = {"verdict": examples.failed(status, "because", phase=Phase.LOAD), "timing": None}
    return examples.record(
        problem=examples.problem(name=problem.name, **changes),
        solution=examples.solution(solution.name, digest=solution.digest),
        **ended,
    )


@pytest.fixture
def lane(root):
    """Makes a lane; what happens goes to its `seen` in order."""

    def make(*earlier, ends=(), problems=(str(root / "problems"),)):
        made = plan.make(Experiment(problems=problems, solutions=("fast",)), root, on_gpu=False)
        seen, twin = [], Twin(ends)

        def store(record):
            seen.append(("stored", record.solution.name))
            return record

        lane = Lane(twin, made, store, seen.append, Done(earlier))
        return lane, twin, seen

    return make


def test_each_record_is_stored_before_it_is_given_and_before_the_next_begins(lane):
    running, _, seen = lane(problems=("1/7",))
    for record in running.run():
        seen.append(("given", record.solution.name))
    kinds = [one if isinstance(one, tuple) else type(one) for one in seen]
    assert kinds == [
        EvaluationStarted,
        ("stored", "eager"),
        EvaluationDone,
        ("given", "eager"),
        EvaluationStarted,
        ("stored", "fast"),
        EvaluationDone,
        ("given", "fast"),
    ]
    starts = [one for one in seen if isinstance(one, EvaluationStarted)]
    assert [(one.index, one.total) for one in starts] == [(1, 2), (2, 2)]


def test_every_solution_is_held_against_the_baseline_of_its_own_problem(lane):
    running, twin, _ = lane()
    records = list(running.run())
    assert twin.asked == [
        ("7_mixing", "eager", None),
        ("7_mixing", "fast", records[0].id),
        ("8_other", "eager", None),
        ("8_other", "fast", records[2].id),
        ("9_broken", "eager", None),
    ]


def test_a_problem_that_fails_leaves_out_its_solutions_says_so_and_the_run_goes_on(lane):
    running, twin, seen = lane(ends={"eager": Status.INVALID_REFERENCE})
    assert len(list(running.run())) == 3
    assert [name for _, name, _ in twin.asked] == ["eager", "eager", "eager"]
    said = [one.text for one in seen if isinstance(one, Note)]
    assert said == ["7_mixing: left out with it: fast", "8_other: left out with it: fast"]


def test_a_baseline_that_fails_does_not_keep_the_others_from_being_judged(lane):
    running, twin, _ = lane(ends={"eager": Status.RUNTIME_ERROR}, problems=("1/7",))
    list(running.run())
    assert [name for _, name, _ in twin.asked] == ["eager", "fast"]


def test_what_has_a_record_is_given_again_and_not_evaluated(lane):
    running, _, _ = lane()
    earlier = list(running.run())
    again, twin, seen = lane(*earlier)
    assert list(again.run()) == earlier
    assert twin.asked == []
    assert [one.text for one in seen if isinstance(one, Note)] == [
        f"[{index}/5] {one.solution.name}: has a record already, {one.id}"
        for index, one in enumerate(earlier, start=1)
    ]
    assert not any(isinstance(one, tuple) for one in seen)


def test_what_a_fault_of_the_harness_ended_is_evaluated_again(lane):
    running, _, _ = lane(ends={"fast": Status.HARNESS_FAULT}, problems=("1/7",))
    eager, faulty = running.run()
    again, twin, _ = lane(eager, faulty, problems=("1/7",))
    better = list(again.run())
    assert twin.asked == [("7_mixing", "fast", eager.id)]
    third, twin, _ = lane(eager, faulty, better[1], problems=("1/7",))
    assert list(third.run()) == better
    assert twin.asked == []
