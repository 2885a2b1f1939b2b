"""Whether a verdict hangs on a hair: on five minutes, a last digit, or the choice of definition.

Each deciding row is moved alone, by five minutes either way or by one unit of its last reported digit
either way; every such variant is a task of its own, and all are adjudicated at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from harness.adjudication import adjudicate, gather_evidence, merge_params
from harness.definitions import tables_read
from harness.scenario import Scenario
from mcp_mimic.chart.served import SERVED_TABLES
from mcp_mimic.chart.tasks import TaskRow, open_tasks
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

SHIFT_MINUTES = 5

_NUMBERS = {
    "hosp.labevents": ("valuenum", "value"),
    "icu.chartevents": ("valuenum", "value"),
    "icu.outputevents": ("value", "null::varchar"),
    "icu.inputevents": ("amount", "null::varchar"),
}
"""Tables whose values are moved: the number, and its text where the record keeps what was reported."""

_MOST_DECIMALS = 3
_BATCH = 4000


@dataclass(frozen=True)
class Fragility:
    """`fragile`: some small move of one row changes the verdict; `definition_fragile`: some reading does."""

    fragile: bool
    definition_fragile: bool


def assess_fragility(store: Store, scenario: Scenario, tasks: Sequence[TaskRow]) -> dict[str, Fragility]:
    """Both fragilities of each task, by task id; ScenarioError if the scenario's SQL fails."""
    if not tasks:
        return {}
    used = _tables_used(scenario)
    with open_tasks(store, tasks, materialise=used) as connection:
        adjudicate(connection, scenario)
        connection.execute("create table gold as select task_id, verdict from adjudicated")
        _note_deciding_rows(connection, scenario)
        by_definition = _changed_by_readings(connection, scenario, tasks)
        _write_variants(connection, used)
        by_perturbation = _changed_by_variants(connection, scenario, used)
    return {
        task.task_id: Fragility(task.task_id in by_perturbation, task.task_id in by_definition)
        for task in tasks
    }


def _tables_used(scenario: Scenario) -> tuple[str, ...]:
    named = tables_read(scenario.adjudicate_sql)
    return tuple(name for name in SERVED_TABLES if name in named and TABLES[name].has_subject)


def _note_deciding_rows(connection: duckdb.DuckDBPyConnection, scenario: Scenario) -> None:
    pairs = [
        (task_id, eid)
        for task_id, requirements in gather_evidence(connection, scenario).items()
        for eid in sorted({eid for need in requirements for eid in (*need.relevant, *need.qualifying)})
    ]
    connection.execute(
        "create table deciding as select unnest(?::varchar[]) as task_id, unnest(?::varchar[]) as eid",
        [[task_id for task_id, _ in pairs], [eid for _, eid in pairs]],
    )


def _changed_by_readings(
    connection: duckdb.DuckDBPyConnection, scenario: Scenario, tasks: Sequence[TaskRow]
) -> set[str]:
    changed: set[str] = set()
    for reading in scenario.readings:
        _set_params(connection, {t.task_id: merge_params(scenario, t.params, reading.params) for t in tasks})
        adjudicate(connection, scenario)
        changed |= _changed(connection, "select task_id, task_id as source from task")
    _set_params(connection, {t.task_id: merge_params(scenario, t.params) for t in tasks})
    return changed


def _set_params(connection: duckdb.DuckDBPyConnection, params: Mapping[str, str]) -> None:
    connection.execute(
        "update task set params = r.params::json "
        "from (select unnest(?::varchar[]) as task_id, unnest(?::varchar[]) as params) r "
        "where r.task_id = task.task_id",
        [list(params), list(params.values())],
    )


def _changed(connection: duckdb.DuckDBPyConnection, origin: str) -> set[str]:
    """The original tasks whose verdict in `adjudicated` differs from their gold."""
    rows = connection.execute(
        f"select distinct o.source from ({origin}) o join adjudicated a using (task_id) "
        "join gold g on g.task_id = o.source where a.verdict <> g.verdict"
    ).fetchall()
    return {str(task_id) for (task_id,) in rows}


