"""The part of a chart that a reviewer sees: the rows behind the label, and what stands near them in time.

Rows come from the availability-filtered tables, as of the case's as-of time. Numbers that only join tables
(subject, admission, stay, order) are left out.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb

from harness.adjudication import Window
from harness.sources import NAME_COLUMNS, TERM_COLUMNS, TEXT_ROUTES, table_of, text_piece
from mcp_mimic.chart.served import SERVED_TABLES, served_columns
from mcp_mimic.chart.tasks import STORE_ALIAS
from mcp_mimic.store.labels import naming_of
from mcp_mimic.store.tables import KINDS, TABLES
from mcp_mimic.text.words import fold

NEIGHBOURS = 2
"""Rows before and rows after each row of the evidence, in its table; and of its item, one before and after."""

MOST_EVIDENCE, MOST_FOUND, MOST_NAMED, MOST_TEXT = 40, 20, 8, 6000
"""Rows of one requirement, rows that one search finds, items that it is said to seek, and characters of one cell that are shown."""

_NOT_SHOWN = ("note.discharge_detail", "note.radiology_detail", "ecg.waveform_note_links")
"""Tables beside a table of facts that add none to it."""

_TITLES = {"hosp.diagnoses_icd": "hosp.d_icd_diagnoses", "hosp.procedures_icd": "hosp.d_icd_procedures"}
"""Tables of codes, and the dictionary that says what a code means."""

_NO_FACTS = frozenset(
    [
        "storetime",
        "emar_seq",
        "poe_seq",
        "note_seq",
        "test_seq",
        "gsn",
        "gsn_rn",
        "ndc",
        "etc_rn",
        "etccode",
        "med_rn",
        "formulary_drug_cd",
        "warning",
        "itemid",
        "spec_itemid",
        "test_itemid",
        "org_itemid",
        "ab_itemid",
        "orderid",
        "linkorderid",
        "path",
        "file_name",
        "waveform_path",
    ]
)
"""Columns that tell a reader nothing: numbers that join tables or belong to other systems, paths, and what stands elsewhere."""


@dataclass(frozen=True)
class ChartRow:
    """One row: event time and time of availability, table, evidence id, its facts; `evidence`: the label rests on it."""

    at: datetime | None
    available: datetime | None
    table: str
    eid: str
    facts: str
    evidence: bool


@dataclass(frozen=True)
class Searched:
    """What a search of the chart finds: rows that match, of all rows of the table in the window."""

    window: Window
    sought: str
    matching: int
    recorded: int


@dataclass(frozen=True)
class Timeline:
    """A case's rows by time, its searches, and how many rows of the evidence were left out for length."""

    rows: tuple[ChartRow, ...]
    searches: tuple[Searched, ...]
    left_out: int


