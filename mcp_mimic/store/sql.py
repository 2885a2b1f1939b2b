"""Small pieces of SQL text."""

from collections.abc import Iterable
from typing import Any

import duckdb


def quote_text(text: str) -> str:
    """`text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def names(columns: Iterable[str], alias: str = "") -> str:
    """A comma-separated list of quoted column names, each behind `alias` if one is given."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(prefix + quote_name(column) for column in columns)


def one_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The only row of a query, read to its end so that the connection is free again."""
    (row,) = connection.execute(query).fetchall()
    return tuple(row)
