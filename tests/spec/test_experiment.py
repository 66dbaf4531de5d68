from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import UsageError
from harness.spec.experiment import (
    Deadlines,
    Experiment,
    Override,
    Settings,
    assignment,
    resolve,
)
from harness.spec.strict_model import read
from harness.spec.strict_yaml import dump, load, load_mapping

REPOSITORY = Path(__file__).parents[2]


def typed(*texts):
    return [assignment(text, "-o") for text in texts]


def written(root, text):
    path = root / "configs" / "mine.yaml"
    path.write_text(text)
    return path


def test_the_default_config_holds_every_default_and_a_reason_on_every_line():
    path = REPOSITORY / "configs/default.yaml"
    found = load_mapping(path)
    optional = {"set", "address", "accelerator_type"}  # of use only where someone asks for them
    settings = Settings().model_dump(mode="json", by_alias=True)
    assert found == {key: value for key, value in settings.items() if key not in optional}


@pytest.mark.parametrize("name", ["default", "h200", "quick"])
def test_every_line_of_every_config_has_its_reason(name):
    path = REPOSITORY / f"configs/{name}.yaml"
    for line in path.read_text().splitlines():
        assert len(line.partition("#")[2].split()) >= 3, line
    assert resolve(path, [], REPOSITORY).experiment


def test_no_config_is_the_default_one():
    found = resolve(None, [], REPOSITORY)
    assert found.experiment == Experiment(solutions_explicit=False)
    assert found.origins["trials"] == "configs/default.yaml"
    assert found.origins["deadlines_s.load"] == "configs/default.yaml"
    assert found.origins["address"] == "default"


def test_the_h200_config_is_the_main_job_at_full_size():
    found = resolve(Path("configs/h200.yaml"), [], REPOSITORY).experiment
    assert (found.problems, found.device, found.sizes) == (("1/87",), "cuda", ("full",))
    assert found.solutions == ("eager", "inductor", "triton_tf32", "cuda_tf32")


def test_command_line_beats_config_beats_default(root):
    config = written(root, "trials: 50\nchecks: 3\ndeadlines_s: {load: 10}\nset: {height: 4}\n")
    options = [
        Override("trials", "7", "--trials"),
        Override("set.height", "512", "--set"),
        Override("set.width", "[1, 2]", "--set"),
        Override("deadlines_s.build", "2.5", "-o"),
    ]
    found = resolve(config, options, root)
    experiment = found.experiment
    assert (experiment.trials, experiment.checks, experiment.cache) == (7, 3, "cold")
    assert experiment.deadlines_s == Deadlines(load=10, build=2.5)
    assert experiment.axes == {"height": 512, "width": (1, 2)}
    chosen = {
        "trials": "--trials",
        "checks": "configs/mine.yaml",
        "cache": "default",
        "set.height": "--set",
        "set.width": "--set",
        "deadlines_s.load": "configs/mine.yaml",
        "deadlines_s.build": "-o",
        "deadlines_s.time": "default",
    }
    assert chosen.items() <= found.origins.items()


def test_every_shown_line_has_a_value_and_an_origin(root):
    lines = resolve(None, typed("class=fp32", "set.n=1e3"), root).lines()
    assert ("class", "fp32", "-o") in lines
    assert ("set.n", "1000.0", "-o") in lines
    assert ("deadlines_s.load", "60.0", "default") in lines
    assert ("address", "null", "default") in lines


def test_each_layer_is_checked_before_it_is_overridden(root):
    config = written(root, "trials: 0\n")
    with pytest.raises(UsageError, match=r"^configs/mine.yaml: trials: found 0; wanted at least 1"):
        resolve(config, [Override("trials", "5", "--trials")], root)


def test_a_mapping_on_the_command_line_changes_what_it_names(root):
    found = resolve(written(root, "deadlines_s: {load: 10}"), typed("deadlines_s={time: 1}"), root)
    assert found.experiment.deadlines_s == Deadlines(load=10, time=1)
    assert found.origins["deadlines_s.time"] == "-o"
    assert found.origins["deadlines_s.load"] == "configs/mine.yaml"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("trials=12", "trials", 12),
        ("problems=1/87", "problems", ("1/87",)),
        ("problems=87", "problems", ("87",)),
        ("problems=[87, 1/23, a b]", "problems", ("87", "1/23", "a b")),
        ("solutions=a: b.py", "solutions", ("a: b.py",)),
        ("out=12", "out", "12"),
        ("out=null", "out", "null"),
        ("out=a=b: c", "out", "a=b: c"),
        ("device=cuda:1", "device", "cuda:1"),
        ("pairing=off", "pairing", "off"),
        ("class=fp32", "asked", "fp32"),
        ("set={height: 4}", "axes", {"height": 4}),
        ("set.mode='7'", "axes", {"mode": "7"}),
    ],
)
def test_text_from_the_command_line_means_what_it_means_in_a_config(root, text, key, value):
    assert getattr(resolve(None, typed(text), root).experiment, key) == value


