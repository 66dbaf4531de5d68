from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.faults import UsageError
from harness.spec import problem as problems
from harness.spec import solution as solutions
from harness.spec.problem import Problem

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def mixing(root) -> Problem:
    (found,) = problems.find("1/7", root)
    assert isinstance(found, Problem)
    return found


def test_solutions_of_a_problem_are_named_by_their_path_below_its_folder(root, mixing):
    found = solutions.of_problem(mixing, root)
    assert [solution.name for solution in found] == ["eager", "tuned/wide"]
    (other,) = problems.find("12_other", root)
    assert solutions.of_problem(other, root) == ()


@pytest.mark.parametrize("query", ["eager", "tuned/wide"])
def test_a_name_finds_one_of_the_problems_solutions(root, mixing, query):
    (found,) = solutions.find(query, mixing, root)
    assert found.name == query
    assert found.path is not None
    assert found.digest == "sha256:" + hashlib.sha256(found.path.read_bytes()).hexdigest()


def test_a_file_is_named_by_its_stem_and_a_folders_files_by_their_paths(
    root, mixing, tmp_path_factory
):
    away = tmp_path_factory.mktemp("away")
    (away / "sub").mkdir()
    (away / "mine.py").write_text("import triton\n")
    (away / "sub" / "mine.py").write_text("import torch\n")
    assert [s.name for s in solutions.find(str(away / "sub/mine.py"), mixing, root)] == ["mine"]
    assert [s.name for s in solutions.find(str(away), mixing, root)] == ["mine", "sub/mine"]


def test_a_copy_of_a_problem_elsewhere_still_has_the_repositorys_solutions(
    root, mixing, tmp_path_factory
):
    copy = tmp_path_factory.mktemp("away") / "7_mixing.py"
    copy.write_text(mixing.source)
    (found,) = problems.find(str(copy), root)
    assert [s.name for s in solutions.of_problem(found, root)] == ["eager", "tuned/wide"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("eagre", "found 'eagre'; wanted a solution of 7_mixing, a file or a folder; did you mean"),
        ("nope.py", "valid: eager, tuned/wide"),
        ("", "found ''"),
        ("configs", "found the folder configs without a Python file"),
    ],
)
def test_an_unknown_solution_is_one_line_with_the_nearest_name(root, mixing, query, said):
    with pytest.raises(UsageError) as refused:
        solutions.find(query, mixing, root)
    assert str(refused.value).startswith("--solution: ")
    assert said in str(refused.value)


METADATA = (
    "backend: other\nlicense: MIT\nauthor: me\nsource_url: https://x\nclaims: {class: fp32}\n"
)


def test_metadata_beside_the_file_is_read_and_beats_the_text(root, mixing):
    (root / "solutions/level1/7_mixing/eager.yaml").write_text(METADATA)
    (found,) = solutions.find("eager", mixing, root)
    assert (found.backend, found.license, found.author) == ("other", "MIT", "me")
    assert (found.source_url, found.claims) == ("https://x", {"class": "fp32"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "backend: tritn",
            "backend: found 'tritn'; wanted 'eager', 'inductor', 'triton', 'cuda' or",
        ),
        ("backend: tritn", "did you mean 'triton'?"),
        ("licence: MIT", "licence: found an unknown key; did you mean 'license'?"),
        ("[]", "found a list; wanted a mapping"),
    ],
)
def test_bad_metadata_is_one_line(root, mixing, text, said):
    (root / "solutions/level1/7_mixing/eager.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        solutions.find("eager", mixing, root)
    assert str(refused.value).startswith("solutions/level1/7_mixing/eager.yaml: ")
    assert said in str(refused.value)


BACKENDS = {
    "import torch\nimport triton\nimport triton.language as tl": "triton",
    "def build():\n    from triton import jit": "triton",
    "import torch\nCUDA_SOURCE = 'extern'": "cuda",
    "from torch.utils.cpp_extension import load_inline": "cuda",
    "import torch.utils.cpp_extension as x\nx.load_inline()": "cuda",
    "import torch\nf = torch.compile(g)": "inductor",
    "from torch import compile\nf = compile(g)": "inductor",
    "import torch\nimport re\nre.compile('x')": "eager",
    "import torch\nfrom torch import nn\nimport math\nfrom __future__ import annotations": "eager",
    "import torch  # triton, CUDA_SOURCE and torch.compile are only words here": "eager",
    "'''load_inline'''\nimport torch": "eager",
    "import torch\nimport tilelang": "other",
    "x = 1": "other",
    "class": "other",
}


@pytest.mark.parametrize(("source", "backend"), BACKENDS.items())
def test_the_backend_is_told_from_the_syntax_tree_not_from_words(source, backend):
    assert solutions.backend_of(source) == backend


EMPTY = {
    "": True,
    "\n\n": True,
    "None": True,
    "'None'": True,
    "# nothing\n# yet\n": True,
    '"""Only words."""': True,
    "x = 1": False,
    "class": False,
    "pass": False,
}


@pytest.mark.parametrize(("source", "empty"), EMPTY.items())
def test_a_file_that_says_nothing_is_empty_and_one_that_does_not_parse_is_not(
    root, mixing, source, empty
):
    (root / "solutions/level1/7_mixing/eager.py").write_text(source)
    (found,) = solutions.find("eager", mixing, root)
    assert found.empty is empty


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"# caf\xe9\n", b"x = \x00", b"(" * 10_000])
def test_a_hostile_file_is_a_solution_all_the_same(root, mixing, content):
    (root / "solutions/level1/7_mixing/eager.py").write_bytes(content)
    (found,) = solutions.find("eager", mixing, root)
    assert found.digest == "sha256:" + hashlib.sha256(content).hexdigest()
    found.source.encode()


def test_the_reference_under_the_name_of_a_solution_runs(root, mixing):
    sized = problems.resize(mixing, "smoke", {})
    found = solutions.reference_as_solution(sized)
    assert (found.name, found.backend, found.path) == ("eager", "eager", None)
    namespace = {"__name__": "solution"}
    exec(found.source, namespace)
    assert namespace["ModelNew"] is namespace["Model"]
    assert namespace["height"] == 8
    assert found.digest != solutions.reference_as_solution(mixing).digest


def test_every_solution_here_says_what_it_is_written_in():
    for problem in problems.everything(REPOSITORY):
        for solution in solutions.of_problem(problem, REPOSITORY):
            assert solution.backend == solutions.backend_of(solution.source), solution.path
            assert not solution.empty
