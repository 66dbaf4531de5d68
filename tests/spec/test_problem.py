from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import UsageError
from harness.spec import problem as problems
from harness.spec.problem import BadProblem, Problem, SourceText
from harness.spec.tensor import TensorSpec

REPOSITORY = Path(__file__).parents[2]


def one(query, root) -> Problem:
    (found,) = problems.find(query, root)
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize(
    "query",
    [
        "7_mixing",
        "7_mixing.py",
        "mixing",
        "1/7",
        "7",
        "level1/7",
        "level1/7_mixing",
        "kernelbench/level1/7",
        "problems/level1/7_mixing.py",
    ],
)
def test_a_problem_answers_to_its_name_number_and_file(root, query):
    found = one(query, root)
    assert (found.id, found.name, found.level, found.number) == (
        "kernelbench/level1/7",
        "7_mixing",
        1,
        7,
    )


def test_a_file_anywhere_is_a_problem_and_its_identity_says_so(root, tmp_path_factory):
    path = tmp_path_factory.mktemp("away") / "9_mine.py"
    path.write_text((root / "problems" / "mine.py").read_text())
    found = one(str(path), root)
    assert (found.id, found.level, found.number) == ("file/9_mine", None, 9)


def test_kernelbenchs_own_file_has_the_identity_of_ours(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("KernelBench") / "level1"
    folder.mkdir()
    (folder / "7_mixing.py").write_text("class Model: pass")
    assert one(str(folder / "7_mixing.py"), root).id == "kernelbench/level1/7"


def test_the_digest_is_of_the_sources_bytes(root):
    raw = (root / "problems/level1/7_mixing.py").read_bytes()
    assert one("7", root).reference_digest == "sha256:" + hashlib.sha256(raw).hexdigest()


def test_a_folder_gives_all_in_the_order_of_their_numbers(root):
    found = problems.find(str(root / "problems"), root)
    assert [problem.name for problem in found] == ["7_mixing", "12_other", "mine"]
    assert problems.find("level1", root) == found[:2]
    assert problems.everything(root) == found


BAD = {
    "unreadable": (b"\xff", "byte 0; wanted a readable file in UTF-8"),
    "syntax_error": (b"class Model\n", "line 1: expected ':'; wanted Python that parses"),
    "no_model": (b"class Modell: pass\n", "no Model; wanted a class Model in KernelBench's"),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_file_is_a_value_in_a_folder_and_an_error_by_name(root, reason):
    content, said = BAD[reason]
    path = root / "problems/level1/30_bad.py"
    path.write_bytes(content)
    bad = problems.everything(root)[2]
    assert isinstance(bad, BadProblem)
    assert (bad.reason, bad.name, bad.level, bad.number) == (reason, "30_bad", 1, 30)
    assert bad.id == "kernelbench/level1/30"
    assert bad.reference_digest.startswith("sha256:")
    with pytest.raises(UsageError) as refused:
        problems.find("1/30", root)
    assert str(refused.value).startswith(f"problems/level1/30_bad.py: found {said}")


@pytest.mark.parametrize("source", ["class Model" + "(" * 500, "x = \x00", "-" * 200_000 + "1"])
def test_no_file_however_odd_breaks_the_listing(root, source):
    (root / "problems/level1/30_bad.py").write_text(source)
    assert [problem.name for problem in problems.everything(root)][2] == "30_bad"


def test_a_bad_sidecar_makes_a_bad_problem_that_says_where(root):
    path = root / "problems/level1/7_mixing.yaml"
    path.write_text("titel: Mixing\n")
    bad = problems.everything(root)[0]
    assert isinstance(bad, BadProblem)
    assert bad.reason == "bad_sidecar"
    with pytest.raises(UsageError) as refused:
        problems.find("7", root)
    assert str(refused.value).startswith(
        "problems/level1/7_mixing.yaml: titel: found an unknown key; did you mean 'title'?"
    )


def test_a_missing_folder_of_problems_is_an_empty_listing(tmp_path):
    assert problems.everything(tmp_path) == ()


@pytest.mark.parametrize(
    "source",
    ["if True:\n    class Model: pass", "from elsewhere import Thing as Model", "Model = make()"],
)
def test_a_model_may_be_defined_in_any_way(root, source):
    (root / "problems/level1/30_odd.py").write_text(source)
    assert one("30", root).name == "30_odd"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("mixin", "found 'mixin'; wanted a problem's name, its number such as 1/87, a file or a "),
        ("mixin", "did you mean '7_mixing'?"),
        ("1/8", "did you mean '1/7'?"),
        ("", "found ''"),
        ("nope/nope.py", "found 'nope/nope.py'"),
        ("x" * 5000, "found 'xxx"),
        ("a\x00b", "found 'a\\x00b'"),
        ("~nobody-here/x", "found '~nobody-here/x'"),
        ("configs", "found the folder configs without a Python file; wanted a folder of problems"),
    ],
)
def test_an_unknown_problem_is_one_line_with_the_nearest_name(root, query, said):
    with pytest.raises(UsageError) as refused:
        problems.find(query, root)
    line = str(refused.value)
    assert line.startswith("--problem: found ")
    assert said in line
    assert "\n" not in line


def test_a_name_that_fits_two_problems_is_refused_with_both(root):
    other = root / "problems/level2"
    other.mkdir()
    (other / "7_pooling.py").write_text("class Model: pass")
    with pytest.raises(UsageError, match="'7', which fits 2 problems; wanted 1/7 or 2/7"):
        problems.find("7", root)


# --- sizes -----------------------------------------------------------------------------------


