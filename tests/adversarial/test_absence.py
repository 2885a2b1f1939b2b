"""Where absence decides, the tools' answers alone tell "not done" from "nobody would have recorded it"."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.cohort import CohortRow, build_cohort
from harness.scenario import load_scenarios
from harness.synthetic import write_hospital
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.adversarial.guarded import guarded_session
from tests.mcp_mimic.charts import Session

pytestmark = pytest.mark.slow

LACTATE = 50813
TWIN, BUNDLE = timedelta(minutes=10), timedelta(hours=6)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("hospital")
    write_hospital(folder / "source")
    import_store([folder / "source"], folder / "store")
    return Store.open(folder / "store")


@pytest.fixture(scope="module")
def tasks(store: Store) -> list[CohortRow]:
    """The tasks on a repeat lactate that found none."""
    (scenario,) = (one for one in load_scenarios() if one.slug == "lactate-remeasurement-six-hours")
    rows = build_cohort(store, [scenario]).rows
    return [row for row in rows if row.gold in ("no", "lack_of_data")]


def _before(text: Any, moment: datetime) -> bool:
    return text is not None and datetime.fromisoformat(text) < moment


def _inside(row: dict[str, Any], start: datetime, end: datetime) -> bool:
    """Whether a stay overlaps the window; one without an end is still going on."""
    return datetime.fromisoformat(row["intime"]) <= end and not _before(row.get("outtime"), start)


async def decide(session: Session, drawn: datetime) -> str:
    """What a careful reader of the answers concludes, who has seen no rule but the question's."""
    start, end = drawn + TWIN, drawn + BUNDLE
    window = {"start": start.isoformat(), "end": end.isoformat()}
    repeats = await session.call("get_labs", items=[LACTATE], **window)
    assert repeats.data["complete"]
    assert all("valuenum" not in row for row in repeats.data["rows"])
    if repeats.data["rows"]:
        return "lack_of_data"  # a specimen was sent, and no result tells of it
    stays = (await session.call("list_encounters", kind="icu_stays")).data["rows"]
    moves = (await session.call("list_encounters", kind="transfers")).data["rows"]
    (admission,) = [
        row
        for row in (await session.call("list_encounters", kind="admissions")).data["rows"]
        if datetime.fromisoformat(row.get("edregtime", row["admittime"])) <= drawn
        and not _before(row.get("dischtime"), drawn)
    ]
    if _before(admission.get("dischtime"), end) or _before(admission.get("deathtime"), end):
        return "lack_of_data"
    emergency = [row for row in moves if row["eventtype"] == "ED"]
    watched = any(_inside(row, drawn, end) for row in [*stays, *emergency])
    watched = watched or ("edregtime" in admission and not _before(admission.get("edouttime"), drawn))
    # "nobody was recording" is in the same answer that found nothing
    recording = repeats.data["recording"]["rows_in_window"] > 0
    return "no" if recording or watched else "lack_of_data"


def test_ten_tasks_where_absence_decides_are_told_apart_from_the_answers_alone(
    store: Store, tasks: list[CohortRow], tmp_path: Path
) -> None:
    async def go(number: int, row: CohortRow) -> str:
        grant = {"subject_id": row.subject_id, "as_of": row.as_of, "sealed_hadm_id": row.sealed_hadm_id}
        async with guarded_session(tmp_path / str(number), store, tools=("*",), **grant) as session:
            return await decide(session, row.index_time)

    decided = {number: asyncio.run(go(number, row)) for number, row in enumerate(tasks)}
    wrong = [(row.rule, row.gold, decided[n]) for n, row in enumerate(tasks) if decided[n] != row.gold]
    assert wrong == []
    assert len(tasks) >= 10
    assert {row.gold for row in tasks} == {"no", "lack_of_data"}
    assert {row.rule for row in tasks if row.gold == "lack_of_data"} >= {"departed", "laboratory_silent"}
