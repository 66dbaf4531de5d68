"""The Markdown leaderboard: golden text, and names that are no markup."""

from __future__ import annotations

from harness.publish.markdown import leaderboard
from tests.publish import boards
from tests.record import examples

BOARD = """
**1/87 conv_pointwise_2D, full float32, on H200, class tf32**

| # | solution | backend | class | median | good placement | × floor | vs baseline | vs #1 | trials | trust |
| --: | :-- | :-- | :-- | --: | --: | --: | --: | --: | --: | :-- |
| 1 | triton_tf32 | triton | tf32 | 3.40 ms ± 0.01 | 3.39 ms | 1.27× | 1.04× faster | first | 100 | reproducible |
| 2 | eager | eager | tf32 | 3.54 ms ± 0.01 | 3.53 ms | 1.32× | baseline | 1.04× slower | 100 | reproducible |
| 3 | inductor | inductor | tf32 | 10.1 ms ± 0.03 | 10.1 ms | 3.77× | 2.86× slower | 2.98× slower | 100 | reproducible |

batch_size 16 · torch 2.11.0+cu128, triton 3.6.0, cuda 12.8, driver 570.86.15 · cold cache · protocol 1

median ± the wider half of its 95 % interval; good placement: 20th percentile of block medians; even: the 95 % intervals do not tell them apart

- not ranked, not_passed (compile_error: syntax_error): cuda_tf32
"""  # noqa: E501


def test_the_leaderboard_as_markdown() -> None:
    assert leaderboard(boards.ranking()) == BOARD.lstrip("\n")


def test_a_name_stays_in_its_cell_and_is_no_markup() -> None:
    text = leaderboard(boards.ranking(examples.record(name="a|b\n<img src=x> [l](u) `c` **d**")))
    row = next(line for line in text.splitlines() if "img" in line)
    assert row.replace(r"\|", "").count("|") == 12
    assert r"a\|b \<img src=x\> \[l\](u) \`c\` \*\*d\*\*" in row


def test_nothing_to_rank_is_no_table() -> None:
    assert leaderboard(boards.ranking().__class__((), ())) == ""
