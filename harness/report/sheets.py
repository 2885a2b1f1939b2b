"""Which tables a report shows where."""

from collections.abc import Iterable

from harness.report.cells import Sheet, Summary
from harness.report.details import (
    call_sheet,
    confusion_sheets,
    fragile_sheet,
    interval_sheet,
    outcome_sheet,
    scenario_sheet,
)
from harness.report.headlines import axis_sheet, cause_sheet, comparison_sheet, score_sheet, verdict_sheet


def terminal_sheets(summary: Summary) -> list[Sheet]:
    """The tables for a terminal."""
    found = [score_sheet(summary), verdict_sheet(summary), axis_sheet(summary)]
    return found + _there([comparison_sheet(summary), cause_sheet(summary)])


def all_sheets(summary: Summary) -> list[Sheet]:
    """The tables of a report folder."""
    first = [score_sheet(summary), axis_sheet(summary), verdict_sheet(summary), interval_sheet(summary)]
    rest = [fragile_sheet(summary), scenario_sheet(summary), outcome_sheet(summary), call_sheet(summary)]
    optional = _there([comparison_sheet(summary), cause_sheet(summary)])
    return first + optional + rest + confusion_sheets(summary)


def _there(sheets: Iterable[Sheet | None]) -> list[Sheet]:
    return [sheet for sheet in sheets if sheet is not None]
