"""Going on with a run: found by path or name, same question, only what has no answer yet."""

import pytest

from harness.faults import UsageError
from harness.record.schema import ProtocolSection
from harness.spec import problem as problems
from harness.spec import solution as solutions
from harness.spec import strict_yaml
from harness.spec.experiment import Override, resolve
from harness.sweep import resume
from tests.record import examples

RUN = "20260101T000000-abcdef"


@pytest.fixture
def run(root):
    """A run's folder, begun with five trials of problem 7."""
    folder = root / "results" / RUN
    folder.mkdir(parents=True)
    (folder / "records.jsonl").touch()
    asked = (Override("problems", "1/7"), Override("trials", "5"), Override("set", {"width": 4}))
    experiment = resolve(None, asked, root).experiment
    (folder / "config.yaml").write_text(strict_yaml.dump(experiment.as_config()))
    return folder


def test_a_run_is_found_by_its_path_and_by_its_name(run, root, monkeypatch):
    monkeypatch.chdir(root)
    for query in (str(run), f"results/{RUN}", RUN):
        assert resume.find(query, root / "results").samefile(run)


@pytest.mark.parametrize("query", ["", RUN[:-1], "nowhere", "results"])
def test_what_is_no_run_is_a_usage_error_with_the_nearest(run, root, query, monkeypatch):
    monkeypatch.chdir(root)
    with pytest.raises(UsageError) as refusal:
        resume.find(query, root / "results")
    assert RUN in str(refusal.value)


def test_a_resumed_run_keeps_its_settings(run, root):
    kept = resume.settings(run, None, (), root)
    assert kept.experiment.trials == 5
    assert kept.experiment.axes == {"width": 4}
    assert kept.experiment.problems == ("1/7",)


def test_the_same_command_line_may_be_repeated(run, root):
    asked = (Override("problems", "1/7"), Override("trials", "5"), Override("out", "elsewhere"))
    assert resume.settings(run, None, asked, root) == resume.settings(run, None, (), root)
    assert resume.settings(run, run / "config.yaml", (), root).experiment.trials == 5


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("trials", "6", "--x: trials: found 6; wanted 5, as the run was begun"),
        ("problems", "1/8", r'--x: problems: found \["1/8"\]; wanted \["1/7"\]'),
        ("set.width", "8", "--x: set.width: found 8; wanted 4"),
        ("set.height", "8", "--x: set.height: found 8; wanted nothing"),
    ],
)
def test_another_question_is_refused(run, root, key, value, wanted):
    with pytest.raises(UsageError, match=wanted):
        resume.settings(run, None, (Override(key, value, "--x"),), root)


def test_nobody_chose_the_default_solutions_in_a_resumed_run_either(run, root):
    assert not resume.settings(run, None, (), root).experiment.solutions_explicit
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace("[eager, inductor", "[eager"))
    assert resume.settings(run, None, (), root).experiment.solutions_explicit


def test_a_record_answers_only_its_own_sources_size_and_protocol(root):
    (problem,) = problems.find("1/7", root)
    (solution,) = solutions.find("fast", problem, root)
    sized = problems.resize(problem, "smoke", {})
    same = {
        "problem": examples.problem(
            name=problem.name,
            reference_digest=problem.reference_digest,
            size="smoke",
            axes={**sized.axes, "shape": list(sized.axes["shape"])},
            init=dict(sized.init),
        ),
        "solution": examples.solution("fast", digest=solution.digest),
    }
    record = examples.record(**same)
    assert resume.Done((record,)).of(sized, solution, examples.DIGEST) is record
    others = [
        {"solution": examples.solution("fast")},
        {"solution": examples.solution("slow", digest=solution.digest)},
        {"protocol": ProtocolSection(version=1, digest="sha256:" + "f" * 64)},
        *(
            {"problem": same["problem"].model_copy(update={key: value})}
            for key, value in {
                "name": "8_other",
                "reference_digest": examples.DIGEST,
                "size": "full",
                "axes": {**same["problem"].axes, "height": 9},
                "init": {},
            }.items()
        ),
    ]
    for changes in others:
        other = examples.record(**{**same, **changes})
        assert resume.Done((other,)).of(sized, solution, examples.DIGEST) is None
