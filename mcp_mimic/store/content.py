"""Content digests: what a table holds, whatever its file's format and the order of its rows.

A row's digest is the md5 of its official columns in one text, with a control character between them that
only an accident could put into a value (then two rows can have one text). A table's digest is taken over
the number of rows and the sums of both halves of the rows' digests, so that it needs no sort and no
memory. This guards against accidents, not against forgers.
"""

import hashlib
import json
from collections.abc import Mapping

import duckdb

from mcp_mimic.store.sql import one_row
from mcp_mimic.store.tables import Column, Table

_SEPARATOR = "chr(31)"


def content_digest(connection: duckdb.DuckDBPyConnection, table: Table, relation: str) -> tuple[int, str]:
    """Rows and content digest of `relation`, SQL that yields the official columns of `table`, typed."""
    # Concatenation takes a null for an empty text, and typed rows hold none of those.
    row = f", {_SEPARATOR}, ".join(_text(column) for column in table.columns)
    rows, low, high = one_row(
        connection,
        "SELECT count(*), sum((h & 18446744073709551615::UHUGEINT)::HUGEINT), sum((h >> 64)::HUGEINT) "
        f"FROM (SELECT md5_number(concat({row})) AS h FROM {relation})",
    )
    return int(rows), _table_digest(table, int(rows), low, high)


def empty_digest(table: Table) -> str:
    """The content digest of the table without rows."""
    return _table_digest(table, 0, None, None)


def fingerprint(digests: Mapping[str, tuple[int, str]]) -> str:
    """One fingerprint over (rows, digest) of tables by name; an empty table counts as an absent one."""
    return _digest([[name, digest] for name, (rows, digest) in sorted(digests.items()) if rows])


def _table_digest(table: Table, rows: int, low: int | None, high: int | None) -> str:
    return _digest([table.qualified, *table.column_names, rows, str(low), str(high)])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def _text(column: Column) -> str:
    match column.type:
        case "VARCHAR":
            return f'"{column.name}"'
        case "TIMESTAMP":
            return f'epoch_us("{column.name}")::VARCHAR'
        case "DOUBLE":
            # Its 64 bits as an integer: exact, and quicker than digits.
            return f'"{column.name}"::BIT::BIGINT::VARCHAR'
        case _:
            return f'"{column.name}"::VARCHAR'
