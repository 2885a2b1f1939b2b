"""Electrocardiograms, chest radiographs and echocardiograms."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_mimic.charts import Rows, Session, a_chart, at, hours, session

MODULES = ("hosp", "icu", "ecg", "cxr", "echo")


def a_chart_with_traces() -> Rows:
    return dict(a_chart()) | {
        "ecg.machine_measurements": [
            {
                "eid": f"ecg:{study}",
                "study_id": study,
                "ecg_time": hours(hour),
                "report_0": report,
                "report_1": "Prolonged QT\u200b interval",
                "rr_interval": 600,
                "qrs_onset": 200,
                "qrs_end": 300,
                "qrs_axis": -30,
                "p_onset": 29999,
            }
            for study, hour, report in ((41, 2, "Atrial fibrillation"), (42, 30, "Sinus rhythm"))
        ],
        "cxr.metadata": [
            {
                "eid": "cxr:51",
                "study_id": 51,
                "dicom_id": dicom,
                "performedprocedurestepdescription": "CHEST (PA AND LAT)",
                "viewposition": view,
                "studydate": datetime(2150, 3, 2).date(),
                "studytime": moment,
            }
            for dicom, view, moment in (
                ("b", "LATERAL", time(9, 30)),
                ("a", "PA", time(9, 30)),
                ("c", "AP", None),
            )
        ],
        "cxr.chexpert": [
            {
                "eid": "cxr:51",
                "study_id": 51,
                "pneumonia": -1.0,
                "edema": 1.0,
                "fracture": 0.0,
                "no_finding": None,
            }
        ],
        "echo.study_list": [
            {"eid": "echo:61", "study_id": 61, "study_datetime": hours(5), "measurement_id": 9}
        ],
        "echo.structured_measurement": [
            {
                "eid": "echo:m1",
                "measurement_id": 9,
                "measurement_datetime": datetime(2150, 3, 1),
                "test_type": "TTE",
                "measurement": "lvef",
                "measurement_description": "Left Ventricular Ejection Fraction",
                "result": "35",
                "unit": "%",
            }
        ],
    }


def on_chart(folder: Path, body: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        async with session(folder, a_chart_with_traces(), modules=MODULES) as chart:
            await body(chart)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "arguments", "source", "eids"),
    [
        ("get_ecgs", {}, "ecg.machine_measurements", ["ecg:42", "ecg:41"]),
        ("get_ecgs", {"names": ["fibrill"]}, "ecg.machine_measurements", ["ecg:41"]),
        ("get_ecgs", {"start": at(3), "end": at(29)}, "ecg.machine_measurements", []),
        ("get_imaging", {}, "cxr.metadata", ["cxr:51"] * 3),
        ("get_imaging", {"names": ["lateral"]}, "cxr.metadata", ["cxr:51"]),
        ("get_imaging", {"record": "labels"}, "cxr.chexpert", ["cxr:51"]),
        ("get_echos", {}, "echo.structured_measurement", ["echo:m1"]),
        ("get_echos", {"names": ["ejection"]}, "echo.structured_measurement", ["echo:m1"]),
        ("get_echos", {"start": at(2)}, "echo.structured_measurement", ["echo:m1"]),
        ("get_echos", {"record": "studies"}, "echo.study_list", ["echo:61"]),
    ],
)
def test_each_record_is_one_official_table_with_rows_coverage_and_ids(
    tmp_path: Path, tool: str, arguments: dict[str, Any], source: str, eids: list[str]
) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call(tool, **arguments)
        assert told.eids == eids == chart.last()["eids"]
        coverage = chart.last()["coverage"]
        assert (coverage["source"], coverage["total"], coverage["complete"]) == (source, len(eids), True)
        assert coverage["names"] == arguments.get("names")

    on_chart(tmp_path, body)


def test_an_ecg_has_its_units_and_its_report_as_quoted_lines(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("get_ecgs", names=["fibrill"])
        assert told.data["rows"][0]["report"] == ["Atrial fibrillation", "Prolonged QT� interval"]
        assert "rr_interval=600 ms" in told.text
        assert "qrs_axis=-30 °" in told.text
        assert 'report="Atrial fibrillation; Prolonged QT� interval"' in told.text
        assert told.data["units"]["t_end"] == "ms"
        assert told.data["replaced"] == 1

    on_chart(tmp_path, body)


def test_images_of_one_study_keep_their_order_over_pages(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        seen: list[str] = []
        cursor = None
        for _ in range(3):
            told = await chart.call("get_imaging", limit=1, cursor=cursor)
            seen += [row["dicom_id"] for row in told.data["rows"]]
            cursor = told.data["next_cursor"]
        assert (seen, cursor) == (["a", "b", "c"], None)

    on_chart(tmp_path, body)


def test_an_image_dated_by_day_alone_is_of_its_whole_day(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("get_imaging", start="2150-03-02T20:00", end="2150-03-02T21:00")
        assert [row["dicom_id"] for row in told.data["rows"]] == ["c"]

    on_chart(tmp_path, body)


def test_labels_are_said_in_words_and_what_was_not_mentioned_is_left_out(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("get_imaging", record="labels")
        assert told.data["rows"] == [
            {"eid": "cxr:51", "edema": "positive", "fracture": "negative", "pneumonia": "uncertain"}
        ]
        assert "cxr:51 | 2150-03-02T00:00:00 | - |" in told.text

    on_chart(tmp_path, body)


def test_a_measurement_shows_its_result_with_its_unit_on_its_day(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("get_echos")
        assert "echo:m1 | 2150-03-01 | lvef | result=35 %" in told.text
        found = await chart.call("search_items", query="lvef")
        assert found.data["items"][0]["tool"] == "get_echos(record='measurements')"

    on_chart(tmp_path, body)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("get_imaging", {"record": "labels"}), ("get_echos", {"record": "studies"})]
)
def test_a_record_without_names_refuses_them(tmp_path: Path, tool: str, arguments: dict[str, str]) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call(tool, names=["xx"], **arguments)
        assert told.data["error"]["code"] == "no_names"

    on_chart(tmp_path, body)


@pytest.mark.parametrize(
    ("tool", "module"), [("get_ecgs", "ecg"), ("get_imaging", "cxr"), ("get_echos", "echo")]
)
def test_a_store_without_the_module_says_so_and_shows_no_absence(
    tmp_path: Path, tool: str, module: str
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            told = await chart.call(tool)
            assert (told.is_error, told.data["module_present"]) == (False, False)
            assert f"this store has no {module} module" in told.text
            assert "read to the end" not in told.text
            assert told.data["complete"] is False
            assert chart.last()["coverage"] is None

    asyncio.run(run())
