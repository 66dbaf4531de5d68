"""`run_eval.py lint`: a line for each problem, and a negative answer where one is degenerate."""

import pytest

from harness import cli
from tests.judge import problems
from tests.judge.conftest import AFFINE


@pytest.mark.parametrize(
    ("forward", "said", "status"),
    [
        ("return torch.softmax(x, dim=1)", "sound", cli.OK),
        ("return x * 0", "degenerate, never ranked: zeros would pass", cli.NEGATIVE),
        ("raise ValueError('no')", "invalid: forward_raised: ValueError: no", cli.NEGATIVE),
    ],
)
def test_each_problem_gets_its_line_and_the_exit_status_says_all_were_sound(
    tmp_path, capsys, forward, said, status
):
    path = tmp_path / "mine.py"
    path.write_text(problems.text(forward))
    assert cli.main(["lint", AFFINE, str(path), "--device", "cpu"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "affine, full: sound"
    assert lines[1].startswith(f"mine, full: {said}")


def test_a_degenerate_problem_is_marked_in_its_records_and_never_ranked(tmp_path):
    from datetime import UTC, datetime

    from harness import api
    from harness.record.ranking import rank

    path = tmp_path / "mine.py"
    path.write_text(problems.text("return torch.full_like(x, 3.0)"))
    with api.open(device="cpu", trials=5, checks=2) as judge:
        record = judge.evaluate(str(path), "eager")
    assert record.verdict.status.value == "passed"
    assert record.problem.lint["degenerate"] is True
    ranking = rank([record], now=datetime.now(UTC))
    assert not ranking.boards
    assert ranking.excluded[0].code.value == "degenerate"
