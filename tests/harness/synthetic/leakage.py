"""Whether what a rule does not read tells the class: features of a case, and permutation tests over them.

A case's features are its numbers, its dates, how long the patient has been in the hospital and in the ICU, the
patient's description and, of every table that neither the adjudication nor the evidence of its scenario reads, how many rows there are, where their ids lie and how long
their texts are. Classes are compared within a scenario only, since a scenario is known from its question.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

import duckdb

from harness.cohort_file import CohortRow
from harness.definitions import tables_read
from harness.scenario import Scenario
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

NEIGHBOURS = 3
TIMES = ("time since admission", "time since the ICU's door", "a whole minute")
"""What a case's index time tells by itself, given when the patient came."""
_DESCRIBED = ("gender", "anchor_age", "anchor_year", "anchor_year_group")
_ADMITTED = ("insurance", "language", "marital_status", "race", "admission_type", "admit_provider_id")

type Features = dict[str, float]
type Group = tuple[list[str], list[Features]]
"""A scenario's classes and features, by case."""
type Classes = Mapping[str, Sequence[str]]
"""Scenario → the classes of its cases."""


@dataclass(frozen=True)
class Told:
    """How well something tells the class, and the share of permutations in which it does so as well or better."""

    name: str
    observed: float
    expected: float
    p: float


def gather(store: Store, scenarios: Sequence[Scenario], rows: Sequence[CohortRow]) -> dict[str, Group]:
    """Scenario → the classes and features of its cases."""
    found: dict[str, Group] = {}
    with duckdb.connect() as connection:
        store.attach(connection, "store")
        connection.execute("use store")
        for scenario in scenarios:
            cases = [row for row in rows if row.scenario == scenario.id]
            read = tables_read(scenario.adjudicate_sql + scenario.evidence_sql)
            columns = _columns(connection, cases, read)
            found[scenario.id] = (
                [case.gold for case in cases],
                [{name: column[i] for name, column in columns.items()} for i in range(len(cases))],
            )
    return found


def _columns(
    connection: duckdb.DuckDBPyConnection, cases: Sequence[CohortRow], read: frozenset[str]
) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {}

    def keep(name: str, values: Sequence[Any]) -> None:
        columns[name] = ranks(values)

    keep("subject_id", [case.subject_id for case in cases])
    keep("hadm_id", [case.hadm_id for case in cases])
    keep("stay_id", [case.stay_id for case in cases])
    for unit in ("year", "month", "day", "minute", "second"):
        keep(f"{unit} of the index", [getattr(case.index_time, unit) for case in cases])
    keep("weekday of the index", [case.index_time.weekday() for case in cases])
    for name, values in zip(TIMES, _times(connection, cases), strict=True):
        keep(name, values)
    for source, names in (("hosp.patients", _DESCRIBED), ("hosp.admissions", _ADMITTED)):
        key = "subject_id" if source == "hosp.patients" else "hadm_id"
        for name in names:
            of = dict(connection.execute(f"select {key}, {name} from {source}").fetchall())
            keep(f"{name}", [of.get(getattr(case, key)) for case in cases])
    for name in sorted(TABLES.keys() - read):
        table = TABLES[name]
        if not table.has_subject or table.kind is None or name in ("hosp.patients", "hosp.admissions"):
            continue
        key = f"try_cast(substr(eid, {len(table.kind) + 2}) as bigint)"
        text = "avg(length(text))" if any(column.name == "text" for column in table.columns) else "null"
        try:
            found = connection.execute(
                f"select subject_id, count(*), min({key}), {text} from {name} group by all"
            ).fetchall()
        except duckdb.CatalogException:
            continue  # a module that the hospital has not
        of_subject = {subject: rest for subject, *rest in found}
        for at, what in enumerate(("rows", "first id", "length")):
            keep(
                f"{what} of {name}", [of_subject.get(case.subject_id, [0, None, None])[at] for case in cases]
            )
    return {name: values for name, values in columns.items() if any(values)}


def _times(connection: duckdb.DuckDBPyConnection, cases: Sequence[CohortRow]) -> tuple[list[Any], ...]:
    """The values of TIMES; the ICU's door is the admission's latest one before T, None if there is none."""
    admitted = dict(connection.execute("select hadm_id, admittime from hosp.admissions").fetchall())
    doors: dict[int | None, list[datetime]] = defaultdict(list)
    for hadm_id, intime in connection.execute("select hadm_id, intime from icu.icustays").fetchall():
        doors[hadm_id].append(intime)
    since = [
        [case.index_time - door for door in doors[case.hadm_id] if door <= case.index_time] for case in cases
    ]
    return (
        [case.index_time - admitted[case.hadm_id] if case.hadm_id else None for case in cases],
        [min(waits, default=None) for waits in since],
        [case.index_time.second == 0 for case in cases],
    )


