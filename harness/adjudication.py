"""Gold labels: a scenario's SQL over the charts of many tasks, as of their as-of times.

Everything runs in a connection from `mcp_mimic.chart.tasks.open_tasks`. adjudicate.sql becomes the temp
table `adjudicated`; evidence.sql and the expressions of `[[evidence]]` may read it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from harness.definitions import define_for_adjudication
from harness.errors import HarnessError, RunError, ScenarioError
from harness.scenario import Evidence, Scenario, Search
from mcp_mimic.contract import VERDICTS, canonical_json

_SQL_FAULTS = (duckdb.ProgrammingError, duckdb.DataError, duckdb.IntegrityError, duckdb.NotSupportedError)
_POINTS = re.compile(r"LINE (\d+): (.*)")
ROLES = ("sufficient", "relevant", "qualifying")


@dataclass(frozen=True)
class Window:
    """A search that a claim needs: `names` is a regular expression; None is no restriction, or open.

    `terms` are sought in names, or in the text that `source` is.
    """

    source: str
    items: tuple[int, ...] | None
    names: str | None
    start: datetime | None
    end: datetime | None
    terms: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Requirement:
    """What one task's verdict must rest on; alternatives, relevant and qualifying rows are evidence ids."""

    id: str
    kind: str
    any: bool
    alternatives: tuple[tuple[str, ...], ...]
    relevant: tuple[str, ...]
    qualifying: tuple[str, ...]
    search: tuple[Window, ...]


def adjudicate(connection: duckdb.DuckDBPyConnection, scenario: Scenario) -> None:
    """Run adjudicate.sql, which may call the shared definitions, into the temp table `adjudicated`.

    ScenarioError if the SQL fails, misses a task, gives one twice, or names an unknown verdict.
    """
    define_for_adjudication(connection)
    _run(
        connection,
        scenario,
        "adjudicate.sql",
        f"create or replace temp table adjudicated as {_statement(scenario.adjudicate_sql)}",
    )
    columns = [row[0] for row in connection.execute("describe adjudicated").fetchall()]
    if columns[:3] != ["task_id", "verdict", "rule"]:
        raise ScenarioError(
            f"{scenario.id}: adjudicate.sql returns {', '.join(columns[:3])}",
            "its first columns must be task_id, verdict, rule",
        )
    wrong = connection.execute(
        """
        select task_id, count(a.task_id), any_value(a.verdict)
        from task left join adjudicated a using (task_id)
        group by task_id
        having count(a.task_id) <> 1 or not coalesce(list_contains(?, any_value(a.verdict)), false)
            or any_value(a.rule) is null
        order by task_id limit 1
        """,
        [list(VERDICTS)],
    ).fetchone()
    if wrong is not None:
        raise ScenarioError(
            f"{scenario.id}: adjudicate.sql gives {wrong[1]} rows for a task, verdict {wrong[2]}",
            f"it must give each task one row with a rule and a verdict of {', '.join(VERDICTS)}",
        )


def gather_evidence(
    connection: duckdb.DuckDBPyConnection, scenario: Scenario
) -> dict[str, list[Requirement]]:
    """Each task's requirements for its verdict, in the scenario's order; needs `adjudicate` before."""
    rows = _evidence_rows(connection, scenario)
    found: dict[str, list[Requirement]] = {
        task_id: [] for (task_id,) in connection.execute("select task_id from task order by all").fetchall()
    }
    for evidence in scenario.evidence:
        for task_id, search in _windows(connection, scenario, evidence).items():
            found[task_id].append(_requirement(evidence, rows.get((task_id, evidence.id), []), search))
    return found


_Row = tuple[str | None, str, str]


def _evidence_rows(
    connection: duckdb.DuckDBPyConnection, scenario: Scenario
) -> dict[tuple[str, str], list[_Row]]:
    result = _run(
        connection,
        scenario,
        "evidence.sql",
        "select distinct task_id, requirement, alternative::varchar, eid, role "
        f"from ({_statement(scenario.evidence_sql)}\n) order by all",
    )
    known = {evidence.id for evidence in scenario.evidence}
    rows: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for task_id, requirement, alternative, eid, role in result.fetchall():
        if requirement not in known or role not in ROLES or eid is None:
            raise ScenarioError(
                f"{scenario.id}: evidence.sql returns requirement {requirement}, eid {eid}, role {role}",
                f"use the ids of [[evidence]], an evidence id, and a role of {', '.join(ROLES)}",
            )
        rows[task_id, requirement].append((alternative, eid, role))
    return rows