def test_full_is_the_module_as_it_stands(root):
    found = one("7", root)
    sized = problems.resize(found, "full", {})
    assert sized.source == found.source
    assert dict(sized.axes) == {
        "batch": 4,
        "channels": 16,
        "height": 64,
        "width": 64,
        "shape": [4, 16, 64, 64],
    }
    assert sized.init == {}


def test_a_size_sets_axes_what_derives_from_them_and_constructor_arguments(root):
    sized = problems.resize(one("7", root), "smoke", {})
    assert (sized.size, sized.axes["height"], sized.axes["width"]) == ("smoke", 8, 64)
    assert sized.axes["shape"] == [4, 16, 8, 64]
    assert sized.init == {"bias": True}


def test_an_override_beats_the_size_and_keeps_its_name(root):
    sized = problems.resize(one("7", root), "smoke", {"height": 32, "batch": 1})
    assert (sized.size, sized.axes["shape"]) == ("smoke", [1, 16, 32, 64])


def test_the_rewritten_module_makes_inputs_of_the_asked_shape(root):
    import torch

    sized = problems.resize(one("7", root), "smoke", {"channels": 3, "width": 5})
    namespace = {"__name__": "problem"}
    exec(sized.source, namespace)
    (x,) = namespace["get_inputs"]()
    model = namespace["Model"](*namespace["get_init_inputs"](), **sized.init)
    assert tuple(x.shape) == (4, 3, 8, 5)
    assert tuple(model(x).shape) == (4, 3, 8, 5)
    assert isinstance(model.mix.bias, torch.Tensor)


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_any_positive_length_can_be_set(height, width):
    found = one("87", REPOSITORY)
    axes = problems.resize(found, "full", {"height": height, "width": width}).axes
    assert (axes["height"], axes["width"], axes["batch_size"]) == (height, width, 16)


def test_values_equal_to_the_declared_leave_the_source_alone(root):
    found = one("7", root)
    assert problems.resize(found, "full", {"height": 64}).source == found.source


def test_an_unknown_size_names_those_that_exist(root):
    with pytest.raises(UsageError) as refused:
        problems.resize(one("7", root), "smok", {})
    assert str(refused.value) == (
        "--size: found 'smok'; wanted a size of 7_mixing; did you mean 'smoke'? valid: full, smoke"
    )


def test_an_unknown_axis_names_those_that_exist(root):
    with pytest.raises(UsageError) as refused:
        problems.resize(one("7", root), "full", {"heigth": 4})
    assert str(refused.value) == (
        "--set: heigth: found an unknown axis; did you mean 'height'? "
        "valid: batch, channels, height, width, shape"
    )


@pytest.mark.parametrize(
    ("sidecar", "said"),
    [
        ("axes: {heigth: 4}", "sizes.small.axes: heigth: found an unknown axis; did you mean"),
        ("axes: {height: 0}", "sizes.small.axes: height: found 0; wanted a whole number of at"),
        ("init: {bais: true}", "sizes.small.init: bais: found no argument of Model's constructor"),
    ],
)
def test_a_size_that_does_not_fit_the_module_is_the_sidecars_fault(root, sidecar, said):
    path = root / "problems/level1/7_mixing.yaml"
    path.write_text(f"sizes: {{small: {{{sidecar}}}}}")
    with pytest.raises(UsageError) as refused:
        problems.resize(one("7", root), "small", {})
    assert str(refused.value).startswith(f"{path}: {said}")


@pytest.mark.parametrize("assigned", ["for n in range(3): pass", "with lock() as n: pass"])
def test_an_axis_that_no_assignment_sets_last_is_never_set_silently(root, assigned):
    path = root / "problems/level1/30_odd.py"
    path.write_text(f"class Model: pass\nn = 1\n{assigned}\n")
    found = one("30", root)
    assert "n" not in problems.resize(found, "full", {}).axes
    with pytest.raises(UsageError) as refused:
        problems.resize(found, "full", {"n": 9})
    assert str(refused.value) == (
        "--set: n: found 9, which does not reach it; wanted an axis that 30_odd.py assigns plainly"
    )


def test_a_value_that_only_running_tells_can_be_set_and_is_then_known(root):
    path = root / "problems/level1/30_odd.py"
    path.write_text("class Model: pass\nn = config().size\nm = n * 2\n")
    found = one("30", root)
    assert problems.axes(found.source)["n"] == SourceText("config().size")
    assert problems.resize(found, "full", {"n": 9}).axes == {"n": 9, "m": 18}


def test_declared_tensors_follow_the_axes(root):
    declared = problems.declared_tensors(problems.resize(one("7", root), "smoke", {"width": 5}))
    assert declared is not None
    assert declared.inputs == (TensorSpec("x", (4, 16, 8, 4), "float32"),)
    assert declared.outputs == (TensorSpec("y", (4, 16, 8, 5), "float32"),)
    assert declared.generators == ("rand",)
    assert problems.declared_tensors(problems.resize(one("12_other", root), "full", {})) is None


def test_a_declared_shape_that_names_no_axis_is_refused(root):
    path = root / "problems/level1/7_mixing.yaml"
    path.write_text("tensors: {inputs: [{name: x, dtype: float32, shape: [depth]}]}")
    with pytest.raises(UsageError, match=r"tensors\.x: shape: found 'depth'; wanted an expression"):
        problems.declared_tensors(problems.resize(one("7", root), "full", {}))


@pytest.mark.parametrize("problem", problems.everything(REPOSITORY), ids=lambda found: found.name)
def test_every_problem_here_is_sound_and_has_a_small_size(problem):
    assert isinstance(problem, Problem)
    smoke = problems.declared_tensors(problems.resize(problem, "smoke", {}))
    assert smoke is not None
    assert sum(tensor.nbytes for tensor in smoke.inputs) < 2**23