def test_data_from_a_program_is_taken_as_it_is(root):
    options = [Override("problems", ["1/87", "1/23"]), Override("trials", 3)]
    found = resolve(None, options, root)
    assert (found.experiment.problems, found.experiment.trials) == (("1/87", "1/23"), 3)
    assert found.origins["trials"] == "command line"


@pytest.mark.parametrize(
    ("config", "options", "explicit"),
    [
        (None, (), False),
        (None, ("trials=5",), False),
        (None, ("solutions=eager",), True),
        ("trials: 5", (), False),
        ("solutions: [eager]", (), True),
    ],
)
def test_solutions_are_explicit_only_where_someone_chose_them(root, config, options, explicit):
    (root / "configs/default.yaml").write_text("solutions: [eager, inductor]\n")
    path = written(root, config) if config else None
    assert resolve(path, typed(*options), root).experiment.solutions_explicit is explicit


IN_A_FILE = [
    ("trials: 1e2", "trials: found 100.0; wanted a whole number"),
    ("trials: no", "trials: found 'no'; wanted a whole number"),
    ("trials: 12:30", "trials: found '12:30'; wanted a whole number"),
    ("trials: 010", "trials: found '010'; wanted a whole number"),
    ("trials: .nan", "trials: found '.nan'; wanted a whole number"),
    ("trials: true", "trials: found True; wanted a whole number"),
    ("trials:", "trials: found nothing; wanted a whole number"),
    ("trials: 0", "trials: found 0; wanted at least 1"),
    ("trials: -5", "trials: found -5; wanted at least 1"),
    ("trials: 1000000000", "trials: found 1000000000; wanted at most 100000"),
    ("checks: 0", "checks: found 0; wanted at least 1"),
    ("trails: 5", "trails: found an unknown key; did you mean 'trials'? valid: problems, "),
    ("asked: fp32", "asked: found an unknown key; "),
    ("solutions_explicit: true", "solutions_explicit: found an unknown key; did you mean 'solut"),
    ("class: tf23", "class: found 'tf23'; wanted 'auto', 'fp32', 'tf32', 'fp16' or 'bf16'; did"),
    ("device: gpu", "device: found 'gpu'; wanted auto, cpu, cuda or cuda:N; "),
    ("device: cuda:x", "device: found 'cuda:x'; wanted auto, cpu, cuda or cuda:N; did you "),
    ("pairing: yes", "pairing: found 'yes'; wanted 'auto', 'abba' or 'off'"),
    ("problems: 1/87", "problems: found '1/87'; wanted a list"),
    ("problems: []", "problems: found []; wanted a list that is not empty"),
    ("problems: [1.5]", "problems.0: found 1.5; wanted text"),
    ("problems: ['']", "problems.0: found ''; wanted text that is not empty"),
    ("deadlines_s: 60", "deadlines_s: found 60; wanted a mapping"),
    ("deadlines_s: {laod: 1}", "deadlines_s.laod: found an unknown key; did you mean 'load'?"),
    ("deadlines_s: {load: 0}", "deadlines_s.load: found 0; wanted above 0"),
    ("deadlines_s: {load: soon}", "deadlines_s.load: found 'soon'; wanted a number"),
    ("set: {height: null}", "set.height: found nothing; wanted a number, text, true or false"),
    ("set: {height: {a: 1}}", "set.height: found a mapping; wanted a number, text, true or false"),
    ("set: [height]", "set: found ['height']; wanted a mapping"),
    ("out: ''", "out: found ''; wanted text that is not empty"),
    ("out: 7", "out: found 7; wanted text"),
    ("- trials", "found a list; wanted a mapping of keys to values"),
    ("", "found nothing; wanted a mapping of keys to values"),
    ("trials: !!int 5", "line 1, column 9: found the tag tag:yaml.org,2002:int; wanted a plain"),
    ("trials: 5\ntrials: 6", "line 2, column 1: found the key 'trials' twice; wanted each"),
    ("trials: [", "line 1, column 10: found expected the node content"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), IN_A_FILE)
