"""Writes the tables as MIMIC-IV 3.1 and its modules ship them: a folder a module, the same bytes each time.

All tables are csv.gz but those of the ECGs, which are published as plain csv.
"""

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcp_mimic.store.tables import REQUIRED_SCHEMAS, TABLES, Table

_LEVEL = 1
"""Fast: the files are read once and deleted."""

_UNPACKED = ("ecg",)

WRITTEN_SCHEMAS = (*REQUIRED_SCHEMAS, "note", "ed", "ecg")
"""The modules that the hospital has; radiographs and echocardiograms it has none."""

OFFICIAL = tuple(table for table in TABLES.values() if table.schema in WRITTEN_SCHEMAS)


class Tables:
    """Open files of all official tables; rows are appended patient by patient."""

    def __init__(self, writers: Mapping[str, Any]) -> None:
        self._writers = writers
        self.counts = dict.fromkeys(writers, 0)

    def write(self, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        """Append rows by table; columns that a row lacks stay empty."""
        for table in OFFICIAL:
            found = rows.get(table.qualified)
            if found:
                names = table.column_names
                lines = [[*map(row.get, names)] for row in found]
                self._writers[table.qualified].writerows(lines)
                self.counts[table.qualified] += len(lines)


@contextmanager
def open_tables(folder: Path) -> Iterator[Tables]:
    """Create `folder` with a folder for every module and a file with its header for every table."""
    with ExitStack() as stack:
        writers = {}
        for table in OFFICIAL:
            writers[table.qualified] = csv.writer(_open(folder, table, stack), lineterminator="\n")
            writers[table.qualified].writerow(table.column_names)
        yield Tables(writers)


def _open(folder: Path, table: Table, stack: ExitStack) -> TextIO:
    path = folder / table.schema / table.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if table.schema in _UNPACKED:
        return stack.enter_context(path.with_suffix(".csv").open("w", encoding="utf-8", newline=""))
    raw = stack.enter_context(path.with_suffix(".csv.gz").open("wb"))
    packed = stack.enter_context(
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0)
    )
    return stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8", newline="", write_through=False))
