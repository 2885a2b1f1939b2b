"""Finding items and seeing the chart at a glance."""

import asyncio
from pathlib import Path
from typing import Any

from mcp_mimic.contract import Limits
from tests.mcp_mimic.charts import AS_OF, PATIENT, Told, a_chart, at, session, size


def ask(folder: Path, tool: str, *, rows: Any = None, grant: Any = None, **arguments: Any) -> Told:
    async def run() -> Told:
        async with session(folder, rows, **(grant or {})) as chart:
            return await chart.call(tool, **arguments)

    return asyncio.run(run())


def test_exact_labels_come_before_labels_that_only_contain_the_query(tmp_path: Path) -> None:
    told = ask(tmp_path, "search_items", query="potassium")
    assert [item["itemid"] for item in told.data["items"]] == [50971, 50822]
    assert told.data["items"][0] == {
        "itemid": 50971,
        "label": "Potassium",
        "source": "hosp.labevents",
        "tool": "get_labs",
        "category": "Blood Chemistry",
        "unit": "mg/dL",
        "rows": 1,
        "first": at(1),
        "last": at(1),
    }


def test_items_are_found_by_abbreviation_itemid_and_words_of_the_category(tmp_path: Path) -> None:
    for number, query in enumerate(("norepi", "221906", "medications norepinephrine")):
        (tmp_path / str(number)).mkdir()
        told = ask(tmp_path / str(number), "search_items", query=query)
        assert [item["itemid"] for item in told.data["items"]] == [221906]


def test_drugs_and_specimens_are_found_with_the_tool_that_reads_them(tmp_path: Path) -> None:
    told = ask(tmp_path, "search_items", query="calcium")
    assert [(item["source"], item["rows"]) for item in told.data["items"]] == [
        ("hosp.emar", 2),
        ("hosp.prescriptions", 1),
    ]
    (tmp_path / "b").mkdir()
    assert (
        ask(tmp_path / "b", "search_items", query="blood cul").data["items"][0]["tool"] == "get_microbiology"
    )


def test_a_misspelt_query_gets_suggestions(tmp_path: Path) -> None:
    told = ask(tmp_path, "search_items", query="pottasium")
    assert told.data["items"] == []
    assert told.data["suggestions"] == ["50971 Potassium", "50822 Potassium, Whole Blood"]


def test_a_source_narrows_the_search(tmp_path: Path) -> None:
    told = ask(tmp_path, "search_items", query="calcium", source="hosp.prescriptions")
    assert [item["source"] for item in told.data["items"]] == ["hosp.prescriptions"]


def test_the_overview_says_who_when_and_what_each_source_holds(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_patient_overview")
    assert told.data["patient"] == {"sex": "F", "age": "64"}
    assert told.data["as_of"] == AS_OF.isoformat()
    assert (told.data["admissions"], told.data["icu_stays"]) == (1, 1)
    assert [row["eid"] for row in told.data["encounters"]] == ["icu:30", "adm:20"]
    labs = next(source for source in told.data["sources"] if source["source"] == "hosp.labevents")
    assert labs == {
        "source": "hosp.labevents",
        "tool": "get_labs",
        "rows": 6,
        "first": at(1),
        "last": at(31),
    }


def test_an_age_above_89_is_not_given_in_years(tmp_path: Path) -> None:
    rows = dict(a_chart()) | {"hosp.patients": [PATIENT | {"anchor_age": 91}]}
    assert ask(tmp_path, "get_patient_overview", rows=rows).data["patient"]["age"] == ">89"


def test_a_sealed_admission_is_explained_without_its_number_or_end(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_patient_overview", grant={"sealed_hadm_id": 777123})
    assert len(told.data["notes"]) == 1
    assert "777123" not in told.text


def test_the_overview_fits_into_few_characters(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_patient_overview", grant={"limits": Limits(chars=4000)})
    assert size(told) <= 4000


def test_overview_and_item_search_cover_no_table(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("get_patient_overview")
            await chart.call("search_items", query="lactate")
            assert [call["coverage"] for call in chart.audit().calls] == [None, None]

    asyncio.run(run())
