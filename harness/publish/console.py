"""Tables and lines for a terminal, drawn on the Console that is handed in.

Owns what a person sees at the end of a run and of `leaderboard`. Decides nothing: ranks come from
`record.ranking`, figures from `record.statistics`, advice from `publish.remedies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.publish import cells
from harness.publish.remedies import remedy
from harness.record.ranking import Excluded, Ranking
from harness.record.schema import Failed, Record, Status
from harness.record.statistics import Summary, summary_of
from harness.units import percent

_STYLES = {
    Status.PASSED: "green",
    Status.UNAVAILABLE: "yellow",
    Status.INCOMPLETE_EVIDENCE: "yellow",
}


class Screen(Console):
    """A Console that leaves a closed pipe to its caller, where rich would end the program."""

    def on_broken_pipe(self) -> None:
        """Called while the BrokenPipeError is handled: let it go on."""
        raise


def run_tables(records: Sequence[Record], console: Console) -> None:
    """Draw a run's final table for each workload, below it a line for whatever needs one."""
    for title, group in groupby(records, key=cells.workload_title):
        evaluated = list(group)
        rows = [[Text(cell) for cell in cells.run_row(record)] for record in evaluated]
        for record, row in zip(evaluated, rows, strict=True):
            row[1].style = _STYLES.get(record.verdict.status, "red")
        _draw(title, cells.RUN_HEADINGS, rows, console)
        caption = cells.run_caption(evaluated)
        if caption:
            print_line(caption, console, style="dim")
        for line in (line for record in evaluated for line in remarks(record)):
            print_line(line, console)


def remarks(record: Record) -> list[str]:
    """List what a person should know about one evaluation, each in a line with its remedy."""
    lines = [failure_line(record)] if isinstance(record.verdict, Failed) else []
    name, summary, timing = cells.one_line(record.solution.name), summary_of(record), record.timing
    if timing is None or summary is None:
        return lines
    if timing.engine == "interpreter":
        lines.append(f"{name}: ran in Triton's interpreter: checked, never ranked; use a GPU")
    elif summary.noisy:
        lines.append(_noise_line(name, summary))
    if timing.bound_us is not None and summary.median_ms * 1000 < timing.bound_us:
        lines.append(
            f"{name}: device clock only: shorter than the {timing.bound_us:.0f} µs that the "
            "wall clock can vouch for; a larger size is vouched for"
        )
    return lines


def failure_line(record: Record) -> str:
    """Say in one line what failed, where, why, and what to do about it."""
    verdict = record.verdict
    if not isinstance(verdict, Failed):
        raise TypeError("a passed record has no failure line")
    name, detail = cells.one_line(record.solution.name), cells.one_line(verdict.detail)
    where = f"{name}: {verdict.status} in {verdict.phase} ({verdict.reason})"
    said = f"{where}: {detail}" if detail else where
    return f"{said.rstrip('.')}; {remedy(verdict)}"


def leaderboard_tables(ranking: Ranking, console: Console) -> None:
    """Draw a table for each board, then say what is not ranked and why."""
    for board in ranking.boards:
        rows = [[Text(cell) for cell in cells.board_row(s)] for s in board.standings]
        _draw(cells.board_title(board), cells.BOARD_HEADINGS, rows, console)
        print_line(cells.board_caption(board), console, style="dim")
        console.print()
    if ranking.boards:
        print_line(cells.LEGEND, console, style="dim")
    else:
        print_line("no record can be ranked yet; `run_eval.py run` on a GPU leaves some", console)
    for line in excluded_lines(ranking.excluded):
        print_line(line, console)


def excluded_lines(excluded: Iterable[Excluded]) -> list[str]:
    """Count the records that are on no board, by reason."""
    counted: dict[tuple[str, str], list[str]] = {}
    for item in excluded:
        why = "measured again since" if item.code == "superseded" else cells.one_line(item.why)
        counted.setdefault((item.code, why), []).append(item.record.solution.name)
    return [
        f"not ranked, {code} ({why}): "
        + ", ".join(sorted({cells.one_line(name) for name in names}))
        for (code, why), names in sorted(counted.items())
    ]


def print_line(text: str, console: Console, style: str = "") -> None:
    """Print exactly one line, whatever the terminal's width, with no markup in it."""
    console.print(Text(cells.one_line(text, longest=2000), style=style), soft_wrap=True)


def _noise_line(name: str, summary: Summary) -> str:
    share = percent(summary.iqr_ratio)
    return f"{name}: noisy: IQR {share} of the median; close other jobs or raise --trials"


def _draw(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[Text]], console: Console
) -> None:
    """Draw a table: whole where no terminal limits it, else without the columns it can spare."""
    shown = list(headings)
    if console.is_terminal:
        spare = [heading for heading in cells.SPARE_COLUMNS if heading in shown]
        while spare and _width(headings, rows, shown) > console.width:
            shown.remove(spare.pop(0))
    table = Table(box=box.SIMPLE_HEAD)
    for heading in shown:
        table.add_column(heading, justify="left" if heading in cells.TEXT_COLUMNS else "right")
    for row in rows:
        table.add_row(*(cell for name, cell in zip(headings, row, strict=True) if name in shown))
    if not console.is_terminal:
        table.width = _width(headings, rows, shown)
    print_line(title, console, style="bold")
    console.print(table, crop=False)


def _width(headings: Sequence[str], rows: Sequence[Sequence[Text]], shown: Sequence[str]) -> int:
    """Measure the table on a screen: each column's widest cell, two of padding, one between."""
    widest = [
        max(cell_len(heading), *(row[index].cell_len for row in rows))
        for index, heading in enumerate(headings)
        if heading in shown
    ]
    return sum(widest) + 3 * len(widest) + 1
