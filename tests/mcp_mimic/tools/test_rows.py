"""Counting and paging in memory give what the database gives: same counts, rows, ties and order, page by page."""

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.query import Paging
from mcp_mimic.tools.rows import AskedRows, HeldRows, TableRows, table_rows
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.window import Window
from tests.mcp_mimic.charts import AS_OF, a_chart, hours, lab, make_slice, shared_slice

HOURS = (1, 2, 2.5, 26, 49, 90)
"""Few moments, so that ties are the rule; the last lies behind the as-of time, as a known future start does."""

DAYS = [hours(number).date() for number in (-8, 16, 40)]
MOMENTS = [hours(number) for number in (-8, 0, 1, 2, 2.25, 16, 26, 30, 49)]
NAMES = ("calcium", "ca", "urine", "culture", "weight", "___", "x")


def _times(longest: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | st.sampled_from([hours(hour) for hour in HOURS]), max_size=longest)


@st.composite
def charts(draw: st.DrawFn) -> dict[str, list[dict[str, Any]]]:
    """Rows with ties, without times or items, pending cultures, days without an hour, several rows of one id."""
    items, days = st.sampled_from((50912, 50971, None)), st.sampled_from(DAYS)
    drugs = st.sampled_from(("Calcium Gluconate", "___", None, "X"))
    cultures, doses = draw(_times(12)), draw(_times(12))
    return {
        **{name: list(rows) for name, rows in a_chart().items()},
        "hosp.labevents": [
            lab(key, draw(items), 1, "0.9") | {"charttime": time} for key, time in enumerate(draw(_times(30)), 1)
        ],
        "hosp.microbiologyevents": [
            {
                "eid": f"micro:{'s' if draw(st.booleans()) else ''}{key}",
                "spec_type_desc": draw(st.sampled_from(("URINE", "Blood Culture", None))),
                "chartdate": draw(days),
                "charttime": time,
            }
            for key, time in enumerate(cultures, 1)
        ],
        "hosp.omr": [
            {"eid": f"omr:{key}", "chartdate": draw(days), "result_name": draw(st.sampled_from(("Weight", "BMI")))}
            for key in range(draw(st.integers(0, 8)))
        ],
        "hosp.emar": [
            {"eid": f"emar:{key}", "charttime": time, "medication": draw(drugs)}
            for key, time in enumerate(doses, 1)
        ],
        "hosp.emar_detail": [
            {"eid": f"emar:{draw(st.integers(1, 12))}", "parent_field_ordinal": ordinal, "dose_given": str(number)}
            for number, ordinal in enumerate(draw(st.lists(st.sampled_from((None, "1.1", "1.2")), max_size=9)))
        ],
    }  # fmt: skip


TABLES = ("hosp.labevents", "hosp.microbiologyevents", "hosp.omr", "hosp.emar", "icu.chartevents")

starts = st.none() | st.sampled_from(MOMENTS)
ends = st.sampled_from([*MOMENTS, AS_OF, AS_OF])


def _filters(table: str) -> st.SearchStrategy[Filter]:
    if SOURCES[table].item:
        items = st.lists(st.sampled_from((50912, 50971, 220045, 7)), max_size=3, unique=True)
        return st.just(Filter()) | items.map(lambda chosen: Filter(tuple(sorted(chosen))))
    return st.just(Filter()) | st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(
        lambda names: Filter(names=tuple(names))
    )


def _told(
    rows: TableRows, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter, size: int
) -> Any:
    """Everything that a session can learn from the rows: counts, and all pages in both orders."""
    counts = rows.count(cursor, window, chosen)
    pages = [
        rows.page(cursor, window, chosen, Paging(newest, size, offset))
        for newest in (True, False)
        for offset in range(0, counts.total + size, size)
    ]
    return counts, pages


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=charts(), data=st.data())
def test_rows_in_memory_are_counted_paged_and_ordered_as_the_database_does(
    rows: dict[str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    with make_slice(rows) as chart, chart.cursor() as cursor:
        for table in TABLES:
            source = SOURCES[table]
            held = [HeldRows(cursor, source, keep=keep) for keep in (True, False)]
            for _ in range(3):
                window = Window(data.draw(starts), data.draw(ends), AS_OF)
                chosen = data.draw(_filters(table))
                size = data.draw(st.integers(1, 7))
                asked = _told(AskedRows(source), cursor, window, chosen, size)
                for each in held:
                    assert _told(each, cursor, window, chosen, size) == asked


@pytest.mark.parametrize("table", SOURCES)
def test_every_source_can_be_held(table: str) -> None:
    with shared_slice().cursor() as cursor:
        window, source = Window(None, AS_OF, AS_OF), SOURCES[table]
        asked = _told(AskedRows(source), cursor, window, Filter(), 7)
        for keep in (True, False):
            assert _told(HeldRows(cursor, source, keep=keep), cursor, window, Filter(), 7) == asked


def test_several_images_of_one_study_keep_their_own_order_either_way() -> None:
    source = next(source for source in SOURCES.values() if source.then_by)
    column = source.then_by.rpartition(".")[2]
    rows = {source.table: [{"eid": f"cxr:{n % 2}", column: f"image {n * 7 % 5}"} for n in range(5)]}
    with make_slice(rows) as chart, chart.cursor() as cursor:
        window = Window(None, AS_OF, AS_OF)
        asked, *held = (
            _told(each, cursor, window, Filter(), 2)
            for each in (AskedRows(source), *(HeldRows(cursor, source, keep=keep) for keep in (True, False)))
        )
        assert held == [asked, asked]
        assert asked[0].total == 5


def test_a_long_table_is_asked_and_a_session_keeps_no_more_rows_than_it_has_room_for() -> None:
    with shared_slice().cursor() as cursor:
        source = SOURCES["icu.chartevents"]
        assert isinstance(table_rows(cursor, source, room=1000, longest=38), AskedRows)
        assert table_rows(cursor, source, room=39).kept == 39
        assert table_rows(cursor, source, room=38).kept == 0


def test_a_page_is_the_callers_own() -> None:
    with shared_slice().cursor() as cursor:
        rows = HeldRows(cursor, SOURCES["hosp.labevents"], keep=True)
        window = Window(None, AS_OF, AS_OF)
        for _ in range(2):
            (_, row), *_rest = rows.page(cursor, window, Filter(), Paging(newest_first=True, limit=9))
            assert "added" not in row
            row["added"] = True
