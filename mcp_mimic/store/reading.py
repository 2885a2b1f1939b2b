"""Reading one source file into typed rows."""

import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from mcp_mimic.errors import StoreError
from mcp_mimic.store.integrity import REPACK
from mcp_mimic.store.layout import column_name
from mcp_mimic.store.sources import SourceFile
from mcp_mimic.store.sql import one_row, quote_name, quote_text
from mcp_mimic.store.store import first_line
from mcp_mimic.store.strict import LONGEST_VALUE, OWN_KEY, Misfit, misfit, typed_select

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_LONG_LINE = 4_000_000  # the longest notes have about a hundred thousand characters
_NOT_UTF8 = "Invalid unicode"


def typed_rows(connection: duckdb.DuckDBPyConnection, source: SourceFile, columns: tuple[str, ...]) -> str:
    """A SELECT of the official columns, typed, over the file; `columns` are the file's, in its order."""
    if source.suffix == ".parquet":
        return typed_select(source.table, _parquet_text(connection, source), columns)
    official = source.table.column_names
    names = [name if name in official else f"unread {place}" for place, name in enumerate(columns)]
    declared = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
    relation = (
        f"read_csv({quote_text(str(source.path))}, auto_detect = false, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', nullstr = '', strict_mode = true, max_line_size = {_LONG_LINE}, "
        # By default a buffer holds sixteen such lines, whatever the memory limit.
        f"buffer_size = {2 * _LONG_LINE}, "
        f"columns = {{{declared}}})"
    )
    return typed_select(source.table, relation, columns)


SHORTAGES = (
    duckdb.OutOfMemoryException,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.FatalException,
)
"""What DuckDB raises for want of memory or disk, by where it notices: reading, committing or checkpointing."""


@contextmanager
def reading(source: SourceFile) -> Iterator[None]:
    """Turn DuckDB's errors over the content of `source` into one line that names file, line and column."""
    try:
        yield
    except SHORTAGES as error:
        if "gzip" not in str(error).lower():
            raise
        raise StoreError(
            f"{source.path}: packed in a way that cannot be read ({first_line(error)})",
            REPACK,
            code="broken_file",
        ) from error
    except duckdb.Error as error:
        found = misfit(source.table, str(error))
        if found is not None:
            raise _misfit_error(source, found) from error
        line = _LINE.search(str(error))
        if line is None:
            raise StoreError(
                f"{source.path}: cannot be read ({first_line(error)})",
                "compare it with the release's SHA256SUMS.txt",
            ) from error
        if _NOT_UTF8 in str(error):
            raise StoreError(
                f"{source.path}: line {line[1]} is not UTF-8 text",
                "download it again, or convert it: iconv -f LATIN1 -t UTF-8 (if that is what it is in)",
                code="bad_row",
            ) from error
        raise StoreError(
            f"{source.path}: line {line[1]} is not a row of {source.table.qualified} ({_reason(str(error))})",
            "the file was cut or edited: download it again, or mend that line",
            code="bad_row",
        ) from error


def _parquet_text(connection: duckdb.DuckDBPyConnection, source: SourceFile) -> str:
    file = f"read_parquet({quote_text(str(source.path))})"
    with reading(source):
        types = {
            str(row[0]): str(row[1])
            for row in connection.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()
        }
    official = {column.name: column.type for column in source.table.columns}
    for name, type_ in types.items():
        if official.get(column_name(name)) == "VARCHAR" and type_ != "VARCHAR":
            _require_empty(connection, source, file, name, type_)
    columns = ", ".join(
        f"{quote_name(name)}::VARCHAR AS {quote_name(column_name(name))}"
        for name in types
        if column_name(name) in official
    )
    return f"(SELECT {columns} FROM {file})"


def _require_empty(
    connection: duckdb.DuckDBPyConnection, source: SourceFile, file: str, name: str, type_: str
) -> None:
    """A text column may only be stored as another type when it holds nothing: leading zeros would be lost."""
    with reading(source):
        (values,) = one_row(connection, f"SELECT count({quote_name(name)}) FROM {file}")
    if values:
        raise StoreError(
            f"{source.path}: column {column_name(name)} is stored as {type_}, it must be text",
            "write the parquet file with that column as text: numbers have lost their leading zeros",
            code="bad_value",
        )


def _misfit_error(source: SourceFile, found: Misfit) -> StoreError:
    line = None if source.suffix == ".parquet" else _line_of(source, found)
    where = f"{source.path}: {f'line {line}, ' if line else ''}column {found.column}"
    what = "empty, every row needs one" if found.value is None else f"{found.value!r} is not {found.meaning}"
    return StoreError(f"{where}: {what}", "mend the file, or download it again", code="bad_value")


def _line_of(source: SourceFile, found: Misfit) -> int | None:
    """The line on which the first row with the misfit ends."""
    csv.field_size_limit(_LONG_LINE)
    unpack = gzip.open if source.suffix == ".csv.gz" else open
    with unpack(source.path, "rt", encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = csv.reader(text)
        header = [column_name(name) for name in next(rows)]
        for values in rows:
            if not values:
                continue  # DuckDB passes over empty lines too
            row = dict(zip(header, values, strict=False))
            value = row.get(found.column, "")
            own = found.meaning == OWN_KEY and value.startswith(f"{row.get('subject_id')}-")
            if value[:LONGEST_VALUE] == (found.value or "") and not own:
                return rows.line_num
    return None


def _reason(message: str) -> str:
    lines = [line for line in message.splitlines()[1:] if line and not line.startswith("Original Line")]
    return lines[0].rstrip(".") if lines else first_line(Exception(message))