def ranks(values: Sequence[Any]) -> list[float]:
    """Mid-ranks with mean 0 and variance 1, nothing ranking first; all 0 where all are the same."""
    order = sorted(
        range(len(values)), key=lambda i: (values[i] is not None, values[i] if values[i] is not None else 0)
    )
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            found[i] = (start + end - 1) / 2
        start = end
    mean = sum(found) / len(found)
    spread = (sum((each - mean) ** 2 for each in found) / len(found)) ** 0.5
    return [(each - mean) / spread if spread else 0.0 for each in found]


def features_told(groups: Mapping[str, Group], *, times: int, seed: int) -> list[Told]:
    """Each feature's Kruskal-Wallis statistic, summed over scenarios; `p` is of the largest of all features.

    Standardised by the feature's own permutations, so that the largest is taken of comparable numbers (the
    max-T method: with it no feature is called telling for having been one of many).
    """

    def summed(classes: Classes) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for (_, name), value in _statistics(groups, classes).items():
            found[name] += value
        return found

    return _largest(groups, summed, times, seed)


def scenarios_told(groups: Mapping[str, Group], *, times: int, seed: int) -> list[Told]:
    """The statistics that `features_told` sums, one by one: features of single scenarios.

    `p` is of the largest of all of them, so that a scenario that is told is not lost among the others.
    """

    def apart(classes: Classes) -> dict[str, float]:
        return {f"{name} in {where}": value for (where, name), value in _statistics(groups, classes).items()}

    return _largest(groups, apart, times, seed)


def only(groups: Mapping[str, Group], names: Collection[str]) -> dict[str, Group]:
    """The groups with these features alone; a feature that is the same for all cases is none."""
    return {
        scenario: (classes, [{name: case[name] for name in case if name in names} for case in cases])
        for scenario, (classes, cases) in groups.items()
    }


def _largest(
    groups: Mapping[str, Group], statistics: Callable[[Classes], dict[str, float]], times: int, seed: int
) -> list[Told]:
    rng = random.Random(seed)
    observed = statistics({name: classes for name, (classes, _) in groups.items()})
    drawn = [
        statistics({name: rng.sample(classes, len(classes)) for name, (classes, _) in groups.items()})
        for _ in range(times)
    ]
    scale: dict[str, tuple[float, float]] = {}
    for name in observed:
        values = [each[name] for each in drawn]
        mean = sum(values) / times
        scale[name] = mean, (sum((value - mean) ** 2 for value in values) / times) ** 0.5 or 1.0

    def above(name: str, value: float) -> float:
        return (value - scale[name][0]) / scale[name][1]

    largest = [max(above(name, value) for name, value in each.items()) for each in drawn]
    told = [
        Told(
            name,
            value,
            scale[name][0],
            (1 + sum(each >= above(name, value) for each in largest)) / (1 + times),
        )
        for name, value in observed.items()
    ]
    return sorted(told, key=lambda each: -above(each.name, each.observed))


def _statistics(groups: Mapping[str, Group], classes: Classes) -> dict[tuple[str, str], float]:
    """The statistic of each scenario and feature."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    for scenario, (_, cases) in groups.items():
        sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        counts: dict[str, int] = defaultdict(int)
        for label, features in zip(classes[scenario], cases, strict=True):
            counts[label] += 1
            into = sums[label]
            for name, value in features.items():
                into[name] += value
        for label, by_name in sums.items():
            for name, value in by_name.items():
                total[scenario, name] += value * value / counts[label]
    return total


def neighbours_tell(groups: Mapping[str, Group], *, times: int, seed: int) -> Told:
    """How often the majority of a case's nearest cases, by all features, has its class; ties go to the nearest."""
    rng = random.Random(seed)
    near = {name: list(_nearest(cases)) for name, (_, cases) in groups.items()}
    observed = _right(near, {name: classes for name, (classes, _) in groups.items()})
    drawn = [
        _right(near, {name: rng.sample(classes, len(classes)) for name, (classes, _) in groups.items()})
        for _ in range(times)
    ]
    p = (1 + sum(each >= observed for each in drawn)) / (1 + times)
    return Told("nearest cases", observed, sum(drawn) / times, p)


def _nearest(cases: Sequence[Features]) -> Iterator[list[int]]:
    distance: list[dict[int, float]] = [{} for _ in cases]
    for one, other in combinations(range(len(cases)), 2):
        apart = sum((value - cases[other][name]) ** 2 for name, value in cases[one].items())
        distance[one][other] = distance[other][one] = apart
    for each in distance:
        yield sorted(each, key=each.__getitem__)[:NEIGHBOURS]


def _right(near: Mapping[str, Sequence[Sequence[int]]], classes: Mapping[str, Sequence[str]]) -> float:
    right = total = 0
    for scenario, nearest in near.items():
        labels = classes[scenario]
        for i, others in enumerate(nearest):
            votes = [labels[other] for other in others]
            right += max(votes, key=votes.count) == labels[i]
            total += 1
    return right / total
