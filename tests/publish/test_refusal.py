"""The parser's refusals, word for word."""

import pytest
import typer

from harness.cli import PROGRAM, app
from harness.publish.refusal import in_our_words

SAID = {
    ("run", "--trails", "5"): "run_eval.py run: found '--trails'; wanted an option; did you",
    ("run", "--trials"): "run_eval.py run: --trials: found no value; wanted one: timed calls",
    ("run", "--json=1"): "run_eval.py run: --json: found a value; wanted none",
    ("run", "a", "b"): "run_eval.py run: found extra argument(s) (b); wanted no more than CONFIG",
    ("leaderboard", "a"): "run_eval.py leaderboard: found extra argument(s) (a); wanted no more",
    ("floor",): "run_eval.py floor: PROBLEM: found nothing; wanted a problem",
    ("--json",): "run_eval.py: found '--json'; wanted a command before its options",
}


@pytest.mark.parametrize("arguments", SAID, ids=" ".join)
def test_what_the_parser_refuses_is_one_line_in_our_words(arguments):
    group = typer.main.get_command(app)
    refused = typer.BadParameter.__mro__[2]
    with pytest.raises(refused) as refusal:  # noqa: SIM117
        with group.make_context(PROGRAM, list(arguments)) as context:
            group.invoke(context)
    said = str(in_our_words(refusal.value, arguments, PROGRAM, group))
    assert said.startswith(SAID[arguments])
    assert said.isprintable()
