"""The SQL that all scenarios share: what "given", "recording" and "a result" mean, as DuckDB macros.

`scenarios/definitions/adjudication.sql` serves adjudicate.sql and evidence.sql, `cohort.sql` beside it the
scenarios' cohort.sql. Each file says what its macros return.
"""

import re
from functools import cache

import duckdb

from harness.data import data_folder
from mcp_mimic.store.tables import TABLES

_MACRO = re.compile(r"^create or replace temp macro (\w+)\(", re.MULTILINE)
_TABLE = re.compile(r"\b[a-z]+\.[a-z_]+\b")


def define_for_adjudication(connection: duckdb.DuckDBPyConnection) -> None:
    """Define what adjudicate.sql and evidence.sql may call; needs the tables of `open_tasks`."""
    connection.execute(_text("adjudication"))


def define_for_cohort(connection: duckdb.DuckDBPyConnection) -> None:
    """Define what cohort.sql may call; needs a store in use."""
    connection.execute(_text("cohort"))


def tables_read(adjudicate_sql: str) -> frozenset[str]:
    """The official tables (`hosp.emar`) that the SQL names, by itself or through the macros it calls."""
    called = [body for name, body in _macros().items() if re.search(rf"\b{name}\s*\(", adjudicate_sql)]
    named = {name for text in (adjudicate_sql, *called) for name in _TABLE.findall(text)}
    return frozenset(named & TABLES.keys())


@cache
def _macros() -> dict[str, str]:
    """Each macro of adjudication.sql with its text; none of them calls another one that reads a table."""
    text = re.sub(r"^\s*--.*$", "", _text("adjudication"), flags=re.MULTILINE)
    parts = _MACRO.split(text)[1:]
    return dict(zip(parts[0::2], parts[1::2], strict=True))


@cache
def _text(name: str) -> str:
    return (data_folder("scenarios") / "definitions" / f"{name}.sql").read_text(encoding="utf-8")