def test_a_bad_config_is_one_line_naming_file_key_found_and_wanted(root, text, said):
    with pytest.raises(UsageError) as refused:
        resolve(written(root, text), [], root)
    line = str(refused.value)
    assert line.startswith(f"configs/mine.yaml: {said}")
    assert "\n" not in line


TYPED = [
    (("--trials", "trials=nan"), "--trials: trials: found 'nan'; wanted a whole number"),
    (("--trials", "trials=ten"), "--trials: trials: found 'ten'; wanted a whole number"),
    (("--trials", "trials=0"), "--trials: trials: found 0; wanted at least 1"),
    (("--trials", "trials="), "--trials: trials: found nothing; wanted a whole number"),
    (("-o", "trails=5"), "-o: trails: found an unknown key; did you mean 'trials'?"),
    (("-o", "trials.x=5"), "-o: trials.x: found a nested key; wanted trials"),
    (("-o", "deadlines_s.laod=5"), "-o: deadlines_s.laod: found an unknown key; did you mean 'lo"),
    (("-o", "deadlines_s.load.x=5"), "-o: deadlines_s.load.x: found an unknown key"),
    (("-o", "deadlines_s=5"), "-o: deadlines_s: found 5; wanted a mapping"),
    (("-o", "trials"), "-o: found 'trials'; wanted KEY=VALUE"),
    (("-o", "=5"), "-o: found '=5'; wanted KEY=VALUE"),
    (("-o", "trials=[1"), "-o: trials: line 1, column 3: found expected ',' or ']'"),
    (("-o", "trials=&a 1"), "-o: trials: line 1, column 1: found the anchor &a"),
    (("-o", "set={height: .nan}"), None),
    (("--device", "device=cdua"), "--device: device: found 'cdua'; wanted auto, cpu, cuda or cud"),
    (("--device", "device=cuda1"), "--device: device: found 'cuda1'; wanted auto, cpu, cuda or cu"),
    (("--out", "out="), "--out: out: found ''; wanted text that is not empty"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "said"), TYPED)
def test_a_bad_option_is_one_line_naming_option_key_found_and_wanted(root, option, said):
    if said is None:  # text until an axis that holds a number refuses it
        assert resolve(None, typed(option[1]), root).experiment.axes == {"height": ".nan"}
        return
    with pytest.raises(UsageError) as refused:
        resolve(None, [assignment(option[1], option[0])], root)
    line = str(refused.value)
    assert line.startswith(said)
    assert "\n" not in line


def test_an_axis_without_a_value_is_refused_in_the_options_own_words():
    with pytest.raises(UsageError, match=r"^--set: found 'height'; wanted AXIS=VALUE$"):
        assignment("height", "--set", under="set.")


def test_a_missing_config_names_the_nearest_one():
    with pytest.raises(UsageError) as refused:
        resolve(Path("configs/h20.yaml"), [], REPOSITORY)
    assert str(refused.value).startswith(
        "configs/h20.yaml: found no such file; wanted a config file; "
        "did you mean 'configs/h200.yaml'?"
    )


def test_a_folder_is_no_config(root):
    with pytest.raises(UsageError, match=r"^configs: found a folder; wanted a readable file"):
        resolve(root / "configs", [], root)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FILLED = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
NAMES = st.lists(FILLED, min_size=1).map(tuple)
SCALARS = (
    st.integers(-(2**53) + 1, 2**53 - 1)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
SECONDS = st.floats(0.001, 86_400)
EXPERIMENTS = st.builds(
    Experiment,
    problems=NAMES,
    solutions=NAMES,
    device=st.sampled_from(["auto", "cpu", "cuda", "cuda:3"]),
    sizes=NAMES,
    axes=st.dictionaries(TEXT, SCALARS | st.lists(SCALARS).map(tuple)),
    asked=st.sampled_from(["auto", "fp32", "tf32", "fp16", "bf16"]),
    trials=st.integers(1, 100_000),
    pairing=st.sampled_from(["auto", "abba", "off"]),
    deadlines_s=st.builds(Deadlines, load=SECONDS, time=SECONDS),
    address=st.none() | FILLED,
    solutions_explicit=st.just(True),
)


@given(EXPERIMENTS)
def test_what_a_run_writes_down_reads_back_as_the_same_settings(experiment):
    plain = load(dump(experiment.as_config()), "config.yaml")
    settings = read(Settings, plain, "config.yaml")
    assert Experiment(**dict(settings)) == experiment
    assert {type(value) for value in settings.axes.values()} == {
        type(value) for value in experiment.axes.values()
    }
