"""For any grant and any arguments: what is served is the grant's, known by then, counted right, never a crash."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_mimic.chart.querying import queryable
from mcp_mimic.chart.statement import FUNCTIONS, read_statement
from mcp_mimic.contract import Limits, parse_eid, read_audit
from mcp_mimic.errors import ToolError
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from mcp_mimic.tools.catalogue import all_tools
from tests.adversarial.guarded import guarded_session
from tests.adversarial.sql_attempts import BOMBS, REFUSED_SQL
from tests.mcp_mimic.chart.edges import DEE, FIRST
from tests.mcp_mimic.chart.reading import moments_of, rows_of, subjects_of, truth_of
from tests.mcp_mimic.charts import Session, Told

quick = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def store(edge_store: Store) -> Store:
    return edge_store


# --- grants --------------------------------------------------------------------------------------------


def row_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool that answers with rows of one table, once for each of its tables."""
    for name, tool in all_tools().items():
        if {"source", "rows"} <= set((tool.output_schema or {})["properties"]):
            kinds = {
                k: v["enum"] for k, v in tool.parameters["properties"].items() if k in ("kind", "record")
            }
            for which, values in kinds.items() or {"": [""]}.items():
                for value in values:
                    yield name, {which: value} if which else {}


LABELS = {"1.0": "positive", "0.0": "negative", "-1.0": "uncertain"}
"""The words in which the labels of a radiograph are served."""


@cache
def _stored(folder: Path, table: str, subject_id: int) -> Mapping[str, list[dict[str, Any]]]:
    """The subject's rows in the store itself, by evidence id."""
    with duckdb.connect() as connection:
        Store.open(folder).attach(connection)
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in rows_of(connection, f"from store.{table} where subject_id = {subject_id}"):
            rows.setdefault(row["eid"], []).append(row)
        return rows


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def _require_own(row: dict[str, Any], table: str, store: Store, subject_id: int, as_of: datetime) -> None:
    stored = _stored(store.path, table, subject_id)
    eid = parse_eid(row["eid"])
    assert eid is not None
    if eid.kind == "micro" and eid.key.startswith("s"):
        specimen = [
            one for some in stored.values() for one in some if one["micro_specimen_id"] == int(eid.key[1:])
        ]
        assert specimen
        assert "test_name" not in row
        return
    assert row["eid"] in stored, (table, row["eid"])
    own = stored[row["eid"]]
    assert min(one["available_at"] for one in own) <= as_of
    for name in set(row) & set(TABLES[table].column_names):
        possible = {_plain(one[name]).removeprefix(f"{subject_id}-") for one in own}
        if table == "cxr.chexpert":
            possible = {LABELS.get(value, value) for value in possible}
        assert _plain(row[name]) in possible, (table, name, row[name], possible)


async def _pages(session: Session, tool: str, arguments: dict[str, Any]) -> list[Told]:
    told = [await session.call(tool, **arguments)]
    while not told[-1].is_error and told[-1].data["next_cursor"]:
        told.append(await session.call(tool, **arguments, cursor=told[-1].data["next_cursor"]))
    return told


def _require_counts(pages: list[Told], eids: list[str], total: int) -> None:
    assert len(eids) == total
    assert [page.data["complete"] for page in pages] == [False] * (len(pages) - 1) + [True]
    assert {page.data["total"] for page in pages} == {total}
    assert pages[-1].data["returned"] == total
    assert all(page.data["recording"]["rows_in_window"] >= total for page in pages)


@st.composite
def grants(draw: st.DrawFn, store: Store) -> dict[str, Any]:
    subject_id = draw(st.sampled_from(subjects_of(store)))
    truth = truth_of(store, subject_id)
    moments = moments_of(truth)
    step = draw(
        st.sampled_from([timedelta(0), timedelta(seconds=-1), timedelta(seconds=1), timedelta(hours=7)])
    )
    return {
        "subject_id": subject_id,
        "as_of": max(moments[0], draw(st.sampled_from(moments)) + step),
        "sealed_hadm_id": draw(st.sampled_from([None, *truth.admission])),
        "tools": ("*",),
        "limits": Limits(
            calls=10_000,
            rows=draw(st.sampled_from([1, 2, 200])),
            chars=draw(st.sampled_from([4_000, 16_000])),
            total_chars=10**9,
        ),
    }


