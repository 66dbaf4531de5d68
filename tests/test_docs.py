"""What the documents say is what the program does: commands, outputs, links, lists and figures."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness import api, cli
from harness.floor import floor
from harness.judge import arena, evaluation, precision, schedule, workload
from harness.publish import cells
from harness.record.schema import SCHEMA, Record, Status
from harness.sandbox import limits
from harness.spec.experiment import Settings
from harness.sweep import plan
from tests.test_imports import HARNESS, LAYERS, ROOT, WORKER_MAY

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/record.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EVALUATION_S = 300  # far above what one takes here: an end for a hang, no claim about speed
BUSY = 4  # tries on a machine with neighbours, before a disagreement is taken for a defect


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def fences(name, language):
    return [body for kind, body in FENCE.findall(text_of(name)) if kind == language]


def commands():
    """Every line that a document tells to type, once."""
    found = [
        line.removeprefix("$ ")
        for name in DOCUMENTS
        for body in fences(name, "console")
        for line in body.splitlines()
        if line.startswith("$ ")
    ]
    return list(dict.fromkeys(found))


def example(file):
    """The Python that the README shows under a file's name."""
    [found] = [one for one in fences("README.md", "python") if one.startswith(f"# {file}\n")]
    return found


def blocks_script():
    path = ROOT / "scripts" / "docs_blocks.py"
    spec = importlib.util.spec_from_file_location("docs_blocks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- commands ------------------------------------------------------------------------------------


@contextmanager
def planned(experiment, *, root, **_):
    """Everything that `run` looks up before it opens a device, and nothing after."""
    made = plan.make(experiment, root, on_gpu=experiment.device != "cpu")
    assert made.count
    yield SimpleNamespace(folder=SimpleNamespace(path=root), records=iter(()), notes=())


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_documents_is_accepted(command, tmp_path, monkeypatch, capsys):
    program, *arguments = shlex.split(command)
    if program == "make":
        target, *variables = arguments
        assert re.search(rf"^{target}:", text_of("Makefile"), re.MULTILINE)
        assert all(re.fullmatch(r"[A-Z]+=\S+", one) for one in variables)
        return
    assert (program, arguments[0]) == ("python", "run_eval.py"), "the documents use no other"
    (tmp_path / "my_softmax.py").write_text(example("my_softmax.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "run", planned)
    assert cli.main(arguments[1:]) == cli.OK, capsys.readouterr().err


@pytest.mark.parametrize("name", blocks_script().DOCUMENTS)
def test_generated_blocks_are_what_the_script_generates(name):
    """Outputs of quick commands and every table of figures."""
    assert text_of(name) == blocks_script().filled(text_of(name)), "`make docs` fills them"


def test_every_document_with_a_generated_block_is_known_to_the_script():
    written = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    marked = {path for path in written if "<!-- generated:" in path.read_text(encoding="utf-8")}
    assert marked <= {ROOT / name for name in blocks_script().DOCUMENTS}


# -- examples ------------------------------------------------------------------------------------


def run(arguments, folder):
    """A command of ours in a folder of its own; stdout."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=EVALUATION_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def records_of(arguments, folder):
    """The records of a run on a CPU; again where a busy neighbour made its clocks disagree."""
    command = [str(ROOT / "run_eval.py"), *arguments, "--json", "--out", str(folder / "results")]
    for _ in range(BUSY):
        records = [json.loads(line) for line in run(command, folder).splitlines()]
        if all(one["verdict"]["reason"] != "clocks_disagree" for one in records):
            break
    return records


def test_the_readmes_solution_has_six_lines_and_passes_on_a_cpu(tmp_path):
    source = example("my_softmax.py")
    lines = [one for one in source.splitlines()[1:] if one]
    assert len(lines) == 6
    (tmp_path / "my_softmax.py").write_text(source)
    [command] = [one for one in commands() if "my_softmax.py" in one]
    arguments = shlex.split(command)[2:]
    records = records_of([*arguments, "--trials", "10"], tmp_path)
    assert [one["solution"]["name"] for one in records] == ["eager", "my_softmax"]
    assert [one["verdict"]["status"] for one in records] == ["passed", "passed"]


def test_the_readmes_loop_prints_a_verdict(tmp_path):
    (tmp_path / "my_softmax.py").write_text(example("my_softmax.py"))
    (tmp_path / "loop.py").write_text(example("loop.py"))
    for _ in range(BUSY):
        printed = run(["loop.py"], tmp_path).split()
        if "clocks_disagree" not in printed:
            break
    assert printed == ["passed", "None"]


@pytest.mark.skipif(
    shutil.which("c++") is None or " " in sys.prefix,
    reason="torch.compile needs a C++ compiler and a path without spaces on a CPU",
)
def test_problem_87_on_a_cpu_ends_as_the_readme_says(tmp_path):
    arguments = ["run", "--device", "cpu", "--size", "smoke", "--trials", "5"]
    records = records_of(arguments, tmp_path)
    said = {
        "eager": ("passed", "device"),
        "inductor": ("passed", "device"),
        "triton_tf32": ("passed", "interpreter"),
        "cuda_tf32": ("unavailable", None),
    }
    found = {
        one["solution"]["name"]: (one["verdict"]["status"], (one["timing"] or {}).get("engine"))
        for one in records
    }
    assert found == said


def test_the_sidecar_in_the_readme_is_the_file():
    [shown] = fences("README.md", "yaml")
    name, _, body = shown.partition("\n")
    assert body == text_of(name.removeprefix("# "))


# -- links and lists -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_to_files_resolve(name):
    for target in re.findall(r"\]\(([^)#]+)\)", text_of(name)):
        if not target.startswith("https://"):
            assert (ROOT / name).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_named_in_the_text_exist(name):
    """Inside `code`, what looks like a file of ours; placeholders and generated names aside."""
    bases = [ROOT, HARNESS]
    tops = {path.name for base in bases for path in base.iterdir()}
    for code in re.findall(r"`([\w./-]+/[\w./-]+)`", text_of(name)):
        if code.split("/")[0] in tops - {"results"}:
            assert any((base / code).exists() for base in bases), code


def test_every_line_of_a_config_has_its_reason():
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                assert re.search(r"\s# \S", line), f"{path.name}: {line}"


def test_the_default_config_has_every_key_that_a_run_has():
    written = {line.split(":")[0] for line in text_of("configs/default.yaml").splitlines()}
    keys = {field.validation_alias or name for name, field in Settings.model_fields.items()}
    assert keys - written == {"set", "address", "accelerator_type"}


def names(section):
    """The first cell's code words of every table row in a part of a document."""
    rows = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_the_record_page_names_every_key_and_every_status():
    layout, _, rest = text_of("docs/record.md").partition("## Statuses")
    statuses, _, history = rest.partition("## History")
    keys = [field.serialization_alias or name for name, field in Record.model_fields.items()]
    assert sorted(names(layout)) == sorted(keys)
    assert names(statuses) == [str(status) for status in Status]
    assert re.findall(r"^\* (\d+), ", history, re.MULTILINE) == [
        str(number + 1) for number in range(SCHEMA)
    ]


def test_the_readme_explains_every_column_of_its_tables():
    reading = text_of("README.md").partition("## How to read it")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| ([^|]+?) \|", reading, re.MULTILINE)
    plain = {"#", "solution", "backend", "trials"}
    for heading in {*cells.BOARD_HEADINGS, *cells.RUN_HEADINGS} - plain:
        assert heading in explained


def test_the_reasons_that_the_readme_names_are_the_codes_own():
    table = text_of("README.md").partition("| detected |")[2].partition("\n\n")[0]
    verdicts = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ")]
    named = {name for cell in verdicts for name in re.findall(r"`([a-z_]+)`", cell)}
    code = "".join(path.read_text(encoding="utf-8") for path in HARNESS.glob("judge/*.py"))
    assert named & set(Status)
    for name in named - set(Status):
        assert f'"{name}"' in code, name


def required():
    lines = (text_of("requirements.txt") + text_of("requirements-test.txt")).splitlines()
    return {re.split(r"[<>=]", line)[0] for line in lines if line and not line.startswith("#")}


def test_every_dependency_has_its_reason_in_the_readme():
    table = text_of("README.md").partition("Each dependency")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w, -]+) \|", table, re.MULTILINE)
    explained = {name.strip() for row in rows for name in row.split(",")} - {"package"}
    assert explained == required() | {"cuda-bindings"}


def test_layers_in_contributing_are_the_tests_own():
    contributing = text_of("CONTRIBUTING.md")
    drawn = contributing.partition("## Layers")[2].partition("```\n")[2].partition("```")[0]
    there = {path.name.removesuffix(".py") for path in HARNESS.iterdir()}
    wanted = [
        [name for name in layer if name in there] for layer in LAYERS if layer != ("run_eval",)
    ]
    assert [line.split() for line in drawn.strip().splitlines()] == wanted
    for name in WORKER_MAY - {"worker"}:
        assert f"`{name}`" in contributing


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without git")
def test_the_folder_drawing_has_everything_and_nothing_else():
    drawn = text_of("CONTRIBUTING.md").partition("## Folders")[2].partition("```\n")[2]
    lines = drawn.partition("```")[0].splitlines()
    top = {line.split()[0] for line in lines if not line.startswith(" ")}
    inside = {line.split()[0] for line in lines if line.startswith("  ")}
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    folders = {f"{path.split('/')[0]}/" for path in tracked if "/" in path}
    assert top - {"results/"} == (folders - {".ci/", "results/"}) | {"run_eval.py"}
    kept = [path for path in tracked if path.startswith("harness/")]
    assert inside == {
        parts[1] + ("/" if len(parts) > 2 else "")
        for path in kept
        if (parts := path.split("/"))[1] != "__init__.py"
    }


def test_security_counts_the_walls_that_do_not_stand():
    stand = list(limits.layers().values())
    assert stand[-4:] == [False] * 4, "SECURITY.md says that the last four are not enforced"
    assert all(stand[:-4])


# -- figures -------------------------------------------------------------------------------------

FIGURES = {
    f"in blocks of {schedule.BLOCK}.": schedule.BLOCK,
    f"A secret {schedule.DECIDING_SHARE * 100:.0f} % of the blocks": schedule.DECIDING_SHARE,
    f"(at most {evaluation.SPIN_MAX_MS:.0f} ms)": evaluation.SPIN_MAX_MS,
    f"Before that {evaluation.WARMUP} warm-up calls": evaluation.WARMUP,
    f"reads {arena.PROBES} elements": arena.PROBES,
    f"the budget is {precision.MARGIN['tf32']:.0f} ×": precision.MARGIN["tf32"],
    f"for fp32, {precision.MARGIN['fp32']:.0f} ×": precision.MARGIN["fp32"],
    f"({(1 - floor.IMPOSSIBLE) * 100:.0f} % slack": floor.IMPOSSIBLE,
    f"{Settings().trials} timed calls by default": Settings().trials,
    f"and {Settings().checks} checks on values": Settings().checks,
}


@pytest.mark.parametrize("said", FIGURES)
def test_a_figure_in_the_readme_is_the_constant_in_the_code(said):
    assert said in text_of("README.md")


def test_words_for_numbers_in_the_readme_are_the_constants():
    readme = text_of("README.md")
    assert evaluation.SPIN_FACTOR == 2
    assert "a spin of twice the host time" in readme
    assert arena.FLUSHES == 2
    assert "a buffer of twice the L2" in readme
    assert workload.ADDRESS_SETS == 2
    assert "two address sets" in readme
    assert len(Status) == 14
    assert "one of thirteen other words" in readme


def test_the_pinned_versions_that_the_readme_names_are_the_pins():
    pins = text_of("constraints.txt")
    torch, triton = re.search(r"torch ([\d.]+) and triton ([\d.]+);", text_of("README.md")).groups()
    assert f"\ntorch=={torch}\n" in pins
    assert f"\ntriton=={triton}\n" in pins


def test_the_python_that_the_documents_want_is_the_projects():
    [wanted] = re.findall(r'requires-python = ">=([\d.]+)"', text_of("pyproject.toml"))
    assert f"Python {wanted} or later" in text_of("README.md")
    assert f"sys.version_info < ({wanted.replace('.', ', ')})" in text_of("Makefile")
