"""Gold files: what the verifier holds against a trial, from a scenario's SQL and the charts of its cases."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import duckdb

from harness.adjudication import Requirement, Window, adjudicate, gather_evidence
from harness.cohort_file import CohortRow
from harness.errors import TaskError
from harness.scenario import Scenario
from harness.scoring.gold import read_gold
from harness.sources import NAME_COLUMNS, TEXT_ROUTES, text_piece
from mcp_mimic.chart.served import SERVED_TABLES
from mcp_mimic.chart.tasks import STORE_ALIAS, open_tasks
from mcp_mimic.store.labels import naming_of
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

Gold = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A cohort row under its task id."""

    task_id: str
    row: CohortRow


def gather_gold(store: Store, scenario: Scenario, cases: Sequence[Case]) -> dict[str, Gold]:
    """The gold of each case of one scenario, by task id.

    TaskError names the case if the store's charts contradict its cohort row, if rows that would refute a
    claimed absence are there, or if nothing could satisfy a requirement.
    """
    if not cases:
        return {}
    with open_tasks(store, [case.row.task(case.task_id) for case in cases]) as connection:
        adjudicate(connection, scenario)
        verdicts = {
            task_id: (verdict, rule)
            for task_id, verdict, rule in connection.execute(
                "select task_id, verdict, rule from adjudicated"
            ).fetchall()
        }
        requirements = gather_evidence(connection, scenario)
        resolver = _Resolver(connection, store.manifest.modules)
        known = _known(connection)
        golds = {
            case.task_id: _gold(scenario, case, verdicts[case.task_id], known.get(case.task_id, {}))
            | {"requirements": [resolver.resolve(case, need) for need in _sound(case, requirements)]}
            for case in cases
        }
    for case in cases:
        _require_rows_there(case, golds[case.task_id])
    return golds


def _gold(scenario: Scenario, case: Case, verdict: tuple[str, str], known: Mapping[str, Any]) -> Gold:
    row = case.row
    if verdict[0] != row.gold or (row.rule and verdict[1] != row.rule):
        raise TaskError(
            f"case {case.task_id}: the cohort says {row.gold} ({row.rule}), this store's chart {' ('.join(verdict)})",
            "make a cohort of this store again: harness cohort",
        )
    return {
        "task": case.task_id,
        "scenario": scenario.id,
        "version": str(scenario.version),
        "verdict": row.gold,
        "rule": verdict[1],
        "fragile": row.fragile,
        "definition_fragile": row.definition_fragile,
        "label": "clinician-signed" if scenario.clinician_reviewed else "rule-derived",
        "known": known,
        "policies": [
            {"id": item.id, "document": item.document, "weight": item.weight}
            for item in scenario.policy_rubric.item
            if item.document in scenario.policies
        ],
    }


def _require_rows_there(case: Case, gold: Gold) -> None:
    """TaskError if a requirement rests on a row that the chart of its case has not."""
    known = read_gold(gold).known
    for need in gold["requirements"]:
        for eid in sorted({eid for alternative in need["alternatives"] for eid in alternative}):
            if eid not in known:
                raise _contradiction(case, f"{need['id']} asks for {eid}, and the chart has no such row")


def _sound(case: Case, gathered: Mapping[str, list[Requirement]]) -> list[Requirement]:
    """The case's requirements, none of them void or refuted by the chart."""
    needs = gathered[case.task_id]
    if not needs:
        raise _contradiction(case, "no requirement applies to its verdict and rule")
    for need in needs:
        if need.kind == "absence" and need.qualifying:
            raise _contradiction(case, f"{need.id} claims an absence, but {need.qualifying[0]} is there")
        if need.kind == "rows" and not need.alternatives:
            raise _contradiction(case, f"{need.id} asks for rows, and evidence.sql gives none")
    return needs


def _contradiction(case: Case, problem: str) -> TaskError:
    return TaskError(
        f"case {case.task_id} ({case.row.gold}, {case.row.rule}): {problem}",
        f"correct adjudicate.sql, evidence.sql or scenario.toml of {case.row.scenario}",
    )


