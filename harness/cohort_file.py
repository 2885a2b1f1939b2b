"""The cohort file: one CSV row a case, in a fixed order and fixed bytes."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import merge_params
from harness.errors import CohortError
from harness.scenario import Scenario, Verdict, load_scenarios
from mcp_mimic.chart.tasks import TaskRow
from mcp_mimic.contract import VERDICTS, parse_eid
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import KINDS

SPLITS = ("full", "dev")
_MOST_DIGITS = 18
_YEARS = range(1800, 2300)
"""Years of the record, shifted ones and those of birth included."""

REQUIRED = ("scenario", "subject_id", "index_time", "gold")
"""Columns without which no file says what its cases are; a cohort that is built from also needs `as_of`."""

_OTHER_SEPARATORS = ";\t|"
_PRIVATE = 0o600


@dataclass(frozen=True)
class CohortRow:
    """One case. Times are shifted local times of the record; `params` is canonical JSON."""

    scenario: str
    subject_id: int
    hadm_id: int | None
    stay_id: int | None
    index_time: datetime
    as_of: datetime
    sealed_hadm_id: int | None
    index_eid: str | None
    params: str
    gold: Verdict
    rule: str
    fragile: bool = False
    definition_fragile: bool = False
    split: str = "full"

    def task(self, task_id: str) -> TaskRow:
        """The case as `open_tasks` takes it."""
        return TaskRow(
            task_id=task_id,
            subject_id=self.subject_id,
            as_of=self.as_of,
            hadm_id=self.hadm_id,
            stay_id=self.stay_id,
            index_time=self.index_time,
            sealed_hadm_id=self.sealed_hadm_id,
            index_eid=self.index_eid,
            params=json.loads(self.params),
        )


COLUMNS = tuple(CohortRow.__dataclass_fields__)
"""The file's columns, in order."""

Numbered = list[tuple[int, CohortRow]]
"""Rows with their lines in the file."""


def write_rows(rows: Sequence[CohortRow], path: Path, *, private: bool = False) -> None:
    """Write a cohort file, `private` for its owner alone; the same rows give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_written(getattr(row, name)) for name in COLUMNS] for row in rows)
    write_table(text.getvalue(), path, private=private)


def _written(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def write_table(text: str, path: Path, *, private: bool) -> None:
    """Write a file about patients' cases; `private`: for its owner alone, also if it was open before."""
    if private:
        path.touch(mode=_PRIVATE)
        path.chmod(_PRIVATE)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Problem:
    """Why a row is no case of this store: its line in the file, what is wrong, what to do.

    `column` is set where the reason quotes what the row or the record holds there.
    """

    line: int
    reason: str
    remedy: str
    column: str = ""

    def told(self, *, private: bool) -> str:
        """The reason; `private`: without what the row or the record holds."""
        return f"{self.column} does not fit" if private and self.column else self.reason


@dataclass(frozen=True)
class Given:
    """A row as its file has it: None, or no key of `params`, where the file says nothing."""

    scenario: Scenario
    subject_id: int
    hadm_id: int | None
    stay_id: int | None
    index_time: datetime
    as_of: datetime | None
    sealed_hadm_id: int | None
    index_eid: str | None
    params: Mapping[str, Any]
    gold: Verdict
    rule: str
    fragile: bool
    definition_fragile: bool
    split: str


def read_cohort(
    path: Path,
    store: Store,
    scenarios: Sequence[Scenario] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
) -> list[CohortRow]:
    """Read a cohort file and check each row against the scenarios (default: all) and the store.

    `columns` maps a column's name to the one that the file uses for it. Columns other than scenario,
    subject_id, index_time, as_of and gold may be missing. CohortError names the first row that does not
    fit (by its line in the file), and what to do.
    """
    given, problems = read_given(path, store, scenarios, columns=columns, required=(*REQUIRED, "as_of"))
    numbered = [
        (line, place_row(each, as_of=each.as_of or each.index_time, params=each.params))
        for line, each in given
    ]
    problems += repeated_rows(numbered)
    if problems:
        first = min(problems, key=lambda problem: problem.line)
        raise CohortError(f"{path}, line {first.line}: {first.reason}", first.remedy)
    return [row for _, row in numbered]


