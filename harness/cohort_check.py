"""Cohorts of others: each row held against the store, each label against our own adjudication."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import adjudicate
from harness.cohort import write_candidates
from harness.cohort_file import CohortRow, Numbered, Problem, examine_cohort
from harness.errors import ScenarioError
from harness.review.agreement import Agreement, agreement
from harness.scenario import Scenario
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.contract import canonical_json
from mcp_mimic.store.store import Store

Progress = Callable[[str], None]

_FILLED = ("hadm_id", "stay_id", "sealed_hadm_id", "index_eid")
_RECORDED = {
    "hosp.admissions": ("admittime", "dischtime", "edregtime"),
    "hosp.transfers": ("intime", "outtime"),
    "hosp.labevents": ("charttime", "storetime"),
    "ed.edstays": ("intime", "outtime"),
}
"""Tables and times that say from when to when a subject has a record."""


@dataclass(frozen=True)
class Label:
    """A label of theirs beside ours: `rule` is the one that gave ours."""

    line: int
    scenario: str
    gold: str
    ours: str
    rule: str


@dataclass(frozen=True)
class CheckedCohort:
    """What came of a file: rows that hold, rows that do not, both labels of those that do.

    `filled` rows left out admission, stay or index row, and have them from the scenario's own case of the same
    subject and index time. A row whose verdict is ours too carries our rule.
    """

    rows: tuple[CohortRow, ...]
    unmatched: tuple[Problem, ...]
    labels: tuple[Label, ...]
    filled: int

    @property
    def disagreements(self) -> tuple[Label, ...]:
        """Rows that hold, with another verdict than ours."""
        return tuple(label for label in self.labels if label.gold != label.ours)

    def agreements(self) -> Iterator[tuple[str, Agreement]]:
        """Their labels and ours, by scenario."""
        for scenario in sorted({label.scenario for label in self.labels}):
            yield scenario, agreement([(x.gold, x.ours) for x in self.labels if x.scenario == scenario])


def check_cohort(
    path: Path,
    store: Store,
    scenarios: Sequence[Scenario],
    *,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> CheckedCohort:
    """Hold every row of somebody else's file against the store and our rules.

    A row does not match if it cannot be read, repeats another, names what the store has not, has an index time
    outside its subject's record, or cannot be adjudicated. CohortError if the file as a whole is no cohort.
    """
    tell = progress or (lambda _: None)
    numbered, problems = examine_cohort(path, store, scenarios, columns=columns)
    outside = {problem.line: problem for problem in _outside_record(numbered, store)}
    numbered = [(line, row) for line, row in numbered if line not in outside]
    problems += outside.values()
    rows: dict[int, CohortRow] = {}
    labels: list[Label] = []
    filled = 0
    for scenario in sorted(scenarios, key=lambda each: each.id):
        own = [(line, row) for line, row in numbered if row.scenario == scenario.id]
        if not own:
            continue
        tell(f"{scenario.id}: {len(own)} rows")
        whole = _filled(own, scenario, store)
        filled += sum(before != after for before, after in zip(own, whole, strict=True))
        for line, row, said in _adjudicated(store, scenario, whole):
            if isinstance(said, Problem):
                problems.append(said)
                continue
            verdict, rule = said
            labels.append(Label(line, scenario.id, row.gold, verdict, rule))
            rows[line] = replace(row, rule=rule) if verdict == row.gold else row
    return CheckedCohort(
        rows=tuple(rows[line] for line in sorted(rows)),
        unmatched=tuple(sorted(problems, key=lambda problem: problem.line)),
        labels=tuple(sorted(labels, key=lambda label: label.line)),
        filled=filled,
    )


def write_unmatched(unmatched: Sequence[Problem], path: Path) -> None:
    """A CSV of the rows that were left out: line in the file, reason, remedy."""
    _write_csv(path, ("line", "reason", "remedy"), [(x.line, x.reason, x.remedy) for x in unmatched])


def write_disagreements(labels: Sequence[Label], path: Path) -> None:
    """A CSV of the labels that are not ours: line in the file, scenario, their verdict, our verdict and rule."""
    rows = [(x.line, x.scenario, x.gold, x.ours, x.rule) for x in labels]
    _write_csv(path, ("line", "scenario", "gold", "ours", "rule"), rows)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")


def _outside_record(numbered: Numbered, store: Store) -> Iterator[Problem]:
    """Rows whose index time lies before the subject's first recorded time or after the last one."""
    spans = _spans(sorted({row.subject_id for _, row in numbered}), store)
    for line, row in numbered:
        first, last = spans.get(row.subject_id, (None, None))
        if first is None or last is None or not first <= row.index_time <= last:
            recorded = "has no dated row" if first is None else f"runs from {first} to {last}"
            yield Problem(
                line,
                f"index_time {row.index_time} lies outside the subject's record, which {recorded}",
                "use the shifted times of the store's release: another release may shift them otherwise",
            )


