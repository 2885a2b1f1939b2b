"""How stored tables are built: in which order, by which SQL."""

import hashlib
import json
from graphlib import TopologicalSorter

from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.evidence import evidence_id, row_number, stored_order
from mcp_mimic.store.sql import names
from mcp_mimic.store.tables import TABLES, Table

STAGED = "staging.r"
"""Where the typed rows of one table wait to be numbered and sorted."""


def import_order() -> list[str]:
    """Every table, after the tables that its availability needs."""
    return list(TopologicalSorter({name: needs(name) for name in TABLES}).static_order())


def needs(name: str) -> tuple[str, ...]:
    """The tables that must be stored before `name` is."""
    return AVAILABILITY[name].needs


def empty_sql(table: Table) -> str:
    """A SELECT of no rows with the official columns."""
    columns = ", ".join(f'NULL::{column.type} AS "{column.name}"' for column in table.columns)
    return f"SELECT {columns} LIMIT 0"


def absent_sql(table: Table) -> str:
    """The statement that builds the empty table of an absent module."""
    added = ", NULL::VARCHAR AS eid, NULL::TIMESTAMP AS available_at" if table.has_subject else ""
    return f"CREATE TABLE {table.qualified} AS SELECT *{added} FROM ({empty_sql(table)})"


def table_sql(table: Table) -> str:
    """The statement that builds a stored table from the staged rows: availability, evidence ids, order."""
    if not table.has_subject:
        return f"CREATE TABLE {table.qualified} AS FROM {STAGED} r ORDER BY {stored_order(table)}"
    availability = AVAILABILITY[table.qualified]
    columns = names(table.column_names, "r")
    return (
        f"CREATE TABLE {table.qualified} AS "
        f"SELECT {columns}, {evidence_id(table)} AS eid, r.available_at FROM ("
        f"SELECT {columns}, r.available_at, {row_number(table)} AS n FROM ("
        f"SELECT {columns}, ({availability.row})::TIMESTAMP AS available_at "
        f"FROM {STAGED} r {availability.joins}) r) r ORDER BY {stored_order(table)}"
    )


def table_rules(table: Table) -> str:
    """Digest of the SQL and types of one table: another digest, another table."""
    text = json.dumps([table_sql(table), [column.type for column in table.columns]])
    return hashlib.sha256(text.encode()).hexdigest()


def rules() -> str:
    """Digest of the rules of all tables, as a manifest records it."""
    text = json.dumps([table_rules(table) for table in TABLES.values()])
    return hashlib.sha256(text.encode()).hexdigest()