def place_row(given: Given, *, params: Mapping[str, Any], **known: Any) -> CohortRow:
    """The case of a row, with these params and these columns where they are known better than from the file."""
    values = {name: getattr(given, name) for name in COLUMNS if name not in ("scenario", "params")}
    placed: dict[str, Any] = values | known
    return CohortRow(scenario=given.scenario.id, params=merge_params(given.scenario, params), **placed)


def read_given(
    path: Path,
    store: Store,
    scenarios: Sequence[Scenario] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    required: Sequence[str] = REQUIRED,
) -> tuple[list[tuple[int, Given]], list[Problem]]:
    """The rows of a file that can be read and whose keys the store has, with their lines; a problem for each other.

    CohortError if the file as a whole is no cohort: it cannot be read, lacks a required column, has no row.
    """
    by_id = {scenario.id: scenario for scenario in scenarios or load_scenarios()}
    numbered: list[tuple[int, Given]] = []
    problems: list[Problem] = []
    for line, cells in _cells(path, columns or {}, required):
        try:
            numbered.append((line, _given(_Cells(cells), by_id, needs_as_of="as_of" in required)))
        except _UnfitError as fault:
            problems.append(Problem(line, fault.reason, fault.remedy, fault.column))
    absent = {problem.line: problem for problem in reversed(list(_not_in_store(numbered, store)))}
    problems += absent.values()
    return [(line, each) for line, each in numbered if line not in absent], problems


