"""Cases of a store with the label that a scenario's SQL gives each."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import adjudicate
from harness.definitions import define_for_cohort
from harness.scenario import Scenario
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.store.store import Store
from tests.second.chart import Case

_FIELDS = ("subject_id", "hadm_id", "stay_id", "index_time", "as_of", "sealed_hadm_id", "index_eid", "params")


def labelled(store: Store, scenario: Scenario, folder: Path) -> list[tuple[Case, str]]:
    """Every case that a cohort might take, not only those of a sample, each subject's first; with its verdict."""
    file = folder / "tasks.parquet"
    with duckdb.connect() as connection:
        store.attach(connection, "store")
        connection.execute("use store")
        define_for_cohort(connection)
        connection.execute(
            f"""copy (
                select subject_id::varchar as task_id, {", ".join(_FIELDS[:-1])},
                    json_merge_patch(?::json, coalesce(params::json, '{{}}'::json))::varchar as params
                from ({scenario.cohort_sql.strip().removesuffix(";")}) found
                qualify row_number() over (partition by subject_id order by index_time) = 1
            ) to '{file}' (format parquet)""",
            [json.dumps(scenario.params)],
        )
    with open_tasks(store, f"select * from read_parquet('{file}')") as connection:
        adjudicate(connection, scenario)
        facts = {row[0] for row in connection.execute("describe adjudicated").fetchall()}
        rows = connection.execute(
            f"""select a.verdict, {", ".join(f"t.{name}" for name in _FIELDS)}
            from task t join adjudicated a using (task_id)
            where {"a.eligible" if "eligible" in facts else "true"} order by t.subject_id"""
        ).fetchall()
    return [(_case(scenario.id, values), str(verdict)) for verdict, *values in rows]


def _case(scenario: str, values: Sequence[Any]) -> Case:
    named = dict(zip(_FIELDS, values, strict=True))
    return Case(**(named | {"scenario": scenario, "params": json.loads(named["params"])}))