def _spans(subjects: Sequence[int], store: Store) -> dict[int, tuple[datetime, datetime]]:
    times = " union all ".join(
        f"select subject_id, {column} as moment from store.{table}"
        for table, columns in _RECORDED.items()
        for column in columns
    )
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, "store")
        rows = connection.execute(
            f"select subject_id, min(moment), max(moment) from ({times}) where moment is not null "
            "and subject_id in (select unnest(?::bigint[])) group by subject_id",
            [subjects],
        ).fetchall()
    return {subject: (first, last) for subject, first, last in rows}


def _filled(numbered: Numbered, scenario: Scenario, store: Store) -> Numbered:
    """The rows, empty cells filled from the scenario's own case where it has exactly one at that time."""
    if all(row.hadm_id is not None and row.index_eid is not None for _, row in numbered):
        return numbered
    own = _own_cases(scenario, store)
    return [(line, _fill(row, own.get((row.subject_id, row.index_time)), scenario)) for line, row in numbered]


def _own_cases(scenario: Scenario, store: Store) -> dict[tuple[int, datetime], dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="cohort-") as folder:
        file = Path(folder) / "candidates.parquet"
        write_candidates(store, scenario, file)
        with duckdb.connect(":memory:") as connection:
            names = ("subject_id", "index_time", *_FILLED, "params")
            rows = connection.execute(
                f"select {', '.join(names)} from read_parquet(?) "
                "qualify count(*) over (partition by subject_id, index_time) = 1",
                [str(file)],
            ).fetchall()
    cases = (dict(zip(names, row, strict=True)) for row in rows)
    return {(case["subject_id"], case["index_time"]): case for case in cases}


def _fill(row: CohortRow, case: Mapping[str, Any] | None, scenario: Scenario) -> CohortRow:
    """The row with the case's keys where it has none, and the case's params under those that it sets itself."""
    if case is None or any(getattr(row, name) not in (None, case[name]) for name in _FILLED):
        return row
    theirs = {
        name: value for name, value in json.loads(row.params).items() if scenario.params.get(name) != value
    }
    keys = {name: case[name] for name in _FILLED}
    return replace(row, params=canonical_json(json.loads(case["params"]) | theirs), **keys)


_Said = tuple[str, str] | Problem


def _adjudicated(
    store: Store, scenario: Scenario, numbered: Numbered
) -> Iterator[tuple[int, CohortRow, _Said]]:
    """Each row with our verdict and rule, or why there is none; rows that fail are found by halving."""
    try:
        with open_tasks(store, [row.task(str(line)) for line, row in numbered]) as connection:
            adjudicate(connection, scenario)
            said: dict[str, tuple[str, str]] = {
                task_id: (verdict, rule)
                for task_id, verdict, rule in connection.execute(
                    "select task_id, verdict, rule from adjudicated"
                ).fetchall()
            }
    except ScenarioError as error:
        if len(numbered) == 1:
            ((line, row),) = numbered
            yield line, row, Problem(line, f"it cannot be adjudicated: {error.message}", "correct its params")
            return
        middle = len(numbered) // 2
        yield from _adjudicated(store, scenario, numbered[:middle])
        yield from _adjudicated(store, scenario, numbered[middle:])
        return
    for line, row in numbered:
        yield line, row, said[str(line)]
