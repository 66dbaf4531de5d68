"""The repository's own shape: folders, pins, make targets, CI, and nothing of one machine in it."""

import ast
import os
import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.test_imports import HARNESS, ROOT

FOLDERS = ("harness", "problems", "solutions", "configs", "scripts", "tests", "docs", ".ci")
FILES = ("run_eval.py", "Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
         "LICENSE", "pyproject.toml", "requirements.txt", "requirements-test.txt",
         "constraints.txt", ".gitignore")  # fmt: skip
TARGETS = ("setup", "eval", "test", "check", "gpu-test", "clean")
# What a module is called where its package is called otherwise.
PACKAGE = {
    "yaml": "pyyaml",
    "pynvml": "nvidia-ml-py",
    "cuda": "cuda-bindings",
    "pydantic_core": "pydantic",  # of one release with it, by its own requirement
}
# Needed without being imported: torch's load_inline runs it.
RUN_BY_OTHERS = {"ninja"}
# Imported without being required: torch's CUDA wheel brings it, a CPU needs none.
BROUGHT = {"cuda-bindings"}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def requirements(name):
    lines = [line.partition("#")[0].strip() for line in text_of(name).splitlines()]
    return {one.name.lower(): one for one in map(Requirement, filter(None, lines))}


def tracked():
    """Files that are committed or would be: what git ignores is no business of the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("a copy without git: nobody knows what is committed")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_top_level_folder_is_there(name):
    assert (ROOT / name).is_dir()


@pytest.mark.parametrize("name", FILES)
def test_a_top_level_file_is_there_and_says_something(name):
    assert text_of(name).strip()


def test_nothing_else_lies_at_the_top():
    top = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert top <= {*FOLDERS, *FILES, "results"}


def test_of_results_only_the_published_records_are_committed():
    kept = [path for path in tracked() if path.relative_to(ROOT).parts[0] == "results"]
    assert all(path.relative_to(ROOT).parts[1] == "published" for path in kept)


# -- pins ----------------------------------------------------------------------------------------


def test_every_pin_is_one_exact_version_without_a_build():
    for pin in requirements("constraints.txt").values():
        [only] = pin.specifier
        assert only.operator == "=="
        assert Version(only.version).local is None, f"{pin}: a +cpu would keep the CUDA build out"
        assert pin.url is None


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-test.txt"])
def test_every_requirement_is_pinned_within_its_bounds(name):
    pins = requirements("constraints.txt")
    for package, wanted in requirements(name).items():
        [pin] = pins[package].specifier
        assert wanted.specifier.contains(pin.version), f"{wanted} and {package}=={pin.version}"


def test_torch_and_triton_are_pinned_as_one_release():
    pins = requirements("constraints.txt")
    assert (str(pins["torch"].specifier), str(pins["triton"].specifier)) == ("==2.13.0", "==3.7.1")


def test_what_the_harness_imports_is_required_and_the_other_way_round():
    files = [*HARNESS.rglob("*.py"), ROOT / "run_eval.py"]
    modules = {
        name.split(".")[0]
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    others = modules - set(sys.stdlib_module_names) - {"harness"}
    imported = {PACKAGE.get(name, name) for name in others}
    assert imported - BROUGHT == set(requirements("requirements.txt")) - RUN_BY_OTHERS


def test_the_project_reads_the_same_requirements():
    project = tomllib.loads(text_of("pyproject.toml"))
    dynamic = project["tool"]["setuptools"]["dynamic"]["dependencies"]["file"]
    assert dynamic == ["requirements.txt"]


# -- make and CI ---------------------------------------------------------------------------------


def dry(*arguments):
    """What make would do, without doing it, whatever make runs these tests themselves."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    clean.pop("MFLAGS", None)
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", *arguments],
        cwd=ROOT, env=clean, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_exists(target):
    assert dry(target)


@pytest.mark.parametrize("target", ["eval", "test", "check"])
def test_a_target_that_needs_packages_sets_up_first(target):
    lines = dry(target).splitlines()
    pip = next(number for number, line in enumerate(lines) if "pip install" in line)
    own = next(n for n, line in enumerate(lines) if re.search(r"run_eval.py|pytest|ruff", line))
    assert pip < own


def test_make_eval_is_the_main_job_with_its_defaults():
    assert dry("eval").splitlines()[-1] == ".venv/bin/python run_eval.py"


def test_setup_takes_the_pins_and_names_no_index():
    [line] = [one for one in dry("setup").splitlines() if "pip install" in one]
    assert "-r requirements.txt -r requirements-test.txt -c constraints.txt" in line
    assert not re.search(r"index|find-links|--pre", line)


def test_setup_is_done_when_it_is_newer_than_the_pins(tmp_path):
    """In a copy: `make setup` there finds nothing to do, and after a change of the pins it does."""
    for name in ("Makefile", "requirements.txt", "requirements-test.txt", "constraints.txt"):
        (tmp_path / name).write_text(text_of(name))
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ready").touch()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def left_to_do():
        done = subprocess.run(
            ["make", "--question", "setup"], cwd=tmp_path, env=clean, capture_output=True
        )
        return bool(done.returncode)

    assert not left_to_do()
    os.utime(tmp_path / "constraints.txt", (2**31, 2**31))
    assert left_to_do()


def test_gpu_tests_run_with_the_python_that_is_named():
    assert dry("gpu-test", "PYTHON=/opt/other/python3").startswith("/opt/other/python3 -m pytest")


def test_ci_calls_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert re.search(r"^exec make test$", text_of(".ci/run"), re.MULTILINE)
    subprocess.run(["bash", "-n", script], check=True)


# -- nothing of one machine ----------------------------------------------------------------------

# Spelled apart, so that this file may be searched too.
HOSTS = ("pypi" + ".org", "files.python" + "hosted", "download." + "pytorch", "npm" + "js.org",
         "anaconda" + ".org", "deb." + "debian")  # fmt: skip
PLACES = re.compile(r"(?<![\w.<])/(?:work|home|root|Users|mnt|scratch|data)/\w")


def test_no_committed_file_names_a_machine_or_a_registry():
    found = {}
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace")
        said = [host for host in (*HOSTS, str(ROOT)) if host in text] + PLACES.findall(text)
        if said:
            found[str(path.relative_to(ROOT))] = said
    assert not found


def test_every_committed_script_can_be_run():
    for path in tracked():
        first = path.read_bytes()[:2]
        if first == b"#!" and path.suffix in ("", ".sh") and "results" not in path.parts:
            assert os.access(path, os.X_OK), path