class _UnfitError(Exception):
    """A row that cannot be a case."""

    def __init__(self, reason: str, remedy: str, column: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.column = column


def _cells(
    path: Path, columns: Mapping[str, str], required: Sequence[str]
) -> Iterator[tuple[int, dict[str, str] | None]]:
    """Each row's line and cells; None for a row with another number of cells than the header."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CohortError(
            f"{path}: cannot be read as a cohort file", "write one with: harness cohort"
        ) from error
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        header = list(reader.fieldnames or ())
        names = {name: columns.get(name, name) for name in COLUMNS}
        wanted = [*(names[name] for name in required), *columns.values()]
        if unknown := sorted(set(columns) - set(COLUMNS)):
            raise CohortError(f"a cohort has no column {unknown[0]}", f"map one of {', '.join(COLUMNS)}")
        if len(header) == 1 and any(mark in header[0] for mark in _OTHER_SEPARATORS):
            raise CohortError(
                f"{path}: its cells are not separated by commas",
                "save it as CSV with a comma as the separator",
            )
        if twice := [name for name in header if name and header.count(name) > 1]:
            raise CohortError(f"{path}: two columns are called {twice[0]}", "rename or remove one of them")
        if missing := [name for name in wanted if name not in header]:
            raise CohortError(
                f"{path}: no column {missing[0]}", "name the file's own column with --map NAME=COLUMN"
            )
        found = False
        for cells in reader:
            found = True
            whole = None not in cells and None not in cells.values()
            own = {name: cells.get(column, "").strip() for name, column in names.items()} if whole else None
            yield reader.line_num, own
    except csv.Error as error:
        raise CohortError(f"{path}, line {reader.line_num}: {error}", "correct the row") from error
    if not found:
        raise CohortError(f"{path}: no cases", "build a cohort with: harness cohort")


class _Cells:
    """One row's cells, read into types."""

    def __init__(self, cells: Mapping[str, str] | None) -> None:
        if cells is None:
            raise self.fail(
                "the row has another number of cells than the header",
                "correct the row; cells that hold commas need quotes",
            )
        self._cells = cells

    @staticmethod
    def fail(reason: str, remedy: str, column: str = "") -> _UnfitError:
        return _UnfitError(reason, remedy, column)

    def text(self, name: str, default: str = "") -> str:
        return self._cells[name] or default

    def integer(self, name: str) -> int | None:
        text = self._cells[name]
        if not text:
            return None
        if not text.isdecimal() or len(text) > _MOST_DIGITS:
            raise self.fail(f"{name} is {text!r}", f"{name} must be a whole number, or empty", name)
        return int(text)

    def time(self, name: str) -> datetime:
        try:
            moment = datetime.fromisoformat(self._cells[name])
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is not None or moment.year not in _YEARS:
            raise self.fail(
                f"{name} is {self._cells[name]!r}",
                f"{name} must be a local time of the record such as 2150-03-04T14:00:00",
                name,
            )
        return moment

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        text = self.text(name, default)
        if text not in choices:
            raise self.fail(f"{name} is {text!r}", f"{name} must be one of {', '.join(choices)}", name)
        return text

    def flag(self, name: str) -> bool:
        """True or false in any case: spreadsheets write them in capitals."""
        text = self.text(name, "false")
        if text.lower() not in ("false", "true"):
            raise self.fail(f"{name} is {text!r}", f"{name} must be one of false, true", name)
        return text.lower() == "true"

    def params(self) -> dict[str, Any]:
        try:
            params = json.loads(self.text("params", "{}"))
            json.dumps(params, allow_nan=False, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError):
            params = None
        if not isinstance(params, dict):
            shown = self._cells["params"][:100]
            raise self.fail(f"params is {shown!r}", "params must be a JSON object, or empty", "params")
        return params

    def index_eid(self) -> str | None:
        text = self._cells["index_eid"]
        eid = parse_eid(text)
        if text and (eid is None or eid.kind not in KINDS):
            raise self.fail(
                f"index_eid is {text[:100]!r}",
                "index_eid must be the id of a row of the chart, such as lab:12, or empty",
                "index_eid",
            )
        return text or None


def _given(cells: _Cells, scenarios: Mapping[str, Scenario], *, needs_as_of: bool) -> Given:
    scenario = scenarios.get(cells.text("scenario"))
    if scenario is None:
        raise cells.fail(
            f"unknown scenario {cells.text('scenario')!r}",
            f"use one of {', '.join(sorted(scenarios))}",
            "scenario",
        )
    subject = cells.integer("subject_id")
    if subject is None:
        raise cells.fail("no subject_id", "every case needs the subject it is about")
    index_time = cells.time("index_time")
    as_of = cells.time("as_of") if needs_as_of or cells.text("as_of") else None
    if as_of is not None and as_of < index_time:
        raise cells.fail(
            "as_of lies before index_time", "correct the times: the question looks back from as_of"
        )
    gold = cells.choice("gold", VERDICTS, "")
    return Given(
        scenario=scenario,
        subject_id=subject,
        hadm_id=cells.integer("hadm_id"),
        stay_id=cells.integer("stay_id"),
        index_time=index_time,
        as_of=as_of,
        sealed_hadm_id=cells.integer("sealed_hadm_id"),
        index_eid=cells.index_eid(),
        params=cells.params(),
        gold=next(verdict for verdict in scenario.mix if verdict == gold),
        rule=cells.text("rule"),
        fragile=cells.flag("fragile"),
        definition_fragile=cells.flag("definition_fragile"),
        split=cells.choice("split", SPLITS, "full"),
    )


def repeated_rows(numbered: Numbered) -> Iterator[Problem]:
    """A problem for each row that is the case of a row before it."""
    seen: dict[tuple[object, ...], int] = {}
    for line, row in numbered:
        first = seen.setdefault((row.scenario, row.subject_id, row.index_time, row.as_of, row.params), line)
        if first != line:
            yield Problem(line, f"the same case as in line {first}", "remove one of the two")


def _not_in_store(numbered: Sequence[tuple[int, Given]], store: Store) -> Iterator[Problem]:
    """Subjects, admissions and stays must be the store's, and belong together."""
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, "store")
        for name, table in (
            ("subject_id", "hosp.patients"),
            ("hadm_id", "hosp.admissions"),
            ("sealed_hadm_id", "hosp.admissions"),
            ("stay_id", "icu.icustays"),
        ):
            own = name.removeprefix("sealed_")
            lines, subjects, keys = [], [], []
            for line, row in numbered:
                if (key := getattr(row, name)) is not None:
                    lines.append(line)
                    subjects.append(row.subject_id)
                    keys.append(key)
            absent = connection.execute(
                "select line, key from (select unnest(?::bigint[]) as line, unnest(?::bigint[]) as subject_id, "
                f"unnest(?::bigint[]) as key) c where not exists (select 1 from store.{table} t "
                f"where t.subject_id = c.subject_id and t.{own} = c.key) order by line",
                [lines, subjects, keys],
            ).fetchall()
            whose = "" if name == "subject_id" else " as this subject's"
            for line, key in absent:
                yield Problem(
                    line,
                    f"{name} {key} is not in the store {store.path}{whose}",
                    "use the store that the cohort was made from, or make a cohort of this store",
                    name,
                )
