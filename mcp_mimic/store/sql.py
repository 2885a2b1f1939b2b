"""Small pieces of SQL text."""

from collections.abc import Iterable


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
