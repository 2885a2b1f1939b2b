"""What an official table is: its columns with their types, its key, its event time, its files.

Column names are in lower case, whatever the case in the files (icu.procedureevents of 2.2 writes
ORIGINALAMOUNT), with an underscore for a blank (the labels of chest radiographs). Times are the shifted
local times of the database, without a time zone.
"""

from dataclasses import dataclass
from enum import StrEnum

_TYPES = {
    "i": "INTEGER",
    "I": "BIGINT",
    "s": "VARCHAR",
    "t": "TIMESTAMP",
    "d": "DATE",
    "f": "DOUBLE",
    "D": "DATE",
    "T": "TIME",
}


class Written(StrEnum):
    """How the values of a column stand in the official file."""

    PLAIN = "plain"
    DICOM_DATE = "YYYYMMDD"
    DICOM_TIME = "HHMMSS.ffffff, without leading zeros"


_WRITTEN = {"D": Written.DICOM_DATE, "T": Written.DICOM_TIME}


@dataclass(frozen=True)
class Column:
    """One official column and the DuckDB type it is stored as.

    `sometimes` marks a column that not every release of its module has: where it is missing it is null.
    """

    name: str
    type: str
    written: Written = Written.PLAIN
    sometimes: bool = False


@dataclass(frozen=True)
class Table:
    """One official table.

    `kind` is the prefix of its evidence ids, None where its rows are not citable by themselves.
    `key` is the official column whose value (less the subject's number) makes the evidence id; None
    means that rows are numbered per subject by content order, behind the letter `mark` where the kind has
    another table with numbers of its own. `time` is the event-time column, None where the table has none.
    `shares` names the table whose evidence id a detail table carries; `repeats` says that several rows of
    the table itself stand under one id (the images of a study). `files` are the names under which its
    module publishes it, if not under the table's own.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    kind: str | None = None
    key: str | None = None
    mark: str = ""
    time: str | None = None
    shares: str | None = None
    repeats: bool = False
    files: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """`schema.table`, as it is written everywhere."""
        return f"{self.schema}.{self.name}"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Official column names in official order."""
        return tuple(column.name for column in self.columns)

    @property
    def has_subject(self) -> bool:
        """Whether the table's rows belong to subjects (dictionaries' do not)."""
        return "subject_id" in self.column_names


def column_name(header: str) -> str:
    """The name of a column as a store has it, from the way a file writes it."""
    return header.strip().lower().replace(" ", "_")


def official(
    qualified: str,
    columns: str,
    *,
    kind: str | None = None,
    key: str | None = None,
    mark: str = "",
    time: str | None = None,
    shares: str | None = None,
    repeats: bool = False,
    files: tuple[str, ...] = (),
) -> Table:
    """A table from `schema.table` and its columns as `name:type`, with a `?` behind a column of some releases."""
    schema, name = qualified.split(".")
    parsed = tuple(_column(word) for word in columns.split())
    return Table(schema, name, parsed, kind, key, mark, time, shares, repeats, files)


def _column(word: str) -> Column:
    name, code = word.rstrip("?").split(":")
    return Column(name, _TYPES[code], _WRITTEN.get(code, Written.PLAIN), word.endswith("?"))
