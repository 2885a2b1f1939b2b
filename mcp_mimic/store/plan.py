"""How stored tables are built: in which order, by which SQL."""

import hashlib
import json
from graphlib import TopologicalSorter

from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.evidence import key_id, number_id, number_order, row_number, stored_order, stored_place
from mcp_mimic.store.sql import names, quote_name
from mcp_mimic.store.tables import TABLES, Table

STAMP = "store (format INTEGER, fingerprint VARCHAR)"
"""The table, with its columns, in which a database file says whose it is: one row."""

STAGED = "staging.r"
"""Where the typed rows of one table wait to be numbered and sorted."""


def import_order() -> list[str]:
    """Every table, after the tables that its availability needs."""
    return list(TopologicalSorter({name: needs(name) for name in TABLES}).static_order())


def needs(name: str) -> tuple[str, ...]:
    """The tables that must be stored before `name` is."""
    return AVAILABILITY[name].needs


def create_sql(table: Table) -> str:
    """The statement that creates a stored table, empty: official columns, evidence id, availability.

    An evidence id that stands in the table's key is worked out when it is read, so it takes no room.
    """
    columns = [f"{quote_name(column.name)} {column.type}" for column in table.columns]
    if table.has_subject:
        made = f" GENERATED ALWAYS AS ({key_id(table)}) VIRTUAL" if table.key else ""
        columns += [f"eid VARCHAR{made}", "available_at TIMESTAMP"]
    return f"CREATE TABLE {table.qualified} ({', '.join(columns)})"


def keeps_order(table: Table) -> bool:
    """Whether a file that is in stored order already can be read straight into the table.

    Not where rows must be numbered, look into another table, or stand several under one id.
    """
    alone = table.key is not None and table.shares is None and not table.repeats
    return alone and not AVAILABILITY[table.qualified].joins


def unsorted_sql(table: Table, relation: str) -> str:
    """The statement that fills a table that `keeps_order` from `relation`, typed rows in the file's order."""
    return f"{_insert(table)} SELECT {_columns(table)}, {_available(table)} FROM {relation} r"


def out_of_order_sql(table: Table) -> str:
    """How many rows of a filled table that `keeps_order` do not come after the row before them."""
    return (
        f"SELECT count(*) FROM (SELECT place <= lag(place) OVER () AS back FROM "
        f"(SELECT {stored_place(table)} AS place FROM {table.qualified} r)) WHERE back"
    )


def sorted_sql(table: Table) -> str:
    """The statement that fills a stored table from the staged rows: availability, evidence ids, order."""
    columns = _columns(table)
    if not table.has_subject:
        return f"{_insert(table)} SELECT {columns} FROM {STAGED} r ORDER BY {stored_order(table)}"
    number = "" if table.key else f"{number_id(table)}, "
    return (
        f"{_insert(table)} SELECT {columns}, {number}r.available_at FROM ("
        f"SELECT {columns}, r.available_at, {row_number(table)} AS n FROM ("
        f"SELECT {columns}, {_available(table)} AS available_at "
        f"FROM {STAGED} r {AVAILABILITY[table.qualified].joins}) r) r ORDER BY {stored_order(table)}"
    )


def other_moments_sql(table: Table) -> str:
    """How many rows of a filled table have another moment of availability than the rules give them."""
    return f"SELECT count(*) FROM ({_again(table)}) r WHERE r.available_at IS DISTINCT FROM r.again"


def other_ids_sql(table: Table) -> str:
    """How many rows of a filled table without a key have another evidence id than the rules give them.

    Rows that are the same in every official column may share their numbers out among them as they like.
    """
    if table.kind is None:
        return f"SELECT count(*) FROM {table.qualified} WHERE eid IS NOT NULL"
    order = f"{number_order(table, 'again')}, length(r.eid), r.eid"
    return (
        f"SELECT count(*) FROM (SELECT r.eid, row_number() OVER (PARTITION BY r.subject_id ORDER BY {order}) AS n "
        f"FROM ({_again(table)}) r) r WHERE r.eid IS DISTINCT FROM {number_id(table)}"
    )


def _again(table: Table) -> str:
    """The rows of a filled table, with their moment of availability worked out `again`."""
    joins = AVAILABILITY[table.qualified].joins
    return f"SELECT r.*, {_available(table)} AS again FROM {table.qualified} r {joins}"


def _columns(table: Table) -> str:
    return names(table.column_names, "r")


def _available(table: Table) -> str:
    return f"({AVAILABILITY[table.qualified].row})::TIMESTAMP"


def _insert(table: Table) -> str:
    stored = [*table.column_names]
    if table.has_subject:
        stored += ["available_at"] if table.key else ["eid", "available_at"]
    return f"INSERT INTO {table.qualified} ({names(stored)})"


def table_rules(table: Table) -> str:
    """Digest of the SQL of one table: another digest, another table."""
    text = json.dumps([create_sql(table), sorted_sql(table)])
    return hashlib.sha256(text.encode()).hexdigest()


def rules() -> str:
    """Digest of the rules of all tables, as a manifest records it."""
    text = json.dumps([table_rules(table) for table in TABLES.values()])
    return hashlib.sha256(text.encode()).hexdigest()
