"""Evidence ids of stored rows, and the order that rows are stored in.

A table with an official key takes its ids from it, less the subject's number. The rows of every other
table are numbered per subject in the order in which they became available, and by content order among
rows of one moment (event time first, then every official column in official order, nulls first, text
byte by byte). So the numbers are the same whatever the file's format and row order, and the numbers of
the rows that are available at any moment run without gaps: they say nothing of the rows to come.
"""

from mcp_mimic.store.layout import Table
from mcp_mimic.store.sql import names, quote_name


def row_number(table: Table) -> str:
    """SQL over alias `r` (with `available_at`) for what orders, and if no key does names, a subject's rows."""
    if table.key is not None:
        return _key_order(table)
    return f"row_number() OVER (PARTITION BY r.subject_id ORDER BY {number_order(table, 'available_at')})"


def number_order(table: Table, moment: str) -> str:
    """ORDER BY over alias `r` in which a subject's rows are numbered; `moment` is the column of their availability."""
    return f"r.{moment} NULLS LAST, {content_order(table, 'r')}"


def key_id(table: Table) -> str:
    """SQL over the columns of a table with a key for the evidence id, less its table; null if it has none."""
    if table.kind is None:
        return "NULL::VARCHAR"
    column = quote_name(table.key or "")
    own = f"substr({column}, length(subject_id::VARCHAR) + 2)" if _is_text_key(table) else column
    return f"'{table.kind}:' || {own}"


def number_id(table: Table) -> str:
    """SQL over alias `r` (with the row number as `n`) for the evidence id of a table without a key, less its table."""
    return "NULL::VARCHAR" if table.kind is None else f"'{table.kind}:{table.mark}' || r.n"


def stored_order(table: Table) -> str:
    """ORDER BY over alias `r` that a table is stored in: subject, time, evidence id; dictionaries by content."""
    if not table.has_subject:
        return f"{names(table.column_names, 'r')}"
    time = [f"r.{quote_name(table.time)} NULLS FIRST"] if table.time else []
    rest = [content_order(table, "r")] if table.shares or table.repeats or table.kind is None else []
    return ", ".join(["r.subject_id", *time, "r.n", *rest])


def stored_place(table: Table) -> str:
    """SQL over alias `r` for a value that grows along the stored order of a table with one row for each key."""
    time = f"coalesce(r.{quote_name(table.time)}::TIMESTAMP, '-infinity')" if table.time else "NULL"
    return f"(r.subject_id, {time}, {_key_order(table)})"


def content_order(table: Table, alias: str) -> str:
    """ORDER BY list of the content order of one subject's rows."""
    others = [name for name in table.column_names if name not in ("subject_id", table.time)]
    first = [table.time] if table.time else []
    return ", ".join(f"{alias}.{quote_name(name)} NULLS FIRST" for name in [*first, *others])


def _is_text_key(table: Table) -> bool:
    return next(c for c in table.columns if c.name == table.key).type == "VARCHAR"


def _key_order(table: Table) -> str:
    if not _is_text_key(table):
        return f"r.{quote_name(table.key or '')}"
    column = f"r.{quote_name(table.key or '')}"
    return f"struct_pack(number := try_cast(split_part({column}, '-', -1) AS BIGINT), key := {column})"
