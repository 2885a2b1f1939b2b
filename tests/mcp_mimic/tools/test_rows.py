"""Counting and paging by look-up give what the database gives, kept in memory or not."""

from datetime import datetime
from typing import Any

import pytest

from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.rows import TableRows
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.window import Window
from tests.mcp_mimic.charts import AS_OF, hours, shared_slice

TABLES = (
    "hosp.labevents",
    "icu.chartevents",
    "hosp.emar",
    "hosp.microbiologyevents",
    "hosp.prescriptions",
    "hosp.omr",
)
WINDOWS = (
    Window(None, AS_OF, AS_OF),
    Window(hours(5), AS_OF, AS_OF),
    Window(None, hours(10), AS_OF),
    Window(hours(8), hours(30), AS_OF),
    Window(hours(10), hours(10), AS_OF),
    Window(hours(70), hours(71), AS_OF),
)
FILTERS = (
    Filter(),
    Filter(items=(50912, 220045)),
    Filter(items=()),
    Filter(names=("calcium",)),
    Filter(names=("culture", "i")),
)


def _counted(table: str, window: Window, chosen: Filter) -> tuple[int, int, datetime | None, datetime | None]:
    """The same numbers by one plain query."""
    source = SOURCES[table]
    values: dict[str, Any] = {"start": window.start or datetime.min, "end": window.end}
    start = "true" if window.start is None else f"{source.last_moment} >= $start"
    end = "true" if window.reaches_as_of else f"{source.time} <= $end"
    match = "true"
    if chosen.items is not None:
        match = f"list_contains({list(chosen.items)}::integer[], {source.item})"
    elif chosen.names is not None:
        match = " or ".join(f"contains(lower({source.name}), '{name}')" for name in chosen.names)
    before = "null" if window.start is None else f"max({source.time}) filter ({source.last_moment} < $start)"
    after = "null" if window.reaches_as_of else f"min({source.time}) filter ({source.time} > $end)"
    (row,) = (
        shared_slice()
        .cursor()
        .execute(
            f"select count(*) filter (({start}) and ({end}) and ({match})), count(*) filter (({start}) and ({end})), "
            f"{before}, {after}, $start::timestamp, $end::timestamp from {source.table} r {source.joins}",
            values,
        )
        .fetchall()
    )
    return row[:4]


def _fits(table: str, chosen: Filter) -> bool:
    source = SOURCES[table]
    return (chosen.items is None or bool(source.item)) and (
        chosen.names is None or (bool(source.name) and not source.item)
    )


@pytest.mark.parametrize("table", TABLES)
def test_counts_are_those_of_a_plain_query(table: str) -> None:
    rows = TableRows(shared_slice().cursor(), SOURCES[table])
    for window in WINDOWS:
        for chosen in (chosen for chosen in FILTERS if _fits(table, chosen)):
            found = rows.count(window, chosen)
            told = (found.total, found.in_window, found.last_before, found.first_after)
            assert told == _counted(table, window, chosen)


@pytest.mark.parametrize("table", TABLES)
def test_pages_are_the_same_kept_or_fetched_and_hold_each_counted_row_once(table: str) -> None:
    cursor = shared_slice().cursor()
    kept, fetched = (TableRows(cursor, SOURCES[table], kept=size) for size in (1000, 0))
    for window in WINDOWS:
        for newest_first in (True, False):
            pages = [
                [
                    row
                    for offset in range(0, 60, 7)
                    for row in rows.page(
                        cursor, window, Filter(), newest_first=newest_first, limit=7, offset=offset
                    )
                ]
                for rows in (kept, fetched)
            ]
            assert pages[0] == pages[1]
            times = [moment for moment, _ in pages[0] if moment is not None]
            assert times == sorted(times, reverse=newest_first)
            assert (
                len({row["eid"] for _, row in pages[0]})
                == len(pages[0])
                == kept.count(window, Filter()).total
            )


def test_rows_without_a_time_come_last_either_way() -> None:
    cursor = shared_slice().cursor()
    rows = TableRows(cursor, SOURCES["hosp.microbiologyevents"])
    everything = Window(None, AS_OF, AS_OF)
    for newest_first in (True, False):
        page = rows.page(cursor, everything, Filter(), newest_first=newest_first, limit=9, offset=0)
        timed = [moment is not None for moment, _ in page]
        assert timed == sorted(timed, reverse=True)
