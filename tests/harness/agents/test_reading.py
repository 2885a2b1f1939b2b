"""The tools are called by one table of routes, in as few calls as it takes."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastmcp import Client

from harness.agents.reading import ChartReadError, read_source
from harness.scoring.coverage import Search, uncovered
from harness.scoring.gold import Entry
from harness.sources import (
    LONGEST_NAME,
    LONGEST_QUERY,
    MOST_FILTERS,
    ROUTES,
    TEXT_ROUTES,
    text_piece,
)
from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.server import ChartServer, create_server
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from mcp_mimic.text.words import MOST_TERMS, parse_query
from mcp_mimic.tools.shelf import NOTE_TABLES
from mcp_mimic.tools.sources import SOURCES
from tests.harness.tiny import ADMITTED, AS_OF, TinyWorld


@pytest.fixture(scope="module")
def chart(tiny: TinyWorld) -> Iterator[Slice]:
    with open_slice(Store.open(tiny.store), 10000001, AS_OF) as chart:
        yield chart


@pytest.fixture
def server(tiny: TinyWorld, chart: Slice) -> ChartServer:
    grant = Grant(grant="g", task="t", subject_id=10000001, as_of=AS_OF, store=tiny.fingerprint)
    return create_server(chart, grant, audit_dir=None)


def test_every_table_that_a_tool_serves_has_a_route_and_no_other() -> None:
    assert ROUTES.keys() == SOURCES.keys()
    assert ROUTES.keys() <= TABLES.keys()
    assert {source.removesuffix(".text") for source in TEXT_ROUTES} == set(NOTE_TABLES.values())


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("source", list(ROUTES))
async def test_a_route_reads_the_table_that_it_says(server: ChartServer, source: str) -> None:
    async with Client(server.mcp) as client:
        reading = await read_source(client, source)
    assert reading.source == source
    assert len(reading.eids) <= reading.total


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_search_is_read_to_its_end_over_as_many_pages_as_it_has(server: ChartServer) -> None:
    async with Client(server.mcp) as client:
        whole = await read_source(client, "icu.chartevents")
        first = await read_source(client, "icu.chartevents", max_pages=1)
        window = await read_source(
            client,
            "icu.chartevents",
            start=ADMITTED.isoformat(),
            end=(ADMITTED + timedelta(hours=1)).isoformat(),
        )
    assert (whole.total, len(whole.eids)) == (264, 264)
    assert len(whole.calls) >= 2
    assert len(first.calls) == 1
    assert len(first.eids) < first.total
    assert len(window.eids) == 7


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_refused_call_says_why(server: ChartServer) -> None:
    async with Client(server.mcp) as client:
        with pytest.raises(ChartReadError, match="get_labs"):
            await read_source(client, "hosp.labevents", start="the day before yesterday")


def test_many_strings_become_the_fewest_parts_that_cover_them_all() -> None:
    names = [f"drug number {number:03}" for number in range(120)]
    filters = ROUTES["hosp.emar"].filters(None, [*names, "extra drug number 007", "x" * 100])
    assert [len(chunk["names"]) for chunk in filters] == [MOST_FILTERS, MOST_FILTERS, 21]
    assert all(len(name) <= LONGEST_NAME for chunk in filters for name in chunk["names"])
    wanted = Entry("hosp.emar", None, (), (*names, "extra drug number 007", "x" * 100), None, None)
    searches = [
        Search(number, "hosp.emar", None, tuple(chunk["names"]), None, None, complete=True)
        for number, chunk in enumerate(filters)
    ]
    assert uncovered(wanted, searches) is None
    assert uncovered(wanted, searches[:-1]) is not None


@pytest.mark.parametrize(("items", "names"), [(None, None), ([], None), (None, []), (None, ["heparin"])])
def test_a_table_of_items_is_read_whole_where_no_item_is_named(
    items: list[int] | None, names: list[str] | None
) -> None:
    assert ROUTES["icu.inputevents"].filters(items, names) == [{}]


def test_many_terms_become_the_fewest_queries_that_hold_them_all() -> None:
    terms = [f"word number{number:03}" for number in range(30)] + [
        f"{letter * 70}*" for letter in "abcdefghi"
    ]
    pieces = [text_piece(term) for term in terms]
    filters = TEXT_ROUTES["note.discharge.text"].filters(None, pieces)
    queries = [chunk["query"] for chunk in filters]
    assert len(queries) == 3
    assert all(len(query) <= LONGEST_QUERY for query in queries)
    asked = [term.piece for query in queries for term in parse_query(query)]
    assert sorted(asked) == sorted(pieces)
    assert all(len(parse_query(query)) <= MOST_TERMS for query in queries)


def test_a_term_that_holds_another_needs_no_place_of_its_own() -> None:
    pieces = [text_piece(term) for term in ("ejection fraction", "ejection", "lvef")]
    assert TEXT_ROUTES["note.discharge.text"].filters(None, pieces) == [{"query": "ejection lvef"}]
