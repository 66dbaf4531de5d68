"""What a run is to evaluate: the baseline first, each thing once, nothing silently left out."""

import pytest

from harness.faults import UsageError
from harness.spec.experiment import Experiment
from harness.spec.problem import BadProblem
from harness.sweep import plan

MINE = "import torch\nclass ModelNew: pass\n# mine\n"


def made(root, *, on_gpu=False, **changes):
    return plan.make(Experiment(**changes), root, on_gpu=on_gpu)


def names(group):
    baseline = "Model" if group.named_baseline is None else group.named_baseline.name
    return [baseline, *(one.name for one in group.others)]


def test_the_baseline_comes_first_and_once(root):
    (group,) = made(root, problems=("1/7",), solutions=("fast", "eager", "fast")).groups
    assert names(group) == ["eager", "fast"]
    assert group.count == 2


def test_a_problem_without_eager_is_held_against_its_own_model(root):
    (group,) = made(root, problems=("1/8",), solutions=("eager", "fast")).groups
    assert names(group) == ["Model", "fast"]
    (sized,) = group.sized
    assert group.baseline(sized).source.endswith("ModelNew = Model\n")
    assert group.baseline(sized).name == "eager"


def test_another_problem_than_87_gives_all_its_solutions_where_nobody_chose(root):
    (group,) = made(root, problems=("1/7",), solutions_explicit=False).groups
    assert names(group) == ["eager", "fast"]


def test_a_solution_that_one_of_several_problems_lacks_is_left_out_and_said(root):
    asked = {"problems": ("1/7", "1/8"), "solutions": ("fast", "eager")}
    found = made(root, **asked)
    assert [names(group) for group in found.groups] == [["eager", "fast"], ["Model", "fast"]]
    assert found.notes == ()
    (root / "solutions" / "level1" / "7_mixing" / "fast.py").unlink()
    found = made(root, **asked)
    assert [names(group) for group in found.groups] == [["eager"], ["Model", "fast"]]
    (note,) = found.notes
    assert note.startswith("7_mixing: left out here: --solution: found 'fast'; wanted a solution")


def test_a_solution_that_every_problem_lacks_is_a_usage_error(root):
    with pytest.raises(UsageError, match="found 'slow'; wanted a solution of 7_mixing"):
        made(root, problems=("1/7", "1/8"), solutions=("slow",))


def test_a_bad_file_of_a_folder_is_one_evaluation_and_asks_for_no_solution(root, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    found = made(root, problems=(str(root / "problems"),), solutions=(str(tmp_path / "mine.py"),))
    assert [isinstance(group.problem, BadProblem) for group in found.groups] == [
        False,
        False,
        True,
    ]
    assert found.count == 2 + 2 + 1


def test_a_problem_is_planned_once_however_often_it_is_named(root):
    folder = root / "problems"
    asked = ("1/7", "7_mixing", str(folder / "level1" / "7_mixing.py"), str(folder))
    found = made(root, problems=asked, solutions=("fast",))
    assert [group.problem.name for group in found.groups] == ["7_mixing", "8_other", "9_broken"]
    asked = {"sizes": ("smoke", "full", "smoke"), "solutions": ("fast",)}
    assert len(made(root, problems=("1/7",), **asked).groups) == 2


@pytest.mark.parametrize(
    ("on_gpu", "sizes"), [(True, ["full", "smoke"]), (False, ["smoke", "full"])]
)
def test_auto_prefers_the_full_size_on_a_gpu_and_the_small_one_on_a_cpu(root, on_gpu, sizes):
    (group,) = made(root, problems=("1/7",), on_gpu=on_gpu, solutions=("fast",)).groups
    assert [sized.size for sized in group.sized] == sizes
    (group,) = made(root, problems=("1/8",), on_gpu=on_gpu, solutions=("fast",)).groups
    assert [sized.size for sized in group.sized] == ["full"]


def test_axes_reach_every_size(root):
    asked = {"axes": {"width": 4}, "solutions": ("fast",)}
    (group,) = made(root, problems=("1/7",), **asked).groups
    assert [sized.axes["width"] for sized in group.sized] == [4, 4]
    assert [sized.axes["height"] for sized in group.sized] == [8, 64]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"executor": "ray"}, "executor: found ray; wanted local"),
        ({"pairing": "abba"}, "pairing: found abba; wanted auto or off"),
        ({"isolation": "strict"}, "isolation: found strict, without"),
        ({"baseline": "slow"}, "baseline: found 'slow'; wanted a solution of 7_mixing"),
    ],
)
def test_what_cannot_be_done_here_is_refused_and_not_replaced(root, changes, wanted):
    with pytest.raises(UsageError, match=wanted):
        made(root, problems=("1/7",), solutions=("fast",), **changes)
