"""What stands in the database file of a store beside what an import makes, told without running any of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from mcp_mimic.store.plan import STAMP, create_sql
from mcp_mimic.store.sources import SCHEMAS
from mcp_mimic.store.sql import quote_text
from mcp_mimic.store.tables import TABLES

_OTHER = "has other columns or types than the official layout, or works one out otherwise than an import"

_STORE_TABLE = "main.store"


@dataclass(frozen=True)
class Catalogue:
    """What is wrong with each table that is not as an import makes it, and what no import makes."""

    tables: dict[str, str]
    problems: tuple[str, ...]


def compare_catalogue(connection: duckdb.DuckDBPyConnection, database: str) -> Catalogue:
    """Compare the attached `database` with an empty store; raises duckdb.Error where that cannot be read.

    Only the database's own lists are read, so nothing that it defines is run, whatever it is named.
    """
    with _empty_store() as (empty, memory):
        made = _held(empty, memory)
    found = _held(connection, database)
    tables = {name: problem for name in TABLES if (problem := _problem(name, made, found))}
    problems = [
        f"holds what no import makes: {kind} {name}" for kind, name in sorted(found.keys() - made.keys())
    ]
    stamp = ("table", _STORE_TABLE)
    if found.get(stamp) != made[stamp]:
        problems.append(f"{_STORE_TABLE} is not the table that an import makes")
    return Catalogue(tables, tuple(problems))


type _Held = dict[tuple[str, str], str]
"""(kind, qualified name) → its definition, if its kind has one that counts."""


def _problem(name: str, made: _Held, found: _Held) -> str | None:
    there = found.get(("table", name))
    if there is None:
        return "a view, not a table" if ("view", name) in found else "missing"
    return None if there == made["table", name] else _OTHER


@contextmanager
def _empty_store() -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    with duckdb.connect(":memory:") as connection:
        for schema in SCHEMAS:
            connection.execute(f"CREATE SCHEMA {schema}")
        for table in TABLES.values():
            connection.execute(create_sql(table))
        connection.execute(f"CREATE TABLE {STAMP}")
        yield connection, "memory"


def _held(connection: duckdb.DuckDBPyConnection, database: str) -> _Held:
    own = f"WHERE database_name = {quote_text(database)} AND NOT internal"
    plain = f"WHERE database_name = {quote_text(database)}"
    rows = connection.execute(
        f"""
        SELECT 'table', schema_name || '.' || table_name, sql FROM duckdb_tables() {own}
        UNION ALL SELECT 'view', schema_name || '.' || view_name, '' FROM duckdb_views() {own}
        UNION ALL SELECT 'schema', schema_name, '' FROM duckdb_schemas() {own}
        UNION ALL SELECT 'macro', schema_name || '.' || function_name, '' FROM duckdb_functions() {own}
        UNION ALL SELECT 'type', schema_name || '.' || type_name, '' FROM duckdb_types() {own}
        UNION ALL SELECT 'sequence', schema_name || '.' || sequence_name, '' FROM duckdb_sequences() {plain}
        UNION ALL SELECT 'index', schema_name || '.' || index_name, '' FROM duckdb_indexes() {plain}
        UNION ALL SELECT 'trigger', schema_name || '.' || trigger_name, '' FROM duckdb_triggers() {plain}
        """
    ).fetchall()
    return {(str(kind), str(name)): str(definition) for kind, name, definition in rows}