def _requirement(evidence: Evidence, rows: Iterable[_Row], search: tuple[Window, ...]) -> Requirement:
    alternatives: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = {"relevant": set(), "qualifying": set()}
    for alternative, eid, role in rows:
        if role == "sufficient":
            alternatives[alternative or eid].add(eid)
            others["relevant"].add(eid)
        else:
            others[role].add(eid)
    return Requirement(
        id=evidence.id,
        kind=evidence.kind,
        any=evidence.any,
        alternatives=tuple(sorted({tuple(sorted(eids)) for eids in alternatives.values()})),
        relevant=tuple(sorted(others["relevant"])),
        qualifying=tuple(sorted(others["qualifying"])),
        search=search,
    )


def gather_windows(connection: duckdb.DuckDBPyConnection, scenario: Scenario) -> dict[str, list[Window]]:
    """Each task's searches of all requirements, whatever its verdict; needs `adjudicate` before."""
    found: dict[str, list[Window]] = defaultdict(list)
    for evidence in scenario.evidence:
        for task_id, search in _windows(connection, scenario, evidence, VERDICTS).items():
            found[task_id] += search
    return found


def _windows(
    connection: duckdb.DuckDBPyConnection,
    scenario: Scenario,
    evidence: Evidence,
    of_verdicts: Sequence[str] | None = None,
) -> dict[str, tuple[Window, ...]]:
    """The tasks that the requirement applies to, with its search entries evaluated for each."""
    verdicts = ", ".join(f"'{verdict}'" for verdict in of_verdicts or evidence.verdicts)
    columns = ["task_id", *(column for search in evidence.search for column in _bounds(search))]
    result = _run(
        connection,
        scenario,
        f"evidence {evidence.id}",
        f"select {', '.join(columns)} from task join adjudicated using (task_id) "
        f"where verdict in ({verdicts}) and ({evidence.when or 'true'}) order by task_id",
    )
    windows: dict[str, tuple[Window, ...]] = {}
    for task_id, *values in result.fetchall():
        triples = zip(values[0::3], values[1::3], values[2::3], strict=True)
        windows[task_id] = tuple(
            Window(search.source, search.items, search.names, start, end, search.terms)
            for search, (applies, start, end) in zip(evidence.search, triples, strict=True)
            if applies
        )
    return windows


def _bounds(search: Search) -> tuple[str, str, str]:
    return (
        f"({search.when or 'true'})",
        f"({search.from_ or 'null'})::timestamp",
        f"({search.to or 'null'})::timestamp",
    )


def merge_params(
    scenario: Scenario, params: Mapping[str, Any], replaced: Mapping[str, Any] | None = None
) -> str:
    """A case's params over the scenario's defaults, under what a reading replaces: canonical JSON."""
    return canonical_json({**scenario.params, **params, **(replaced or {})})


def sql_failure(scenario: Scenario, what: str, error: duckdb.Error) -> HarnessError:
    """Why a scenario's SQL did not run: its own fault, or the machine's."""
    first, *others = str(error).splitlines()
    meant = next(
        (f"; {line[:1].lower()}{line[1:]}" for line in others if line.startswith("Did you mean")), ""
    )
    told = f"{scenario.id}: {what} fails: {first}{meant}{_line_at_fault(scenario, what, others)}"
    if isinstance(error, _SQL_FAULTS):
        return ScenarioError(told, f"correct it in {scenario.folder}")
    return RunError(told, "check the store, free memory and disk space, and run the same command again")


def _line_at_fault(scenario: Scenario, what: str, told: Iterable[str]) -> str:
    """The line of the scenario's own file that the engine points to, in brackets; nothing if it is another's."""
    sql = {
        "cohort.sql": scenario.cohort_sql,
        "adjudicate.sql": scenario.adjudicate_sql,
        "evidence.sql": scenario.evidence_sql,
    }.get(what, "")
    before = sql[: len(sql) - len(sql.lstrip())].count("\n")  # lines that `_statement` takes off
    for number, text in (match.groups() for match in map(_POINTS.match, told) if match):
        line = dict(enumerate(sql.splitlines(), 1)).get(place := int(number) + before, "").strip()
        shown = text.strip().strip(".")
        if line and (line in shown or shown in line):
            return f" (line {place}: {line})"
    return ""


def _run(
    connection: duckdb.DuckDBPyConnection, scenario: Scenario, what: str, sql: str
) -> duckdb.DuckDBPyConnection:
    try:
        return connection.execute(sql)
    except duckdb.Error as error:
        raise sql_failure(scenario, what, error) from error


def _statement(sql: str) -> str:
    """The one statement of a file, fit to stand inside another."""
    return sql.strip().removesuffix(";")