def _write_variants(connection: duckdb.DuckDBPyConnection, used: Sequence[str]) -> None:
    """`every_variant`: one row a perturbation; `moves_index` takes the task's index time along."""
    moves = "(values (-1), (1)) as way(sign)"
    parts = [
        f"select task_id, index_eid as eid, sign * {SHIFT_MINUTES} as minutes, 0.0::double as delta, "
        f"true as moves_index from task, {moves} where index_time is not null"
    ]
    for name in used:
        if time := TABLES[name].time:
            parts.append(
                f"select d.task_id, d.eid, sign * {SHIFT_MINUTES}, 0.0::double, false "
                f"from deciding d join {name} r using (task_id, eid) "
                f"join task t using (task_id), {moves} "
                f"where r.{time} is not null and d.eid is distinct from t.index_eid"
            )
        if name in _NUMBERS:
            parts.append(
                "select task_id, eid, 0, sign * pow(10, -decimals), false "
                f"from ({_decimals(name)}) semi join deciding using (task_id, eid), {moves}"
            )
    connection.execute(
        "create table every_variant as select row_number() over (order by task_id, eid, minutes, delta) - 1 as number, * "
        f"from (select distinct * from ({' union all '.join(parts)}))"
    )


def _decimals(name: str) -> str:
    """Digits after the point that a row reports: of its text, or the most that its item shows."""
    number, text = _NUMBERS[name]
    shown = f"length(split_part(rtrim({number}::decimal(38, {_MOST_DECIMALS})::varchar, '0'), '.', 2))"
    written = rf"length(regexp_extract({text}, '^\s*-?\d+\.(\d+)\s*$', 1))"
    return (
        f"select task_id, eid, least({_MOST_DECIMALS}, greatest({written}, "
        f"max({shown}) over (partition by task_id, itemid))) as decimals "
        f"from {name} where {number} is not null"
    )


def _changed_by_variants(
    connection: duckdb.DuckDBPyConnection, scenario: Scenario, used: Sequence[str]
) -> set[str]:
    connection.execute("create table original as from task")
    connection.execute("create table variant as from every_variant limit 0")
    for name in used:
        _lay_variants_over(connection, name)
    changed: set[str] = set()
    for first in _batches(connection):
        connection.execute("delete from variant")
        connection.execute(
            "insert into variant from every_variant where number >= ? and number < ?", [first, first + _BATCH]
        )
        connection.execute("delete from task")
        connection.execute(
            """insert into task by name
            select o.* replace (
                v.number::varchar as task_id,
                case when v.moves_index then o.index_time + to_minutes(v.minutes)
                    else o.index_time end as index_time)
            from variant v join original o using (task_id)"""
        )
        adjudicate(connection, scenario)
        changed |= _changed(connection, "select number::varchar as task_id, task_id as source from variant")
    return changed


def _batches(connection: duckdb.DuckDBPyConnection) -> Iterator[int]:
    row = connection.execute("select count(*) from every_variant").fetchone()
    yield from range(0, row[0] if row else 0, _BATCH)


def _lay_variants_over(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Rename the copied table and put a view in its place that shows it once for each variant."""
    schema, table = name.split(".")
    copied = f"{schema}.{table}_charted"
    connection.execute(f"alter table {name} rename to {table}_charted")
    changes, known = [], "r.available_at"
    if time := TABLES[name].time:
        moved = f"r.{time} + to_minutes(v.minutes)"
        changes.append(f"case when r.eid = v.eid then {moved} else r.{time} end as {time}")
        known = (
            "case when r.eid is distinct from v.eid or v.minutes = 0 then r.available_at "
            "when v.moves_index then r.available_at + to_minutes(v.minutes) "
            f"else greatest(r.available_at, {moved}) end"
        )
        changes.append(f"{known} as available_at")
    if name in _NUMBERS:
        number = _NUMBERS[name][0]
        changes.append(f"case when r.eid = v.eid then r.{number} + v.delta else r.{number} end as {number}")
    changes.append("v.number::varchar as task_id")
    connection.execute(
        f"create view {name} as select r.* replace ({', '.join(changes)}) "
        f"from {copied} r join variant v on v.task_id = r.task_id "
        f"join original o on o.task_id = r.task_id where {known} <= o.as_of"
    )
