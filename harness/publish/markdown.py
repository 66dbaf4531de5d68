"""The leaderboard as Markdown: the same boards and cells as in a terminal.

Owns the escaping that keeps somebody's name from becoming markup; the cells are `cells`'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.publish import cells
from harness.publish.console import excluded_lines
from harness.record.ranking import Board, Ranking

# An underscore inside a word is no markup, and names are full of them
_SPECIAL = re.compile(r"([\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_]))")


def leaderboard(ranking: Ranking) -> str:
    """Return a Markdown table for each board, and the list of what is not ranked."""
    parts = [_board(board) for board in ranking.boards]
    if ranking.boards:
        parts.append(f"{_escape(cells.LEGEND)}\n")
    lines = excluded_lines(ranking.excluded)
    if lines:
        parts.append("".join(f"- {_escape(line)}\n" for line in lines))
    return "\n".join(parts)


def _board(board: Board) -> str:
    rule = [":--" if name in cells.TEXT_COLUMNS else "--:" for name in cells.BOARD_HEADINGS]
    rows = [
        _row([_escape(name) for name in cells.BOARD_HEADINGS]),
        _row(rule),
        *(_row([_escape(cell) for cell in cells.board_row(s)]) for s in board.standings),
    ]
    title, caption = _escape(cells.board_title(board)), _escape(cells.board_caption(board))
    return f"**{title}**\n\n" + "".join(rows) + f"\n{caption}\n"


def _row(parts: Sequence[str]) -> str:
    return "| " + " | ".join(parts) + " |\n"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
