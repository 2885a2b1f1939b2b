"""Writes the tables as MIMIC-IV 3.1 ships them: hosp/ and icu/, one csv.gz a table, the same bytes each time."""

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mcp_mimic.store.tables import REQUIRED_SCHEMAS, TABLES

_LEVEL = 1
"""Fast: the files are read once and deleted."""

OFFICIAL = tuple(table for table in TABLES.values() if table.schema in REQUIRED_SCHEMAS)


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
    """Create `folder` with hosp/ and icu/ and a file with its header for every table."""
    with ExitStack() as stack:
        writers = {}
        for table in OFFICIAL:
            path = folder / table.schema / f"{table.name}.csv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = stack.enter_context(path.open("wb"))
            packed = stack.enter_context(
                gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0)
            )
            text = stack.enter_context(
                io.TextIOWrapper(packed, encoding="utf-8", newline="", write_through=False)
            )
            writers[table.qualified] = csv.writer(text, lineterminator="\n")
            writers[table.qualified].writerow(table.column_names)
        yield Tables(writers)
