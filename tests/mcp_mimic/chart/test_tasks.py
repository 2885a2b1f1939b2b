"""Many tasks at once: views that stay lazy over the store."""

from datetime import datetime

import pytest

from mcp_mimic.chart.served import DICTIONARIES, SERVED_TABLES, served_columns
from mcp_mimic.chart.tasks import TaskRow, open_tasks
from mcp_mimic.store.store import Store
from tests.hospital import ADA, BEN
from tests.mcp_mimic.chart.edges import DEE
from tests.mcp_mimic.chart.reading import rows_of

LATE = datetime(2161, 1, 1)
TASKS = [TaskRow("a", ADA, LATE), TaskRow("b", BEN, LATE), TaskRow("d", DEE, LATE, params={"window_h": 48})]


def plan(store: Store, sql: str) -> str:
    with open_tasks(store, TASKS) as connection:
        return "\n".join(str(row["explain_value"]) for row in rows_of(connection, f"explain {sql}"))


def test_a_filter_on_an_item_reaches_the_scan_of_the_store(edge_store: Store) -> None:
    text = plan(
        edge_store, "select task_id, max(valuenum) from hosp.labevents where itemid = 50912 group by 1"
    )
    scan = text[text.index("store.hosp.labevents") :]
    assert "Filters:" in scan
    assert "itemid = 50912" in scan


def test_columns_that_nobody_asks_for_are_not_read(edge_store: Store) -> None:
    text = plan(edge_store, "select task_id, max(rate) from icu.inputevents where itemid = 221906 group by 1")
    assert "rate" in text
    for column in ("endtime", "statusdescription", "patientweight", "hadm_id"):
        assert column not in text


def test_every_served_table_carries_the_task_and_dictionaries_do_not(edge_store: Store) -> None:
    with open_tasks(edge_store, TASKS) as connection:
        for name in SERVED_TABLES:
            columns = [row["column_name"] for row in rows_of(connection, f"describe {name}")]
            own = [] if name in DICTIONARIES else ["task_id", "eid", "available_at"]
            assert columns == [*own, *served_columns(name)]


def test_the_table_task_holds_the_tasks(edge_store: Store) -> None:
    with open_tasks(edge_store, TASKS) as connection:
        rows = rows_of(
            connection, "select task_id, subject_id, params->>'window_h' as hours from task order by 1"
        )
    assert [tuple(row.values()) for row in rows] == [("a", ADA, None), ("b", BEN, None), ("d", DEE, "48")]


def test_tasks_can_come_from_a_query_over_the_store(edge_store: Store) -> None:
    sql = (
        "select 'adm-' || hadm_id as task_id, subject_id, hadm_id, admittime as index_time, "
        "admittime + interval 1 day as as_of from store.hosp.admissions"
    )
    with open_tasks(edge_store, sql) as connection:
        rows = rows_of(connection, "select distinct task_id from hosp.admissions")
        assert len(rows) == len(rows_of(connection, "from task")) == 4


def test_a_materialised_table_can_be_changed_without_touching_the_store(edge_store: Store) -> None:
    with open_tasks(edge_store, TASKS, materialise={"hosp.labevents"}) as connection:
        connection.execute("update hosp.labevents set valuenum = 99 where eid = 'lab:902'")
        assert rows_of(connection, "select valuenum from hosp.labevents where eid = 'lab:902'") == [
            {"valuenum": 99.0}
        ]
    with open_tasks(edge_store, TASKS) as connection:
        assert rows_of(connection, "select valuenum from hosp.labevents where eid = 'lab:902'") == [
            {"valuenum": 2.2}
        ]


def test_an_unknown_table_to_materialise_is_a_mistake(edge_store: Store) -> None:
    with pytest.raises(ValueError, match=r"hosp\.nothing"):
        open_tasks(edge_store, TASKS, materialise={"hosp.nothing"})


def test_no_task_gives_empty_tables(edge_store: Store) -> None:
    with open_tasks(edge_store, []) as connection:
        assert rows_of(connection, "from hosp.labevents") == []
