"""Cohorts: which patients instantiate which scenario, labelled, stratified and sampled.

Every eligible case is adjudicated; sampling takes the first cases of each verdict by ascending
md5(slug:subject_id) and prefers those whose verdict does not hang on a hair.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import adjudicate, sql_failure
from harness.cohort_file import CohortRow, read_cohort, write_rows
from harness.definitions import define_for_cohort
from harness.errors import ScenarioError
from harness.fragility import Fragility, assess_fragility
from harness.scenario import Scenario, Verdict
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.contract import VERDICTS, canonical_json
from mcp_mimic.store.store import Store

__all__ = ["Cohort", "CohortRow", "Stratum", "build_cohort", "read_cohort", "write_cohort"]

Progress = Callable[[str], None]

_COLUMNS = (
    "subject_id",
    "hadm_id",
    "stay_id",
    "index_time",
    "as_of",
    "sealed_hadm_id",
    "index_eid",
    "params",
)
_DEV_CASES, _ALL_CASES, _SCENARIO_CASES = 148, 750, 30
_ROUNDS = 6
"""How often more candidates are tried in search of cases that are not fragile."""


@dataclass(frozen=True)
class Stratum:
    """One verdict of one scenario: eligible cases, cases wanted by its mix, cases taken."""

    scenario: str
    verdict: Verdict
    eligible: int
    wanted: int
    taken: int
    fragile: int

    @property
    def short(self) -> int:
        """How many cases the store could not give."""
        return self.wanted - self.taken


@dataclass(frozen=True)
class Cohort:
    """Sampled cases in the file's order, and what each stratum had to offer."""

    rows: tuple[CohortRow, ...]
    strata: tuple[Stratum, ...]

    @property
    def shortfalls(self) -> tuple[Stratum, ...]:
        """Strata with fewer cases than their mix asks for."""
        return tuple(stratum for stratum in self.strata if stratum.short)


def build_cohort(store: Store, scenarios: Sequence[Scenario], *, progress: Progress | None = None) -> Cohort:
    """Find, label, sample and assess the cases of each scenario; ScenarioError if its SQL fails.

    The result depends on the store and the scenarios only.
    """
    tell = progress or (lambda _: None)
    rows: list[CohortRow] = []
    strata: list[Stratum] = []
    for scenario in sorted(scenarios, key=lambda each: each.id):
        tell(f"{scenario.id}: finding cases")
        cases = label_cases(store, scenario)
        tell(f"{scenario.id}: sampling from {len(cases)} cases")
        for verdict, taken in _sample(store, scenario, cases).items():
            rows += taken
            strata.append(
                Stratum(
                    scenario=scenario.id,
                    verdict=verdict,
                    eligible=sum(case.gold == verdict for case in cases),
                    wanted=scenario.mix[verdict],
                    taken=len(taken),
                    fragile=sum(case.fragile for case in taken),
                )
            )
    return Cohort(tuple(split_rows(rows, scenarios)), tuple(strata))


def write_cohort(cohort: Cohort, path: Path, *, private: bool = False) -> None:
    """Write the sampled cases as a cohort file, `private` for its owner alone."""
    write_rows(cohort.rows, path, private=private)


def label_cases(store: Store, scenario: Scenario) -> list[CohortRow]:
    """Each subject's first eligible case with its verdict, in sampling order."""
    with tempfile.TemporaryDirectory(prefix="cohort-") as folder:
        file = Path(folder) / "candidates.parquet"
        write_candidates(store, scenario, file)
        with open_tasks(store, f"select * from read_parquet('{file}')") as connection:
            adjudicate(connection, scenario)
            facts = {row[0] for row in connection.execute("describe adjudicated").fetchall()}
            columns = ", ".join(f"t.{name}" for name in _COLUMNS)
            result = connection.execute(
                f"""select {columns}, a.verdict, a.rule
                from task t join adjudicated a using (task_id)
                where {"a.eligible" if "eligible" in facts else "true"}
                qualify row_number() over (partition by t.subject_id order by t.task_id) = 1
                order by md5(? || ':' || t.subject_id), t.subject_id""",
                [scenario.slug],
            )
            return [_case(scenario, values) for values in result.fetchall()]


def _case(scenario: Scenario, values: Sequence[Any]) -> CohortRow:
    named = dict(zip((*_COLUMNS, "gold", "rule"), values, strict=True))
    named["params"] = canonical_json(json.loads(named["params"]))
    return CohortRow(scenario=scenario.id, **named)


