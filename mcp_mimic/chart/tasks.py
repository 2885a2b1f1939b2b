"""Many tasks over one store: the availability-filtered tables that adjudication reads.

A served slice is the one-task case of the same SELECTs (`mcp_mimic.chart.slice`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import batched
from typing import Any

import duckdb

from mcp_mimic.chart.served import SERVED_TABLES, served_select
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

STORE_ALIAS = "store"
AS_OF_TABLE = "served.task"

TASK_COLUMNS = (
    "task_id VARCHAR, subject_id BIGINT, hadm_id BIGINT, stay_id BIGINT, index_time TIMESTAMP, "
    "as_of TIMESTAMP, sealed_hadm_id BIGINT, index_eid VARCHAR, params JSON"
)
"""Columns of the table `task`, in order."""

_ROWS_A_STATEMENT = 1_000
"""A statement costs more than a row, and has a limit of parameters."""


@dataclass(frozen=True)
class TaskRow:
    """One task: whose chart, as of when, around which index event. Times are local times of the record."""

    task_id: str
    subject_id: int
    as_of: datetime
    hadm_id: int | None = None
    stay_id: int | None = None
    index_time: datetime | None = None
    sealed_hadm_id: int | None = None
    index_eid: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


def open_tasks(
    store: Store, tasks: Sequence[TaskRow] | str, *, materialise: Collection[str] = ()
) -> duckdb.DuckDBPyConnection:
    """A connection in which every served table shows what each task may know.

    `tasks` are rows, or a SELECT over the store (catalogue `store`) with the columns of `task` by name.
    The connection has the table `task` and, for every served table of the store, a view of the official
    name with `task_id, eid, available_at` and the served columns; dictionaries come without `task_id`.
    Tables named in `materialise` are copied instead: for repeated reading, and for trying out changes.
    The caller closes the connection. ValueError: `materialise` names a table that is not served.
    """
    if unknown := set(materialise) - set(SERVED_TABLES):
        raise ValueError(f"not a served table: {', '.join(sorted(unknown))}")
    # What does not fit into memory spills beside the store, not into the caller's working folder.
    connection = duckdb.connect(":memory:", config={"temp_directory": str(store.path / "spill")})
    try:
        store.attach(connection, STORE_ALIAS)
        connection.execute(f"create table task ({TASK_COLUMNS})")
        if isinstance(tasks, str):
            connection.execute(f"insert into task by name {tasks}")
        else:
            _insert(connection, tasks)
        write_as_of(connection, "task")
        create_schemas(connection)
        for name in SERVED_TABLES:
            form = "table" if name in materialise else "view"
            connection.execute(f"create {form} {name} as {served_select(name, task=AS_OF_TABLE)}")
    except BaseException:
        connection.close()
        raise
    return connection


def create_schemas(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the schemas of the official tables."""
    for schema in dict.fromkeys(table.schema for table in TABLES.values()):
        connection.execute(f"create schema if not exists {schema}")


def write_as_of(connection: duckdb.DuckDBPyConnection, tasks: str) -> None:
    """Write the relation that `served_select` joins: what decides the cut of each task in `tasks`."""
    connection.execute("create schema served")
    connection.execute(
        f"""create table {AS_OF_TABLE} as
        select task.task_id, task.subject_id, task.as_of, task.sealed_hadm_id,
            list(admission.hadm_id order by admission.hadm_id)
                filter (where admission.hadm_id is not null) as begun_hadm_ids
        from {tasks} task
        left join {STORE_ALIAS}.hosp.admissions admission
            on admission.subject_id = task.subject_id and admission.admittime <= task.as_of
        group by all"""
    )


def _insert(connection: duckdb.DuckDBPyConnection, tasks: Sequence[TaskRow]) -> None:
    if not tasks:
        return
    rows = [
        (
            task.task_id,
            task.subject_id,
            task.hadm_id,
            task.stay_id,
            task.index_time,
            task.as_of,
            task.sealed_hadm_id,
            task.index_eid,
            json.dumps(dict(task.params), sort_keys=True),
        )
        for task in tasks
    ]
    for some in batched(rows, _ROWS_A_STATEMENT):
        places = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(some))
        connection.execute(f"insert into task values {places}", [value for row in some for value in row])
