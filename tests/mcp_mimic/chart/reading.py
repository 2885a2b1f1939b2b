"""Reading raw rows out of a store and served rows out of a slice, as plain Python values."""

from datetime import datetime
from typing import Any

import duckdb

from mcp_mimic.chart.slice import Slice
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from tests.mcp_mimic.chart.truth import SUBJECT_TABLES, Truth

Served = dict[str, list[dict[str, Any]]]


def rows_of(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    """The result of a query as dictionaries."""
    result = connection.execute(sql)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def truth_of(store: Store, subject_id: int) -> Truth:
    """The subject's raw rows: official columns only, none of the store's own."""
    with duckdb.connect() as connection:
        store.attach(connection)
        rows = {}
        for name in SUBJECT_TABLES:
            columns = ", ".join(f'"{column}"' for column in TABLES[name].column_names)
            sql = f"select {columns} from store.{name} where subject_id = {subject_id}"
            rows[name] = rows_of(connection, sql)
    return Truth(subject_id, rows)


def subjects_of(store: Store) -> list[int]:
    """Every subject of a store."""
    with duckdb.connect() as connection:
        store.attach(connection)
        found = connection.execute("select subject_id from store.hosp.patients order by 1").fetchall()
    return [int(row[0]) for row in found]


def moments_of(truth: Truth) -> list[datetime]:
    """Every moment that the subject's record names or at which a row of it is known, from birth on."""
    birth = min(row["anchor_year"] - row["anchor_age"] for row in truth.rows["hosp.patients"])
    found = {datetime(birth, 1, 1)}
    for table, rows in truth.rows.items():
        for row in rows:
            named = [*row.values(), truth.known(table, row)]
            found.update(value for value in named if isinstance(value, datetime) and value.year >= birth)
    return sorted(found)


def served_by(chart: Slice) -> Served:
    """Every row of every subject table of a slice."""
    cursor = chart.cursor()
    return {name: rows_of(cursor, f"from {name}") for name in SUBJECT_TABLES}
