"""The SQL of what is served: each official table, cut to what tasks may know.

One text serves both sides: the harness reads it as views over many tasks, the chart server copies it
for one. It is written to be read lazily over a large store: filters on plain columns reach the scan,
and columns that nobody asks for are not read.
"""

from functools import cache

from mcp_mimic.store.availability import AVAILABILITY, MICRO_DRAWN
from mcp_mimic.store.rules import Availability, InAdmission, Never, Rule, Until, WithRow
from mcp_mimic.store.tables import TABLES, Table

CULTURES = "hosp.microbiologyevents"
_PENDING = ("micro_specimen_id", "chartdate", "charttime", "spec_itemid", "spec_type_desc")
"""What is known of a culture before its first result: specimen and draw time, no test."""

SERVED_TABLES: tuple[str, ...] = tuple(name for name in TABLES if AVAILABILITY[name].served)
"""Qualified names of the tables that are served at all."""

DICTIONARIES: tuple[str, ...] = tuple(name for name in SERVED_TABLES if not TABLES[name].has_subject)
"""Those of them that describe items and codes and belong to no subject."""


@cache
def served_columns(table: str) -> tuple[str, ...]:
    """The official columns of `table` that are ever served, in official order."""
    rules = AVAILABILITY[table].columns
    return tuple(
        name for name in TABLES[table].column_names if not isinstance(rules.get(name, Never()), Never)
    )


def served_definition(table: str) -> str:
    """Column definitions of a slice's table of `table`: what its SELECT yields, without `task_id`."""
    types = {column.name: column.type for column in TABLES[table].columns}
    columns = [f"{_quoted(name)} {types[name]}" for name in served_columns(table)]
    if table not in DICTIONARIES:
        columns = ["eid VARCHAR", "available_at TIMESTAMP", *columns]
    return ", ".join(columns)


def served_select(
    table: str, *, store: str = "store", task: str = "task", subject_id: int | None = None
) -> str:
    """The SELECT that yields the rows of one table that each task may know.

    `store` is the catalogue of the attached store; `task` a relation with `task_id, subject_id, as_of,
    sealed_hadm_id` and `begun_hadm_ids`, the subject's admissions that had begun by then (see
    `mcp_mimic.chart.tasks`). The result has `task_id, eid, available_at` and the served columns. A
    literal `subject_id` lets a one-subject copy skip the rest of the store. Dictionaries come whole,
    without `task_id`.
    """
    if table in DICTIONARIES:
        return f"select {', '.join(map(_quoted, served_columns(table)))} from {store}.{table} r"
    availability = AVAILABILITY[table]
    source = _Source(TABLES[table], availability, store, task, subject_id)
    rows = (
        f"select task.task_id, r.eid, r.available_at, {source.columns()} from {source.relation()} "
        f"{availability.lookup.format(store=store, task=task)} where {source.known()}"
    )
    return f"{rows} union all {_pending(source)}" if table == CULTURES else rows


class _Source:
    """The parts of the SELECT over one table of one store."""

    def __init__(
        self, table: Table, availability: Availability, store: str, task: str, subject_id: int | None
    ) -> None:
        self.table = table
        self._availability = availability
        self._from = f"{store}.{table.qualified} r join {task} task on task.subject_id = r.subject_id"
        self._subject_id = subject_id

    def relation(self) -> str:
        return self._from

    def subject(self) -> str:
        return "true" if self._subject_id is None else f"r.subject_id = {int(self._subject_id)}"

    def known(self) -> str:
        conditions = [self.subject(), "r.available_at <= task.as_of"]
        if sealed := self._availability.sealed:
            conditions.append(
                f"(task.sealed_hadm_id is null or {sealed} is distinct from task.sealed_hadm_id)"
            )
        return " and ".join(conditions)

    def columns(self) -> str:
        rules = self._availability.columns
        return ", ".join(
            f"{_value(name, rules[name])} as {_quoted(name)}" for name in served_columns(self.table.qualified)
        )


def _quoted(column: str) -> str:
    return f'"{column}"'


def _value(column: str, rule: Rule) -> str:
    """A column as it is served, over `r` and `task`."""
    plain = f"r.{_quoted(column)}"
    match rule:
        case WithRow(own=own):
            return _without_subject(plain) if own else plain
        case Until(moment=moment, own=own):
            return f"case when {moment} <= task.as_of then {_without_subject(plain) if own else plain} end"
        case InAdmission():
            return f"case when list_contains(task.begun_hadm_ids, {plain}) then {plain} end"
        case Never():
            raise ValueError(f"column {column} is never served")


def _without_subject(plain: str) -> str:
    """An official id without the subject's number it begins with."""
    subject = "r.subject_id || '-'"
    return (
        f"case when starts_with({plain}, {subject}) then substr({plain}, len({subject}) + 1) else {plain} end"
    )


def _pending(source: _Source) -> str:
    """Cultures drawn by then of which nothing was reported yet: one row a specimen."""
    values = {name: f"min(r.{_quoted(name)})" for name in _PENDING}
    values["micro_specimen_id"] = "r.micro_specimen_id"
    hadm = "min(r.hadm_id)"
    values["hadm_id"] = f"case when list_contains(any_value(task.begun_hadm_ids), {hadm}) then {hadm} end"
    columns = ", ".join(
        f"{values.get(column.name, f'cast(null as {column.type})')} as {_quoted(column.name)}"
        for column in source.table.columns
        if column.name in served_columns(source.table.qualified)
    )
    return (
        f"select task.task_id, 'micro:s' || r.micro_specimen_id as eid, min({MICRO_DRAWN}) as available_at, "
        f"{columns} from {source.relation()} where {source.subject()} and r.micro_specimen_id is not null "
        "group by task.task_id, task.as_of, r.micro_specimen_id "
        f"having min({MICRO_DRAWN}) <= task.as_of and (min(r.available_at) <= task.as_of) is not true"
    )
