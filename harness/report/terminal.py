"""The report's tables on a terminal: readable without colour, within 80 columns."""

from typing import Literal

from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.cells import Sheet, Summary, is_number
from harness.report.headlines import lines_of
from harness.report.sheets import terminal_sheets

_WIDE = 96
_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
_BROKEN = {
    "over-deferral": "over-\ndeferral",
    "over-confidence": "over-\nconfidence",
    "sensitivity": "sensi-\ntivity",
    "deferral": "defer-\nral",
    "supported": "sup-\nported",
    "precision": "pre-\ncision",
    "resolvable": "resol-\nvable",
    "retrieved": "re-\ntrieved",
    "dead wrong": "dead\nwrong",
    "difference": "differ-\nence",
    "detectable": "detect-\nable",
    "p by scenario": "p by\nscenario",
    "p by task": "p by\ntask",
    "lack→amb": "lack\n→amb",
    "amb→lack": "amb\n→lack",
}
"""Headings that would take more room than their numbers."""


def print_scores(summary: Summary, console: Console) -> None:
    """Print the headline tables and what must be said beside them."""
    for sheet in terminal_sheets(summary):
        console.print(Text(sheet.title, style="bold"))
        console.print(sheet_table(sheet, gap=1 if console.width >= _WIDE else 0))
        console.print(Text(sheet.note))
        console.print()
    for line in lines_of(summary):
        console.print(Text(line))


def sheet_table(sheet: Sheet, gap: int = 0) -> Table:
    """One sheet as a table, its columns `gap` + 1 blanks apart; nothing in it is read as markup."""
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    for number, column in enumerate(sheet.columns):
        words = any(not is_number(row[number].text) for row in sheet.rows)
        justify: Literal["left", "right"] = "left" if words else "right"
        table.add_column(
            Text(_BROKEN.get(column, column)), justify=justify, vertical="bottom", overflow="fold"
        )
    for row in sheet.rows:
        table.add_row(*(Text(cell.text) for cell in row))
    return table
