"""Cohorts of others: each row held against the store, each label against our own adjudication."""

import csv
import io
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import adjudicate
from harness.cohort import write_candidates
from harness.cohort_file import (
    CohortRow,
    Given,
    Numbered,
    Problem,
    place_row,
    read_given,
    repeated_rows,
    write_table,
)
from harness.review.agreement import Agreement, agreement
from harness.scenario import Scenario
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.contract import canonical_json
from mcp_mimic.store.store import Store

Progress = Callable[[str], None]

_KEYS = ("hadm_id", "stay_id", "sealed_hadm_id", "index_eid")


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

    Each row that holds is a case of the scenario's own cohort.sql but for its label; `filled` rows left out
    something of that case. A row whose verdict is ours too carries our rule.
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

    A row does not match if it cannot be read, names what the store has not, is no case that the scenario's
    cohort.sql finds, or repeats another. CohortError if the file as a whole is no cohort.
    """
    tell = progress or (lambda _: None)
    given, problems = read_given(path, store, scenarios, columns=columns)
    matched: Numbered = []
    filled = 0
    for scenario in sorted(scenarios, key=lambda each: each.id):
        own = [(line, each) for line, each in given if each.scenario.id == scenario.id]
        if not own:
            continue
        tell(f"{scenario.id}: {len(own)} rows")
        cases = _own_cases(scenario, store)
        for line, each in own:
            found = _match(each, cases.get((each.subject_id, _minute(each.index_time)), []))
            if isinstance(found, _NoMatch):
                problems.append(Problem(line, found.reason, found.remedy, found.column))
                continue
            matched.append((line, _placed(each, found)))
            filled += any(
                getattr(each, name) is None and found[name] is not None for name in (*_KEYS, "as_of")
            )
    matched.sort(key=lambda numbered: numbered[0])
    again = {problem.line: problem for problem in repeated_rows(matched)}
    problems += again.values()
    rows: dict[int, CohortRow] = {}
    labels: list[Label] = []
    for scenario in scenarios:
        theirs = [(line, x) for line, x in matched if x.scenario == scenario.id and line not in again]
        for line, row, verdict, rule in _adjudicated(store, scenario, theirs):
            labels.append(Label(line, scenario.id, row.gold, verdict, rule))
            rows[line] = replace(row, rule=rule) if verdict == row.gold else row
    return CheckedCohort(
        rows=tuple(rows[line] for line in sorted(rows)),
        unmatched=tuple(sorted(problems, key=lambda problem: problem.line)),
        labels=tuple(sorted(labels, key=lambda label: label.line)),
        filled=filled,
    )


def write_unmatched(unmatched: Sequence[Problem], path: Path, *, private: bool = False) -> None:
    """A CSV of the rows that were left out: line in the file, reason, remedy."""
    rows = [(x.line, x.reason, x.remedy) for x in unmatched]
    _write_csv(path, ("line", "reason", "remedy"), rows, private)


def write_disagreements(labels: Sequence[Label], path: Path, *, private: bool = False) -> None:
    """A CSV of the labels that are not ours: line in the file, scenario, their verdict, our verdict and rule."""
    rows = [(x.line, x.scenario, x.gold, x.ours, x.rule) for x in labels]
    _write_csv(path, ("line", "scenario", "gold", "ours", "rule"), rows, private)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]], private: bool) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_table(text.getvalue(), path, private=private)


_Case = Mapping[str, Any]
"""A case that cohort.sql finds, by column; `params` as a mapping."""


def _own_cases(scenario: Scenario, store: Store) -> dict[tuple[int, datetime], list[_Case]]:
    """The cases by subject and minute of the index time."""
    names = ("subject_id", "index_time", "as_of", *_KEYS, "params")
    times = "index_time::timestamp as index_time, as_of::timestamp as as_of"
    with tempfile.TemporaryDirectory(prefix="cohort-") as folder:
        file = Path(folder) / "candidates.parquet"
        write_candidates(store, scenario, file)
        with duckdb.connect(":memory:") as connection:
            rows = connection.execute(
                f"select distinct {', '.join(names)} from "
                f"(select * replace ({times}) from read_parquet(?)) order by all",
                [str(file)],
            ).fetchall()
    cases: dict[tuple[int, datetime], list[_Case]] = defaultdict(list)
    for row in rows:
        case = dict(zip(names, row, strict=True))
        case["params"] = json.loads(case["params"])
        cases[case["subject_id"], _minute(case["index_time"])].append(case)
    return cases


@dataclass(frozen=True)
class _NoMatch:
    reason: str
    remedy: str
    column: str = ""


def _match(given: Given, cases: Sequence[_Case]) -> _Case | _NoMatch:
    """The one case of this subject and minute that a row is, with everything that the row says of it."""
    if not cases:
        return _NoMatch(
            f"index_time {given.index_time} is that of no case of the scenario and this subject",
            "give the time of a case that the scenario's cohort.sql finds; another release may shift times otherwise",
            "index_time",
        )
    fits = [case for case in cases if not _differing(given, case)]
    fits = [case for case in fits if case["index_time"] == given.index_time] or fits
    if len(fits) > 1:
        return _NoMatch(
            f"{len(fits)} cases of the scenario are at its index_time", "give the index_eid of the one it is"
        )
    if fits:
        return fits[0]
    nearest = min(cases, key=lambda case: len(_differing(given, case)))
    name = _differing(given, nearest)[0]
    theirs, ours = getattr(given, name), nearest[name]
    if name == "params":
        theirs, ours = canonical_json(dict(theirs)), canonical_json(ours)
    return _NoMatch(
        f"{name} is {str(theirs)[:200]}, and the scenario's case at that time has {'none' if ours is None else ours}",
        f"correct {name}, or leave it empty: it is then the case's",
        name,
    )


def _differing(given: Given, case: _Case) -> list[str]:
    """The columns in which a row says something else than the case."""
    names = [name for name in _KEYS if getattr(given, name) not in (None, case[name])]
    if given.as_of is not None and _minute(given.as_of) != _minute(case["as_of"]):
        names.append("as_of")
    if any(name not in case["params"] or case["params"][name] != x for name, x in given.params.items()):
        names.append("params")
    return names


def _placed(given: Given, case: _Case) -> CohortRow:
    return place_row(given, **{name: case[name] for name in ("index_time", "as_of", *_KEYS, "params")})


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _adjudicated(
    store: Store, scenario: Scenario, numbered: Numbered
) -> Iterator[tuple[int, CohortRow, str, str]]:
    """Each row with our verdict and rule."""
    if not numbered:
        return
    with open_tasks(store, [row.task(str(line)) for line, row in numbered]) as connection:
        adjudicate(connection, scenario)
        said = {
            task_id: (verdict, rule)
            for task_id, verdict, rule in connection.execute(
                "select task_id, verdict, rule from adjudicated"
            ).fetchall()
        }
    for line, row in numbered:
        verdict, rule = said[str(line)]
        yield line, row, verdict, rule
