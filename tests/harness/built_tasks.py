"""A small store with lactate and potassium cases of every verdict, all at the same times, and their tasks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import uvicorn

from harness.adjudication import adjudicate
from harness.build import build_tasks
from harness.cohort import CohortRow
from harness.data import data_folder
from harness.scenario import Scenario, load_scenario
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.contract import canonical_json
from mcp_mimic.governance.readers import Reader
from mcp_mimic.http import http_app, open_server
from mcp_mimic.server import ChartServer
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Row,
    charted,
    culture,
    find_tasks,
    given,
    infused,
    lab,
    order,
    procedure,
    write_charts,
)

KEY = b"a key of one group, long enough"
SLUGS = ("05-lactate-remeasurement-six-hours", "16-severe-hyperkalaemia-treatment")

_LACTATE = (lab(50813, 0, 3.4, specimen=11), culture(-15, specimen=1), order(60, "CefTRIAXone"))
_LATE_CULTURE = (lab(50813, 0, 3.4, specimen=11), culture(3 * HOUR, specimen=1), order(60, "CefTRIAXone"))
_MANY = tuple(lab(50912, 20 + minute, 1.1) for minute in range(250))
_POTASSIUM = lab(50971, -50, 6.9, stored=0, specimen=11)
_EMAR: tuple[Row, ...] = tuple(given(hour * HOUR, "Heparin") for hour in (-5, -1, 2))
_UNIT = (-5 * HOUR, 2 * DAY)

CHARTS = {
    "lactate yes": Chart(rows=(*_LACTATE, lab(50813, 4 * HOUR, 2.1))),
    "lactate no": Chart(rows=(*_LACTATE, *_MANY, charted(220045, 30)), icu=_UNIT),
    "lactate lack": Chart(rows=_LACTATE, leaves=3 * HOUR),
    "lactate silent": Chart(rows=_LACTATE),
    "lactate ambiguity": Chart(rows=(*_LATE_CULTURE, lab(50912, 3 * HOUR, 1.1), lab(50813, 8 * HOUR, 2.0))),
    "potassium yes": Chart(rows=(_POTASSIUM, *_EMAR, given(20, "Calcium Gluconate"))),
    "potassium no": Chart(
        rows=(
            _POTASSIUM, *_EMAR, given(20, "Calcium Gluconate", "Not Given"),
            given(30, "Insulin Regular Sliding Scale"), given(40, "Albuterol Inhaler"),
            infused(221456, -2 * DAY, 2), procedure(225441, -2 * DAY, -2 * DAY + HOUR), charted(220045, 30),
        ),
        icu=_UNIT,
    ),
    "potassium lack": Chart(rows=(_POTASSIUM,)),
    "potassium ambiguity": Chart(rows=(_POTASSIUM, *_EMAR, lab(50971, 20, 4.6, stored=40))),
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """The store, its scenarios, the cohort rows by the names of their charts, and the tasks folder."""

    store: Store
    scenarios: Sequence[Scenario]
    rows: dict[str, CohortRow]
    tasks: Path


def build_world(folder: Path) -> World:
    """Import the charts and build a task of each."""
    scenarios = [load_scenario(data_folder("scenarios") / "determination" / slug) for slug in SLUGS]
    store = write_charts(folder, CHARTS.values())
    names = dict(enumerate(CHARTS, start=1))
    rows = {names[number]: row for scenario in scenarios for number, row in _label(store, scenario).items()}
    build_tasks(store, list(rows.values()), scenarios, folder / "tasks", key=KEY)
    return World(store, scenarios, rows, folder / "tasks")


def _label(store: Store, scenario: Scenario) -> dict[int, CohortRow]:
    tasks = find_tasks(store, scenario)
    with open_tasks(store, list(tasks.values())) as connection:
        adjudicate(connection, scenario)
        verdicts = connection.execute("select task_id, verdict, rule from adjudicated").fetchall()
    return {
        int(number): CohortRow(
            scenario=scenario.id,
            subject_id=task.subject_id,
            hadm_id=task.hadm_id,
            stay_id=task.stay_id,
            index_time=task.index_time or task.as_of,
            as_of=task.as_of,
            sealed_hadm_id=task.sealed_hadm_id,
            index_eid=task.index_eid,
            params=canonical_json(dict(task.params)),
            gold=verdict,
            rule=rule,
        )
        for number, verdict, rule in verdicts
        for task in (tasks[int(number)],)
    }


@contextmanager
def served(store: Store, task: Path, audit: Path) -> Iterator[tuple[str, ChartServer]]:
    """The chart server of a task over real HTTP: its address, and the server to seal."""
    settings = ServeSettings(
        store=store.path,
        grant=task / "environment" / "grant.json",
        audit=audit,
        readers=(Reader(model="none", agreement="a test"),),
    )
    with open_server(settings) as chart:
        config = uvicorn.Config(
            http_app(chart, ()), port=0, log_level="error", access_log=False, ws="none", lifespan="on"
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            yield f"http://127.0.0.1:{port}/mcp", chart
        finally:
            server.should_exit = True
            thread.join()
