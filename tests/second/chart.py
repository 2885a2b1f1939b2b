"""One patient's rows as of one moment, for rules written a second time.

Only rows are fetched here; what they mean is each scenario's own business.
"""

import csv
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.store.store import Store

Row = dict[str, Any]
"""A served row by column name; times are naive datetimes of the record."""


@dataclass(frozen=True)
class Case:
    """What a cohort file says of a case, without its label."""

    scenario: str
    subject_id: int
    hadm_id: int | None
    stay_id: int | None
    index_time: datetime
    as_of: datetime
    sealed_hadm_id: int | None
    index_eid: str
    params: dict[str, Any]

    @classmethod
    def read(cls, line: dict[str, str]) -> "Case":
        """A case from one line of a cohort file (CSV, all values text)."""
        return cls(
            scenario=line["scenario"],
            subject_id=int(line["subject_id"]),
            hadm_id=_number(line["hadm_id"]),
            stay_id=_number(line["stay_id"]),
            index_time=datetime.fromisoformat(line["index_time"]),
            as_of=datetime.fromisoformat(line["as_of"]),
            sealed_hadm_id=_number(line["sealed_hadm_id"]),
            index_eid=line["index_eid"],
            params=json.loads(line["params"] or "{}"),
        )


def read_cases(cohort: Path, number: int) -> list[tuple[Case, str]]:
    """The cases of the scenario with this number and the label that the cohort file gives each."""
    with cohort.open(newline="") as file:
        return [
            (Case.read(line), line["gold"])
            for line in csv.DictReader(file)
            if line["scenario"].startswith(f"{number:02d}-")
        ]


class Chart:
    """The tables of one slice, as lists of rows."""

    def __init__(self, source: Slice) -> None:
        self._cursor = source.cursor()
        self._kept: dict[tuple[str, frozenset[int] | None], list[Row]] = {}

    def rows(self, table: str, items: Collection[int] | None = None) -> list[Row]:
        """The rows of `table` ("hosp.emar"), only those with an itemid in `items` if any are given."""
        key = (table, None if items is None else frozenset(items))
        if key not in self._kept:
            where = "" if items is None else f" where itemid in ({', '.join(map(str, items))})"
            found = self._cursor.execute(f"select * from {table}{where}")
            names = [column[0] for column in found.description or ()]
            self._kept[key] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return self._kept[key]

    def row(self, table: str, eid: str) -> Row | None:
        """The row of `table` with this evidence id, if it is served."""
        return next((row for row in self.rows(table) if row["eid"] == eid), None)


@contextmanager
def open_chart(store: Store, case: Case) -> Iterator[Chart]:
    """The case's patient as served at its as-of time."""
    with open_slice(store, case.subject_id, case.as_of, case.sealed_hadm_id) as source:
        yield Chart(source)


def _number(text: str) -> int | None:
    return int(text) if text else None