class _Resolver:
    """Turns the searches of a requirement into what a trial's audit can be compared with."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, modules: Iterable[str]) -> None:
        self._connection = connection
        self._modules = frozenset(modules)
        self._strings: dict[str, list[str]] = {}
        self._items: dict[str, dict[str, set[int]]] = {}
        self._labels: dict[str, dict[int, str]] = {}

    def resolve(self, case: Case, need: Requirement) -> dict[str, Any]:
        """One requirement as gold.json holds it."""
        search = [
            self._entry(case, need, window)
            for window in need.search
            if window.source.split(".")[0] in self._modules
        ]
        if need.kind != "rows" and not search and not need.alternatives:
            raise _contradiction(case, f"{need.id} needs a search, and this store has none of its tables")
        resolved: dict[str, Any] = {
            "id": need.id,
            "kind": need.kind,
            "alternatives": [list(alternative) for alternative in need.alternatives],
            "relevant": list(need.relevant),
            "search": search,
        }
        return resolved | ({"any": True} if need.any else {})

    def _entry(self, case: Case, need: Requirement, window: Window) -> dict[str, Any]:
        as_of = case.row.as_of
        end = min(window.end or as_of, as_of)
        if window.start is not None and window.start > end:
            raise _contradiction(case, f"the search of {need.id} begins after it ends")
        items = self._items_of(case, need, window)
        return {
            "source": window.source,
            "items": items,
            "labels": [self._labels_of(window.source).get(item, "") for item in items or ()],
            "names": self._sought(window),
            "from": _iso(window.start),
            "to": _iso(end),
        }

    def _items_of(self, case: Case, need: Requirement, window: Window) -> list[int] | None:
        """The items to be searched: of an absence, those that the store knows; of a series, the chart's own.

        None that the store knows: an empty list, which any search of that table and window covers.
        """
        if window.items is None or need.kind == "rows":
            return None if window.items is None else sorted(window.items)
        present = self._items_in(window.source).get(case.task_id, set()).intersection(window.items)
        known = present.union(self._labels_of(window.source).keys() & window.items)
        return sorted(present if need.kind == "series" and present else known)

    def _labels_of(self, source: str) -> dict[int, str]:
        """What a search by label is matched against, for every item of the store's dictionary."""
        naming = naming_of(source)
        if naming.dictionary not in self._labels:
            rows = self._connection.execute(
                f"select d.itemid, lower(coalesce({naming.terms}, '')) from {STORE_ALIAS}.{naming.dictionary} d"
            ).fetchall()
            self._labels[naming.dictionary] = dict(rows)
        return self._labels[naming.dictionary]

    def _items_in(self, source: str) -> dict[str, set[int]]:
        if source not in self._items:
            found: dict[str, set[int]] = defaultdict(set)
            rows = self._connection.execute(f"select distinct task_id, itemid from {source}").fetchall()
            for task_id, itemid in rows:
                found[task_id].add(itemid)
            self._items[source] = found
        return self._items[source]

    def _sought(self, window: Window) -> list[str] | None:
        """The strings that a search must let through: the store's that match, or the scenario's own terms."""
        if window.terms is not None:
            of_text = window.source in TEXT_ROUTES
            return sorted({text_piece(term) if of_text else term.lower() for term in window.terms})
        return None if window.names is None else self._names_of(window.source, window.names)

    def _names_of(self, source: str, pattern: str) -> list[str]:
        """The strings of the whole store that the pattern matches, in lower case."""
        if source not in self._strings:
            column = NAME_COLUMNS[source]
            rows = self._connection.execute(
                f"select distinct lower(trim({column})) from {STORE_ALIAS}.{source} where {column} is not null"
            ).fetchall()
            self._strings[source] = sorted(name for (name,) in rows)
        matches = re.compile(pattern, re.IGNORECASE)
        return [name for name in self._strings[source] if matches.search(name)]


def _known(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, list[Any]]]:
    """Each task's evidence ids by kind: ranges of whole numbers, and texts for keys that are none."""
    known: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for task_id, kind, numbers, texts in connection.execute(_KNOWN).fetchall():
        known[task_id][kind] = [*_ranges(numbers), *texts]
    return known


def _keys() -> Iterator[str]:
    """For each table whose rows can be cited, a SELECT of its keys: task, kind, and what stands after the colon."""
    for name in SERVED_TABLES:
        table = TABLES[name]
        if table.kind is not None and table.shares is None and table.has_subject:
            key = f"substr(eid, {len(table.kind) + 2})"
            yield f"select task_id, '{table.kind}' as kind, {key} as text from {name} where eid is not null"


_KNOWN = f"""
    with key as (
        select task_id, kind, text, try_cast(text as bigint) as cast_n,
            case when cast_n between 0 and 999999999999999999 and cast_n::varchar = text then cast_n end as n
        from ({" union all ".join(_keys())}))
    select task_id, kind, coalesce(list(distinct n) filter (n is not null), []),
        coalesce(list(distinct text order by text) filter (n is null), [])
    from key group by task_id, kind order by task_id, kind"""


def _ranges(numbers: Iterable[int]) -> Iterator[list[int]]:
    """The first and the last of each run of whole numbers, in order."""
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda each: each[1] - each[0]):
        inside = [number for _, number in run]
        yield [inside[0], inside[-1]]


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
