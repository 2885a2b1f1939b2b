"""Text to typed values, strictly: what does not fit its type is an error, never null and never rounded.

DuckDB's own casts are kinder than a chart allows: they round 1.5 to 2, drop the time of a date and the
zone of a time, and take 0x1F for a number.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from mcp_mimic.store.layout import Column, Table, Written
from mcp_mimic.store.sql import quote_name

_PATTERNS = {
    "BIGINT": r"[+-]?\d+(\.0*)?",
    "INTEGER": r"[+-]?\d+(\.0*)?",
    "DOUBLE": r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?",
    "TIMESTAMP": r"\d{4}-\d{2}-\d{2}([ T]([01]\d|2[0-3]):\d{2}(:\d{2}(\.\d{1,6})?)?)?",
    "DATE": r"\d{4}-\d{2}-\d{2}([ T]00:00(:00(\.0+)?)?)?",
    "TIME": r"([01]\d|2[0-3]):\d{2}(:\d{2}(\.\d{1,6})?)?",
}
_SOUND = {
    "DOUBLE": "isfinite({value})",
    "TIMESTAMP": "{value} BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
    "DATE": "{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
}
"""What a cast value must be, beside not null. Clients read years of four digits."""
_MEANING = {
    "BIGINT": "a whole number",
    "INTEGER": "a whole number",
    "DOUBLE": "a number",
    "TIMESTAMP": "a time without zone (YYYY-MM-DD HH:MM:SS)",
    "DATE": "a date (YYYY-MM-DD)",
    "TIME": "a time of day",
}
_DICOM_FORMS = {
    Written.DICOM_DATE: r"regexp_replace({text}, '^(\d{{4}})(\d{{2}})(\d{{2}})(\.0*)?$', '\1-\2-\3')",
    # 80556.875 is 08:05:56.875
    Written.DICOM_TIME: r"CASE WHEN regexp_full_match({text}, '\d{{1,6}}(\.\d*)?') THEN regexp_replace("
    r"lpad(split_part({text}, '.', 1), 6, '0') || '.' || left(split_part({text}, '.', 2) || '0', 6), "
    r"'^(\d{{2}})(\d{{2}})(\d{{2}})', '\1:\2:\3') ELSE {text} END",
}
"""SQL over the text of a column for its usual form; what is not in DICOM's form stays as it is."""

OWN_KEY = "an id that begins with the row's subject_id"
_MARK = "does not fit"
LONGEST_VALUE = 60
"""How much of a misfit is shown."""

_RAISED = re.compile(rf"{_MARK}\x1f(?P<column>[^\x1f]*)\x1f(?P<value>[^\x1f]*)\x1f", re.DOTALL)


def typed_select(table: Table, relation: str, found: Collection[str]) -> str:
    """A SELECT of the official columns of `table`, typed, over `relation`, whose columns `found` are all text."""
    columns = ", ".join(
        f"{_typed(column, is_required(table, column.name), is_own_key(table, column))} AS {quote_name(column.name)}"
        if column.name in found
        else f"NULL::{column.type} AS {quote_name(column.name)}"
        for column in table.columns
    )
    return f"SELECT {columns} FROM {_without_dicom_forms(table, relation)}"


def is_required(table: Table, column: str) -> bool:
    """Whether a null in `column` makes a row unusable: it would belong to nobody, or could not be cited."""
    return table.has_subject and column in ("subject_id", table.key)


def is_own_key(table: Table, column: Column) -> bool:
    """Whether `column` is a key that begins with the subject's number, as emar_id, poe_id and note_id do."""
    return column.name == table.key and column.type == "VARCHAR"


@dataclass(frozen=True)
class Misfit:
    """A value that does not fit: its column, the value as text (None for a null), and what it should be."""

    column: str
    value: str | None
    meaning: str


def misfit(table: Table, message: str) -> Misfit | None:
    """The misfit that a DuckDB error raised by `typed_select` reports, None if it is another error."""
    found = _RAISED.search(message)
    if found is None:
        return None
    types = {column.name: column.type for column in table.columns}
    value = found["value"][1:] if found["value"].startswith("=") else None
    return Misfit(found["column"], value, _MEANING.get(types[found["column"]], OWN_KEY))


def _without_dicom_forms(table: Table, relation: str) -> str:
    """`relation` with dates and times that DICOM's way of writing gives as numbers in the usual form."""
    forms = [
        f"{_DICOM_FORMS[column.written].format(text=quote_name(column.name))} AS {quote_name(column.name)}"
        for column in table.columns
        if column.written in _DICOM_FORMS
    ]
    return f"(SELECT * REPLACE ({', '.join(forms)}) FROM {relation})" if forms else relation


def _typed(column: Column, required: bool, own_key: bool) -> str:
    name = quote_name(column.name)
    null = _raise(column.name, "''") if required else "NULL"
    failed = _raise(column.name, f"'=' || left({name}, {LONGEST_VALUE})")
    if own_key:
        begins = f"starts_with({name}, subject_id || '-')"
        return f"CASE WHEN {begins} THEN {name} WHEN coalesce({name}, '') = '' THEN {null} ELSE {failed} END"
    if column.type == "VARCHAR":
        return f"nullif({name}, '')"
    cast = f"try_cast({name} AS {column.type})"
    # DuckDB tells -0.0 from 0.0 in bits and text, but not in order.
    value = f"{cast} + 0.0" if column.type == "DOUBLE" else cast
    pattern = f"regexp_full_match({name}, '{_PATTERNS[column.type]}')"
    sound = _SOUND.get(column.type, "{value} IS NOT NULL").format(value=cast)
    # Nearly every value prints as it was written, and comparing text costs less than a pattern. A DOUBLE
    # prints slowly, and a whole one otherwise than most files write it.
    usual = pattern if column.type == "DOUBLE" else f"{cast}::VARCHAR = {name}"
    return (
        f"CASE WHEN {usual} AND {sound} THEN {value} WHEN {name} IS NULL OR {name} = '' THEN {null} "
        f"WHEN {pattern} AND {sound} THEN {value} ELSE {failed} END"
    )


def _raise(column: str, value: str) -> str:
    return f"error('{_MARK}' || chr(31) || '{column}' || chr(31) || {value} || chr(31))"