class Chart:
    """Reads timelines over a connection of `open_tasks`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._labels: dict[str, dict[int, str]] = {}

    def timeline(
        self,
        task: str,
        subject_id: int,
        evidence: Iterable[Sequence[str]],
        windows: Iterable[Window],
        as_of: datetime,
    ) -> Timeline:
        """The timeline of one task: `evidence` are the ids of each requirement, `windows` what is to be searched."""
        marked: set[str] = set()
        left_out = 0
        for eids in evidence:
            shown = list(dict.fromkeys(eid.partition("#")[0] for eid in eids))
            left_out += len(shown[MOST_EVIDENCE:])
            marked.update(shown[:MOST_EVIDENCE])
        wanted: dict[str, set[str]] = defaultdict(set)
        for eid in marked:
            for table in KINDS[eid.partition(":")[0]]:
                if table in SERVED_TABLES and table not in _NOT_SHOWN:
                    wanted[table].add(eid)
        searches = []
        near: dict[str, set[str]] = defaultdict(set)
        for window in dict.fromkeys(windows):
            searched, found = self._search(task, window, as_of)
            searches.append(searched)
            near[table_of(window.source)].update(found)
        for table, own in wanted.items():
            near[table].update(self._neighbours(task, table, own))
        rows = [
            row
            for table in sorted({*wanted, *near})
            for row in self._rows(task, subject_id, table, wanted[table] | near[table], marked)
        ]
        rows.sort(key=lambda row: (row.at or row.available or as_of, row.table, row.eid))
        return Timeline(tuple(rows), tuple(searches), left_out)

    def _neighbours(self, task: str, table: str, eids: Iterable[str]) -> set[str]:
        time = TABLES[table].time
        if time is None:
            return set()
        places = [(f"order by {time}, eid", NEIGHBOURS)]
        if "itemid" in served_columns(table):
            places.append((f"partition by itemid order by {time}, eid", 1))
        found: set[str] = set()
        for over, far in places:
            part = "a.part = b.part and" if "partition" in over else ""
            column = ", itemid as part" if part else ""
            rows = self._connection.execute(
                f"with r as (select eid, row_number() over ({over}) as n{column} from {table} where task_id = ?), "
                "b as (select * from r where eid in (select unnest(?::varchar[]))) "
                f"select distinct a.eid from r a join b on {part} a.n between b.n - {far} and b.n + {far}",
                [task, sorted(eids)],
            ).fetchall()
            found |= {eid for (eid,) in rows}
        return found

    def _search(self, task: str, window: Window, as_of: datetime) -> tuple[Searched, set[str]]:
        """How many rows a search finds; the ids of the first of them, and of the rows around the window."""
        source = table_of(window.source)
        table = TABLES[source]
        if table.time is None:
            inside, values = "true", []
        else:
            start, end = window.start or datetime.min, min(window.end or as_of, as_of)
            inside, values = f"{table.time} between ? and ?", [start, end]
        matches, more = self._matches(task, window)
        recorded, matching = self._connection.execute(
            f"select count(*) filter (where {inside}), count(*) filter (where {inside} and {matches}) "
            f"from {source} where task_id = ?",
            [*values, *values, *more, task],
        ).fetchone() or (0, 0)
        found = self._connection.execute(
            f"select eid from {source} where task_id = ? and {inside} and {matches} "
            f"order by {table.time or 'eid'} limit {MOST_FOUND}",
            [task, *values, *more],
        ).fetchall()
        narrowed = (window.items, window.names, window.terms) != (None, None, None)
        # of very many rows of any kind the number says enough
        eids = {eid for (eid,) in found} if narrowed or matching <= MOST_FOUND else set()
        if table.time is not None:
            for beyond, bound, order in (("<", values[0], "desc"), (">", values[1], "asc")):
                row = self._connection.execute(
                    f"select eid from {source} where task_id = ? and {table.time} {beyond} ? "
                    f"order by {table.time} {order}, eid limit 1",
                    [task, bound],
                ).fetchone()
                eids |= {row[0]} if row else set()
        return Searched(window, self._sought(window), matching, recorded), eids

    def _sought(self, window: Window) -> str:
        """The items by their labels, the names by their pattern."""
        items = [self._label(window.source, item) for item in window.items or ()]
        more = f" and {len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else ""
        named = [", ".join(items[:MOST_NAMED]) + more] if items else []
        named += [f"names like {window.names}"] if window.names else []
        named += [f"the words {', '.join(window.terms)}"] if window.terms else []
        return "; ".join(named) or "any row"

    def _matches(self, task: str, window: Window) -> tuple[str, list[Any]]:
        conditions: list[str] = ["true"]
        values: list[Any] = []
        if window.items is not None:
            conditions.append("itemid in (select unnest(?::bigint[]))")
            values.append(list(window.items))
        if window.names is not None:
            column = NAME_COLUMNS[window.source]
            named = self._connection.execute(
                f"select distinct {column} from {window.source} where task_id = ? and {column} is not null",
                [task],
            ).fetchall()
            pattern = re.compile(window.names, re.IGNORECASE)  # Python's: DuckDB's has no lookahead
            conditions.append(f"{column} in (select unnest(?::varchar[]))")
            values.append([name for (name,) in named if pattern.search(name.strip())])
        if window.terms is not None:
            conditions.append("eid in (select unnest(?::varchar[]))")
            values.append(self._holding(task, window.source, window.terms))
        return " and ".join(conditions), values

    def _holding(self, task: str, source: str, terms: Sequence[str]) -> list[str]:
        """The ids of the rows in whose name, or text, a term occurs as the tools decide it."""
        of_text = source in TEXT_ROUTES
        sought = [text_piece(term) if of_text else term.lower() for term in terms]
        column = "text" if of_text else TERM_COLUMNS[source]
        rows = self._connection.execute(
            f"select eid, {column} from {table_of(source)} where task_id = ? and {column} is not null", [task]
        ).fetchall()
        texts = ((eid, fold(text) if of_text else text.lower()) for eid, text in rows)
        return [eid for eid, text in texts if any(part in text for part in sought)]

    def _rows(
        self, task: str, subject_id: int, table: str, eids: Iterable[str], marked: set[str]
    ) -> Iterator[ChartRow]:
        time = TABLES[table].time
        result = self._connection.execute(
            f"select * from {table} where task_id = ? and eid in (select unnest(?::varchar[])) order by all",
            [task, sorted(eids)],
        )
        names = [column[0] for column in result.description or ()]
        for values in result.fetchall():
            row = dict(zip(names, values, strict=True))
            facts = self._facts(table, row, time, str(subject_id))
            if not facts:
                continue
            yield ChartRow(
                at=_moment(row.get(time) if time else None),
                available=_moment(row["available_at"]),
                table=table,
                eid=row["eid"],
                facts=facts,
                evidence=row["eid"] in marked and TABLES[table].shares is None,
            )

    def _facts(self, table: str, row: Mapping[str, Any], time: str | None, subject: str) -> str:
        """What the row says: its item's label, then each column with a value; no number that joins tables."""
        words = []
        if row.get("itemid") is not None:
            words.append(self._label(table, row["itemid"]))
        if title := self._title(table, row):
            words.append(title)
        number = row.get("valuenum")
        for name in served_columns(table):
            value = row.get(name)
            if value is None or name == time or name.endswith("_id") or name in _NO_FACTS:
                continue
            if name == "value" and number is not None and _repeats(value, number):
                continue
            text = f"{value:g}" if isinstance(value, float) else str(value).strip()
            if not text or (len(subject) > 4 and subject in text):
                continue
            cut = (
                f"{text[:MOST_TEXT]} [… {len(text) - MOST_TEXT} more characters]"
                if len(text) > MOST_TEXT
                else text
            )
            words.append(f"{name}: {cut}")
        return "; ".join(words)

    def _title(self, table: str, row: Mapping[str, Any]) -> str | None:
        """What a code of diagnoses or procedures means."""
        if table not in _TITLES:
            return None
        found = self._connection.execute(
            f"select long_title from {_TITLES[table]} where icd_code = ? and icd_version = ?",
            [row["icd_code"], row["icd_version"]],
        ).fetchone()
        return found[0] if found else None

    def _label(self, table: str, itemid: int) -> str:
        naming = naming_of(table)
        if naming.dictionary not in self._labels:
            rows = self._connection.execute(
                f"select d.itemid, {naming.label} from {STORE_ALIAS}.{naming.dictionary} d"
            ).fetchall()
            self._labels[naming.dictionary] = dict(rows)
        return self._labels[naming.dictionary].get(itemid) or f"item {itemid}"


def _repeats(value: object, number: float) -> bool:
    """Whether a value as text says no more than the number beside it: it was removed, or is that number."""
    try:
        return value == "___" or float(str(value)) == number
    except ValueError:
        return False


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None
