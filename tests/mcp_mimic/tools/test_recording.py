"""Whether a source was recording: rows around the window, the operating room, time off the unit."""

import asyncio
from pathlib import Path
from typing import Any

from tests.mcp_mimic.charts import Rows, a_chart, at, hours, session


def recording(folder: Path, tool: str, rows: Rows | None = None, **arguments: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with session(folder, rows) as chart:
            told = await chart.call(tool, **arguments)
            answer: dict[str, Any] = told.data["recording"]
            return answer

    return asyncio.run(run())


def moved(*moves: tuple[int, float], **stay: Any) -> Rows:
    rows = dict(a_chart())
    rows["icu.procedureevents"] = [
        {"eid": f"proc:{n}", "stay_id": 30, "itemid": itemid, "starttime": hours(hour)}
        for n, (itemid, hour) in enumerate(moves)
    ]
    rows["icu.icustays"] = [{"eid": "icu:30", "stay_id": 30, "intime": hours(4), **stay}]
    return rows


def test_rows_of_any_item_are_counted_also_where_the_asked_item_has_none(tmp_path: Path) -> None:
    told = recording(tmp_path, "get_labs", items=[50813], start=at(5), end=at(12))
    assert told["rows_in_window"] == 2
    assert (told["last_before"], told["first_after"]) == (at(1), at(30))


def test_nothing_is_said_of_what_follows_the_as_of_time(tmp_path: Path) -> None:
    told = recording(tmp_path, "get_labs", start=at(5))
    assert told["first_after"] is None


def test_a_trip_to_the_operating_room_interrupts_every_source(tmp_path: Path) -> None:
    trip = {"from": at(24), "to": at(27), "why": "operating room"}
    assert recording(tmp_path, "get_labs", start=at(20), end=at(40))["interruptions"] == [trip]
    (tmp_path / "b").mkdir()
    clipped = recording(tmp_path / "b", "get_medications", start=at(25), end=at(26))
    assert clipped["interruptions"] == [trip | {"from": at(25), "to": at(26)}]


def test_a_window_without_the_trip_has_no_interruption(tmp_path: Path) -> None:
    assert recording(tmp_path, "get_labs", start=at(5), end=at(10))["interruptions"] == []
    (tmp_path / "b").mkdir()
    assert recording(tmp_path / "b", "get_labs", start=at(27), end=at(30))["interruptions"] == []


def test_an_arrival_without_departure_counts_from_the_last_heart_rate(tmp_path: Path) -> None:
    told = recording(tmp_path, "get_labs", moved((225469, 10.5)), start=at(6), end=at(20))
    assert told["interruptions"] == [{"from": at(10), "to": at(10.5), "why": "operating room"}]


def test_a_departure_without_return_lasts_to_the_end_of_the_stay(tmp_path: Path) -> None:
    why = "operating room (no return charted)"
    rows = moved((225470, 10), outtime=hours(30))
    told = recording(tmp_path, "get_labs", rows, start=at(6))
    assert told["interruptions"] == [{"from": at(10), "to": at(30), "why": why}]
    (tmp_path / "b").mkdir()
    told = recording(tmp_path / "b", "get_labs", moved((225470, 10)), start=at(6))
    assert told["interruptions"] == [{"from": at(10), "to": None, "why": why}]


def test_time_off_the_unit_interrupts_icu_sources_only(tmp_path: Path) -> None:
    rows = moved(outtime=hours(30))
    told = recording(tmp_path, "get_observations", rows, start=at(2), end=at(40))
    assert told["interruptions"] == [
        {"from": at(2), "to": at(4), "why": "off the unit"},
        {"from": at(30), "to": at(40), "why": "off the unit"},
    ]
    (tmp_path / "b").mkdir()
    assert recording(tmp_path / "b", "get_labs", rows, start=at(2), end=at(40))["interruptions"] == []


def test_a_patient_who_never_was_on_the_unit_was_off_it_all_the_time(tmp_path: Path) -> None:
    rows = dict(a_chart()) | {"icu.icustays": [], "icu.procedureevents": []}
    told = recording(tmp_path, "get_observations", rows, start=at(2), end=at(40))
    assert told["interruptions"] == [{"from": at(2), "to": at(40), "why": "off the unit (no ICU stay known)"}]