def _serve(store: Store, grant: dict[str, Any], order: str) -> None:
    subject_id, as_of = grant["subject_id"], grant["as_of"]
    others = [str(other) for other in subjects_of(store) if other != subject_id]

    async def go(folder: Path) -> None:
        async with guarded_session(folder, store, **grant) as session:
            for tool, arguments in row_calls():
                pages = await _pages(session, tool, arguments | {"order": order})
                assert not pages[0].is_error, (tool, pages[0].text)
                eids: list[str] = []
                for page in pages:
                    for row in page.data["rows"]:
                        _require_own(row, page.data["source"], store, subject_id, as_of)
                    eids += page.eids
                    answer = page.text + json.dumps(page.data)
                    assert not [number for number in (*others, str(subject_id)) if number in answer], tool
                _require_counts(pages, eids, pages[0].data["total"])
                stored = _stored(store.path, pages[0].data["source"], subject_id)
                # the images of a study share its evidence id; no row comes more often than it is there
                assert not [e for e, n in Counter(eids).items() if n > len(stored.get(e, "1"))]
            lines = (folder / "audit.jsonl").read_text().splitlines()
            served = {eid for call in read_audit(lines).calls for eid in call["eids"]}
            assert served <= {eid for table in TABLES for eid in _known(store, table, subject_id, as_of)}

    asyncio.run(go(_folder(store)))


@pytest.mark.parametrize(
    ("as_of", "sealed", "rows", "order"),
    [(datetime(2160, 5, 3, 12), None, 2, "newest"), (datetime(2161, 1, 1), FIRST, 200, "oldest")],
    ids=["in the ICU", "long after a sealed admission"],
)
def test_every_row_is_the_subjects_and_known_by_then_and_counts_agree(
    store: Store, as_of: datetime, sealed: int | None, rows: int, order: str
) -> None:
    limits = Limits(calls=10_000, rows=rows, total_chars=10**9)
    grant = {"subject_id": DEE, "as_of": as_of, "sealed_hadm_id": sealed, "tools": ("*",), "limits": limits}
    _serve(store, grant, order)


@pytest.mark.slow
@settings(quick, max_examples=25)
@given(data=st.data())
def test_every_row_is_the_subjects_and_known_by_then_and_counts_agree_at_length(
    store: Store, data: st.DataObject
) -> None:
    _serve(store, data.draw(grants(store)), data.draw(st.sampled_from(["newest", "oldest"])))


def _known(store: Store, table: str, subject_id: int, as_of: datetime) -> set[str]:
    if not TABLES[table].has_subject:
        return set()
    stored = _stored(store.path, table, subject_id)
    pending = (
        {f"micro:s{row['micro_specimen_id']}" for rows in stored.values() for row in rows}
        if (table == "hosp.microbiologyevents")
        else set()
    )
    return pending | {eid for eid, rows in stored.items() if eid and rows[0]["available_at"] and min(
        row["available_at"] for row in rows
    ) <= as_of}  # fmt: skip


_made = iter(range(10**9))


def _folder(store: Store) -> Path:
    return store.path.parent / f"served-audit{next(_made)}"


# --- arguments -----------------------------------------------------------------------------------------

