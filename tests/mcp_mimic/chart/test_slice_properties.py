"""For any subject and any moment, a slice holds exactly what could be known of that subject then."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_mimic.chart.slice import open_slice
from mcp_mimic.chart.tasks import TaskRow, open_tasks
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from tests.mcp_mimic.chart.edges import DEE
from tests.mcp_mimic.chart.reading import Served, moments_of, rows_of, served_by, subjects_of, truth_of
from tests.mcp_mimic.chart.truth import SUBJECT_TABLES, Truth

PLANNED = {
    "starttime",
    "scheduletime",
    # the day of an outpatient value begins before its rows are known
    "chartdate",
}
"""Columns of known rows that may lie ahead: plans, made before."""


@cache
def _truth_in(folder: Path, subject_id: int) -> tuple[Truth, list[datetime]]:
    truth = truth_of(Store.open(folder), subject_id)
    return truth, moments_of(truth)


def known_truth(store: Store, subject_id: int) -> tuple[Truth, list[datetime]]:
    return _truth_in(store.path, subject_id)


def as_of_times(moments: list[datetime]) -> st.SearchStrategy[datetime]:
    """At, just before and just after what the record names; those are where rules can go wrong."""
    steps = st.sampled_from([timedelta(0), timedelta(seconds=-1), timedelta(seconds=1), timedelta(hours=5)])
    first = moments[0]
    return st.builds(lambda moment, step: max(first, moment + step), st.sampled_from(moments), steps)


@st.composite
def questions(draw: st.DrawFn, store: Store) -> tuple[int, datetime, int | None]:
    subject_id = draw(st.sampled_from(subjects_of(store)))
    truth, moments = known_truth(store, subject_id)
    sealed = draw(st.sampled_from([None, *truth.admission]))
    return subject_id, draw(as_of_times(moments)), sealed


def contents(rows: Iterable[Mapping[str, Any]], leave_out: frozenset[str] = frozenset()) -> Counter[Any]:
    return Counter(
        frozenset((name, value) for name, value in row.items() if name not in leave_out) for row in rows
    )


def assert_holds_what_was_known(store: Store, subject_id: int, as_of: datetime, sealed: int | None) -> None:
    with open_slice(store, subject_id, as_of, sealed) as chart:
        assert_is_what_was_known(served_by(chart), store, subject_id, as_of, sealed)


def assert_is_what_was_known(
    served: Served, store: Store, subject_id: int, as_of: datetime, sealed: int | None
) -> None:
    expected = known_truth(store, subject_id)[0].slice(as_of, sealed)
    for table in SUBJECT_TABLES:
        leave_out = frozenset({"eid", "available_at"} if table == "hosp.patients" else {"eid"})
        assert contents(served[table], leave_out) == contents(expected[table], leave_out), table
    assert_betrays_nothing(served, subject_id, as_of)


def assert_betrays_nothing(served: Served, subject_id: int, as_of: datetime) -> None:
    """What no rule can excuse, whatever the tables mean."""
    for table, rows in served.items():
        for row in rows:
            assert row["available_at"] <= as_of, table
            assert "subject_id" not in row
            assert "task_id" not in row
            for name, value in row.items():
                assert str(subject_id) not in str(value), (table, name)
                ahead = isinstance(value, date) and str(value) > str(as_of)
                assert not ahead or name in PLANNED, (table, name, value)
        numbered = [row["eid"] for row in rows if row["eid"] is not None]
        if not (TABLES[table].shares or TABLES[table].repeats):
            assert len(numbered) == len(set(numbered)), table


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_slice_of_the_small_hospital_holds_exactly_what_was_known(
    edge_store: Store, data: st.DataObject
) -> None:
    assert_holds_what_was_known(edge_store, *data.draw(questions(edge_store)))


def test_every_moment_of_the_hardest_record_shows_what_was_known_then(edge_store: Store) -> None:
    moments = known_truth(edge_store, DEE)[1]
    ends = [moment - timedelta(seconds=1) for moment in moments[1:]]
    times = {f"t{n}": moment for n, moment in enumerate(sorted({*moments, *ends}))}
    served: dict[str, Served] = {task_id: {} for task_id in times}
    with open_tasks(edge_store, [TaskRow(task_id, DEE, as_of) for task_id, as_of in times.items()]) as tasks:
        for table in SUBJECT_TABLES:
            for one in served.values():
                one[table] = []
            for row in rows_of(tasks, f"from {table}"):
                served[row.pop("task_id")][table].append(row)
    for task_id, as_of in times.items():
        assert_is_what_was_known(served[task_id], edge_store, DEE, as_of, None)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_slice_of_the_small_hospital_holds_exactly_what_was_known_at_length(
    edge_store: Store, data: st.DataObject
) -> None:
    assert_holds_what_was_known(edge_store, *data.draw(questions(edge_store)))


@pytest.mark.demo
@pytest.mark.slow
@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_slice_of_the_demo_holds_exactly_what_was_known(demo_store: Store, data: st.DataObject) -> None:
    assert_holds_what_was_known(demo_store, *data.draw(questions(demo_store)))


def assert_one_task_is_the_slice(store: Store, subject_id: int, as_of: datetime, sealed: int | None) -> None:
    others = [other for other in subjects_of(store) if other != subject_id][:3]
    tasks = [TaskRow("mine", subject_id, as_of, sealed_hadm_id=sealed)]
    tasks += [TaskRow(f"other-{other}", other, as_of) for other in others]
    # the same subject at another moment must not mix with the first
    tasks.append(TaskRow("mine-earlier", subject_id, as_of - timedelta(days=1)))
    with open_slice(store, subject_id, as_of, sealed) as chart, open_tasks(store, tasks) as connection:
        for table in SUBJECT_TABLES:
            mine = rows_of(connection, f"select * exclude (task_id) from {table} where task_id = 'mine'")
            assert contents(rows_of(chart.cursor(), f"from {table}")) == contents(mine), table


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_tasks_give_each_task_its_slice(edge_store: Store, data: st.DataObject) -> None:
    assert_one_task_is_the_slice(edge_store, *data.draw(questions(edge_store)))


@pytest.mark.demo
@pytest.mark.slow
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_tasks_of_the_demo_give_each_task_its_slice(demo_store: Store, data: st.DataObject) -> None:
    assert_one_task_is_the_slice(demo_store, *data.draw(questions(demo_store)))
