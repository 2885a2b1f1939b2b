"""The bench measures what it says: honest data, honest ratios, failures that show."""

from pathlib import Path

import duckdb
import pytest

from bench.clients import BadAnswerError, Connection, call_request, checked, http_request
from bench.data import PLANTED, Person, _prepare, _write, people, planted
from bench.place import Place
from bench.report import Figure, Skipped, quantile, table
from bench.shape import COUNTS, FULL_CHART, FULL_LABS, PROBABILITIES, rows_at
from bench.tables import DICTIONARIES, GENERATED
from mcp_mimic.store.tables import REQUIRED_SCHEMAS, TABLES

SCALE = 0.0005


@pytest.mark.parametrize("table", COUNTS)
def test_a_quantile_of_the_shape_is_the_demos(table: str) -> None:
    assert [rows_at(table, at) for at in PROBABILITIES] == list(COUNTS[table])


@pytest.mark.parametrize("scale", [0.02, 0.1])
def test_labs_and_chart_rows_come_to_what_the_scale_says(scale: float) -> None:
    special = {person.i for person in planted(scale).values()}
    ordinary = [person for person in people(scale).values() if person.i not in special]
    for name, full in (("hosp.labevents", FULL_LABS), ("icu.chartevents", FULL_CHART)):
        assert sum(person.rows.get(name, 0) for person in ordinary) == pytest.approx(full * scale, rel=0.1)


def test_the_planted_patients_have_the_same_rows_at_every_scale() -> None:
    assert set(planted(0.01)) == set(PLANTED)
    for name, person in planted(0.01).items():
        assert person.rows == planted(0.001)[name].rows


def test_every_table_of_the_required_modules_is_made() -> None:
    required = {name for name, table in TABLES.items() if table.schema in REQUIRED_SCHEMAS}
    assert required <= {*GENERATED, *DICTIONARIES, "hosp.patients"}


def _written(folder: Path, persons: dict[int, Person]) -> None:
    for schema in ("hosp", "icu"):
        (folder / schema).mkdir(parents=True)
    with duckdb.connect() as connection:
        _prepare(connection, folder, persons)
        for name in ("hosp.labevents", "icu.icustays", "icu.chartevents"):
            _write(connection, folder, name)


def test_the_same_scale_gives_the_same_bytes_with_the_rows_that_were_planned(tmp_path: Path) -> None:
    persons = dict(list(people(SCALE).items())[:4])
    for folder in ("a", "b"):
        _written(tmp_path / folder, persons)
    for name in ("hosp/labevents", "icu/chartevents"):
        one, two = (tmp_path / folder / f"{name}.csv.gz" for folder in ("a", "b"))
        assert one.read_bytes() == two.read_bytes()
        found = duckdb.connect().execute(f"select subject_id, count(*) from '{one}' group by 1").fetchall()
        planned = {p.subject_id: p.rows.get(name.replace("/", "."), 0) for p in persons.values()}
        assert dict(found) == {subject: rows for subject, rows in planned.items() if rows}


def test_chart_rows_belong_to_stays_that_are_there(tmp_path: Path) -> None:
    _written(tmp_path, dict(list(people(SCALE).items())[:6]))
    strays = duckdb.connect().execute(
        f"select count(*) from '{tmp_path}/icu/chartevents.csv.gz' where stay_id not in "
        f"(select stay_id from '{tmp_path}/icu/icustays.csv.gz')"
    )
    assert strays.fetchall() == [(0,)]


def test_a_figure_is_met_or_missed_by_its_bound_and_the_table_says_the_scale() -> None:
    figures = [Figure("slow", 2.0, most=1.8), Figure("fast", 16.0, least=15), Figure("told", 3.0)]
    assert [figure.met for figure in figures] == [False, True, None]
    shown = table([*figures, Skipped("rival", "not installed")], 0.02)
    assert "scale 0.02" in shown
    assert "MISSED" in shown.splitlines()[2]
    assert "skipped not installed" in shown


def test_a_quantile_needs_no_numbers_between() -> None:
    assert (quantile([5.0], 0.95), quantile([3.0, 1.0, 2.0], 0.5)) == (5.0, 2.0)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (b"HTTP/1.1 500 no", b""),
        (b"HTTP/1.1 200 OK", b'{"error": {"code": -32602}}'),
        (b"HTTP/1.1 200 OK", b'{"result": {"isError": true}}'),
    ],
)
def test_an_answer_that_is_an_error_is_never_measured(status: bytes, body: bytes) -> None:
    with pytest.raises(BadAnswerError):
        checked(status, body)


def test_a_measured_server_answers_calls_and_lists_and_is_gone_afterwards(tmp_path: Path) -> None:
    with Place(tmp_path, SCALE).serving("raw") as (process, port), Connection(port) as connection:
        assert connection.ask(http_request("tools/list"))["tools"]
        assert len(connection.timed(call_request(("trivial", {})), 3)) == 3
    assert process.returncode is not None