def write_candidates(store: Store, scenario: Scenario, file: Path) -> None:
    """The adult cases that cohort.sql finds, numbered by subject, index time and row id, as task rows."""
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, "store")
        connection.execute("use store")
        define_for_cohort(connection)
        try:
            connection.execute(f"create temp table found as {scenario.cohort_sql.strip().removesuffix(';')}")
            present = {row[0] for row in connection.execute("describe found").fetchall()}
            if missing := [name for name in _COLUMNS if name not in present]:
                raise ScenarioError(
                    f"{scenario.id}: cohort.sql returns no column {missing[0]}",
                    f"it must return {', '.join(_COLUMNS)}",
                )
            connection.execute(
                f"""create temp table candidate as
                select
                    printf('%012d', row_number() over (
                        order by f.subject_id, f.index_time, length(f.index_eid), f.index_eid)) as task_id,
                    {", ".join(f"f.{name}" for name in _COLUMNS[:-1])},
                    json_merge_patch(?::json, coalesce(f.params::json, '{{}}'::json))::varchar as params
                from found f
                join hosp.patients p on p.subject_id = f.subject_id
                left join hosp.admissions a on a.hadm_id = f.hadm_id
                where p.anchor_age + year(coalesce(a.admittime, f.index_time)) - p.anchor_year >= 18""",
                [canonical_json(scenario.params)],
            )
            connection.execute(f"copy candidate to '{file}' (format parquet)")
        except duckdb.Error as error:
            raise sql_failure(scenario, "cohort.sql", error) from error


def _sample(
    store: Store, scenario: Scenario, cases: Sequence[CohortRow]
) -> Mapping[Verdict, list[CohortRow]]:
    """The cases of each verdict, in sampling order; fragile ones only where there are too few others."""
    assessed: dict[int, CohortRow] = {}
    queues = {verdict: [case for case in cases if case.gold == verdict] for verdict in scenario.mix}
    for _ in range(_ROUNDS):
        due = [
            case
            for verdict, queue in queues.items()
            for case in _next(queue, assessed, scenario.mix[verdict])
        ]
        if not due:
            break
        fragility = assess_fragility(store, scenario, [case.task(str(case.subject_id)) for case in due])
        for case in due:
            assessed[case.subject_id] = _with(case, fragility[str(case.subject_id)])
    return {
        verdict: _take([assessed[c.subject_id] for c in queues[verdict] if c.subject_id in assessed], wanted)
        for verdict, wanted in sorted(scenario.mix.items(), key=lambda item: VERDICTS.index(item[0]))
    }


def _next(queue: Sequence[CohortRow], assessed: Mapping[int, CohortRow], wanted: int) -> list[CohortRow]:
    done = [assessed[case.subject_id] for case in queue if case.subject_id in assessed]
    lacking = wanted - sum(not case.fragile for case in done)
    return [case for case in queue if case.subject_id not in assessed][: max(lacking, 0)]


def _take(assessed: Sequence[CohortRow], wanted: int) -> list[CohortRow]:
    preferred = sorted(range(len(assessed)), key=lambda place: (assessed[place].fragile, place))[:wanted]
    return [assessed[place] for place in sorted(preferred)]


def _with(case: CohortRow, fragility: Fragility) -> CohortRow:
    return replace(case, fragile=fragility.fragile, definition_fragile=fragility.definition_fragile)


def split_rows(rows: Sequence[CohortRow], scenarios: Iterable[Scenario]) -> list[CohortRow]:
    """Mark the development cases: in each stratum the first by sha256 of `dev:<scenario>:<subject_id>`.

    How many is `dev_quota`'s, so that no other scenario, and no patient of another stratum, changes it.
    """
    quotas = {scenario.id: dev_quota(scenario) for scenario in scenarios}
    strata: dict[tuple[str, Verdict], list[CohortRow]] = {}
    for row in rows:
        strata.setdefault((row.scenario, row.gold), []).append(row)
    chosen = {
        (name, row.subject_id)
        for (name, verdict), cases in strata.items()
        for row in sorted(cases, key=_dev_rank)[: quotas[name][verdict]]
    }
    return [replace(row, split="dev" if (row.scenario, row.subject_id) in chosen else "full") for row in rows]


def dev_quota(scenario: Scenario) -> dict[Verdict, int]:
    """How many cases of each verdict are for development: 148 in all over scenarios 1 to 25 of 30 cases each.

    A systematic sample: the cases wanted of all scenarios stand in one row, 30 places a scenario by its number,
    in the order of verdicts; every (750/148)th place is a development case. The number and the mix of the
    scenario alone decide, and each verdict's share over the 25 scenarios comes out as its share of the cases.
    """
    place = _SCENARIO_CASES * (int(scenario.number) - 1)
    quota: dict[Verdict, int] = {}
    for verdict in sorted(scenario.mix, key=VERDICTS.index):
        end = place + scenario.mix[verdict]
        quota[verdict] = end * _DEV_CASES // _ALL_CASES - place * _DEV_CASES // _ALL_CASES
        place = end
    return quota


def _dev_rank(row: CohortRow) -> str:
    return hashlib.sha256(f"dev:{row.scenario}:{row.subject_id}".encode()).hexdigest()