ODD_TEXTS = [
    "", " ", "0", "-1", "null", "2150-03-01", "creatinine", "50912", "a" * 300, "\x00", "\u202e", "\ud7ff", "é", "🫀", "%", "_",
    "' or 1=1 --", "[50912]", '["x"]', "{}", "1,2,3", "*", '"', 'a"b', "calc*", "*", "note:RR-1", "note:RR-1#1", "policy:x#1",
    "9999-12-31T23:59:59.999999", "0001-01-01", "2150-W10", "inf", "nan", "1e999", "true", "\\", "\n", "$1", "{cursor}",
]  # fmt: skip
texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=40)
numbers = st.sampled_from([0, 1, -1, 50912, 2**31, 2**53, 2**64, -(2**63)]) | st.integers(-5, 300)
anything = st.recursive(
    st.none() | st.booleans() | numbers | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def fitting(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema seems to want; not always the ones that it admits."""
    if "anyOf" in schema:
        return st.one_of([fitting(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("type") == "array":
        return st.lists(fitting(schema["items"]), max_size=4)
    return {"integer": numbers, "string": texts, "null": st.none(), "boolean": st.booleans()}.get(
        schema.get("type", ""), anything
    )


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from([name for name in all_tools() if name != "query_chart"]))
    schema = all_tools()[tool].parameters
    arguments = {}
    for name, wanted in schema["properties"].items():
        if name in schema.get("required", ()) or draw(st.booleans()):
            arguments[name] = draw(fitting(wanted) if draw(st.integers(0, 5)) else anything)
    if not draw(st.integers(0, 9)):
        arguments[draw(texts)] = draw(anything)
    return tool, arguments


def _sendable(arguments: dict[str, Any]) -> bool:
    """Whether JSON can hold it, and the client of these tests: its own argument is called `tool`."""
    try:
        json.dumps(arguments, allow_nan=False).encode()
    except ValueError:
        return False
    return not {"tool", "self"} & set(arguments)


def _fuzz(store: Store, some: list[tuple[str, dict[str, Any]]]) -> None:
    async def go(folder: Path) -> None:
        as_of = datetime(2150, 3, 3)
        limits = Limits(calls=10**6, total_chars=10**9)
        async with guarded_session(folder, store, as_of=as_of, tools=("*",), limits=limits) as session:
            for tool, arguments in some:
                if not _sendable(arguments):
                    continue
                told = await session.call(tool, **arguments)
                code = told.data.get("error", {}).get("code")
                assert code != "internal", (tool, arguments)
                assert bool(code) is told.is_error, (tool, arguments)
                assert told.data["call"] == f"search:{len(session.audit().calls)}", (tool, arguments)
                assert len(json.dumps(session.last())) < 20_000
            assert session.audit().problem is None

    asyncio.run(go(_folder(store)))


@settings(quick, max_examples=6)
@given(some=st.lists(calls(), min_size=8, max_size=8))
def test_no_arguments_of_any_tool_cause_an_internal_error(store: Store, some: list[Any]) -> None:
    _fuzz(store, some)


@pytest.mark.slow
@settings(quick, max_examples=150)
@given(some=st.lists(calls(), min_size=10, max_size=10))
def test_no_arguments_of_any_tool_cause_an_internal_error_at_length(store: Store, some: list[Any]) -> None:
    _fuzz(store, some)


WORDS = sorted({word for sql in (*REFUSED_SQL, *BOMBS) for word in sql.split()})
sql_words = st.sampled_from(WORDS) | st.sampled_from(sorted(FUNCTIONS)) | st.sampled_from(sorted(queryable()))
sql_texts = st.lists(
    sql_words | st.sampled_from(["(", ")", ",", "'", '"', ";", "--", "/*", "$$"]) | texts, max_size=12
)


@settings(quick, max_examples=150)
@given(words=sql_texts)
def test_any_text_as_sql_is_one_select_or_refused_with_a_rule(words: list[str]) -> None:
    sql = "select " + " ".join(words)
    rule = None
    try:
        statement = read_statement(duckdb.default_connection(), sql, queryable())
    except ToolError as error:
        rule = error.code
    else:
        assert set(statement.tables) <= set(queryable())
    assert rule in {None, "sql.syntax", "query.select", "query.part", "query.table", "query.function"}
