"""What the read tools answer with: rows, windows, filters, pages, coverage."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.contract import Limits
from tests.mcp_mimic.charts import AS_OF, Told, a_chart, at, hours, lab, session, size


def ask(folder: Path, tool: str, *, rows: Any = None, grant: Any = None, **arguments: Any) -> Told:
    async def run() -> Told:
        async with session(folder, rows, **(grant or {})) as chart:
            return await chart.call(tool, **arguments)

    return asyncio.run(run())


def test_labs_come_newest_first_with_ties_in_the_order_of_their_ids(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=[50912])
    assert told.eids == ["lab:20", "lab:4", "lab:3", "lab:1"]
    assert (told.data["call"], told.data["total"], told.data["complete"]) == ("search:1", 4, True)


def test_oldest_first_is_the_exact_reverse(tmp_path: Path) -> None:
    assert ask(tmp_path, "get_labs", items=[50912], order="oldest").eids == [
        "lab:1",
        "lab:3",
        "lab:4",
        "lab:20",
    ]


def test_rows_carry_official_columns_that_are_not_null_and_the_label(tmp_path: Path) -> None:
    row = ask(tmp_path, "get_labs", items=[50912], end=at(2)).data["rows"][0]
    assert row == {
        "eid": "lab:1",
        "itemid": 50912,
        "charttime": at(1),
        "storetime": at(1.5),
        "value": "0.9",
        "valuenum": 0.9,
        "valueuom": "mg/dL",
        "label": "Creatinine",
    }


def test_both_ends_of_the_window_are_included(tmp_path: Path) -> None:
    assert ask(tmp_path, "get_labs", items=[50912], start=at(1), end=at(10)).eids == [
        "lab:4",
        "lab:3",
        "lab:1",
    ]


def test_a_bare_date_as_end_means_the_end_of_that_day(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", end="2150-03-01")
    assert told.data["window"]["to"] == "2150-03-01T23:59:59"
    assert told.eids == ["lab:4", "lab:3", "lab:2", "lab:1"]


def test_the_window_ends_at_the_as_of_time_at_the_latest(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", end="2199-01-01")
    assert told.data["window"] == {"from": None, "to": AS_OF.isoformat()}


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"start": "2150-03-05"}, "after the as-of time"),
        ({"start": at(5), "end": at(4)}, "start lies after end"),
        ({"start": "yesterday"}, "start is not a time"),
        ({"end": "2150-03-01T10:00:00Z"}, "has a time zone"),
    ],
)
def test_a_window_that_cannot_be_is_an_error_with_a_remedy(
    tmp_path: Path, window: dict[str, str], said: str
) -> None:
    told = ask(tmp_path, "get_labs", **window)
    assert told.is_error
    assert told.data["error"]["code"] == "window"
    assert said in told.data["error"]["message"]
    assert told.data["error"]["remedy"]
    assert said in told.text


def test_labels_are_resolved_to_the_itemids_of_this_chart(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=["POTASSIUM"])
    assert told.data["filter"] == {"items": [50822, 50971], "names": ["potassium"]}
    assert told.eids == ["lab:21", "lab:2"]


def test_a_test_of_urine_is_not_taken_for_one_of_blood(tmp_path: Path) -> None:
    items = [
        {"itemid": 50931, "label": "Glucose", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 51478, "label": "Glucose", "fluid": "Urine", "category": "Hematology"},
        {"itemid": 51082, "label": "Creatinine, Urine", "fluid": "Urine", "category": "Chemistry"},
        {"itemid": 50999, "label": "Unfiled", "fluid": None, "category": None},
    ]
    labs = [lab(number, item["itemid"], number, "100") for number, item in enumerate(items, start=1)]
    told = ask(tmp_path, "get_labs", rows={"hosp.d_labitems": items, "hosp.labevents": labs}, order="oldest")
    assert [row["label"] for row in told.data["rows"]] == [
        "Glucose",
        "Glucose, Urine",
        "Creatinine, Urine",
        "Unfiled",
    ]
    assert "51478 Glucose, Urine | 100 mg/dL" in told.text


def test_a_task_without_a_unit_does_not_read_as_not_done(tmp_path: Path) -> None:
    done = {"eid": "proc:1", "itemid": 225459, "starttime": hours(1), "value": 1.0, "valueuom": "None"}
    told = ask(tmp_path, "get_procedures", rows={"icu.procedureevents": [done]})
    assert "225459 - | 1" in told.text
    assert "None" not in told.text
    assert told.data["rows"][0]["valueuom"] == "None"


def test_an_itemid_written_as_text_is_an_itemid(tmp_path: Path) -> None:
    assert ask(tmp_path, "get_labs", items="[50971]").data["filter"]["items"] == [50971]
    (tmp_path / "b").mkdir()
    assert ask(tmp_path / "b", "get_labs", items="50971").data["filter"]["items"] == [50971]


@pytest.mark.parametrize("items", [["50971,50822"], "50971, 50822", '["50971 ,50822"]'])
def test_itemids_in_one_text_are_several_itemids(tmp_path: Path, items: Any) -> None:
    told = ask(tmp_path, "get_labs", items=items)
    assert told.data["filter"]["items"] == [50822, 50971]
    assert sorted(told.eids) == ["lab:2", "lab:21"]


def test_infusions_take_itemids_in_one_text_too(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_medications", record="infusions", items="221906, 221749")
    assert told.eids == ["inf:1"]


def test_an_itemid_that_never_occurs_counts_as_searched(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=[50813])
    assert told.data["filter"]["items"] == [50813]
    assert (told.data["total"], told.data["complete"], told.data["suggestions"]) == (0, True, [])


def test_a_label_that_nothing_matches_is_what_was_searched_and_gets_suggestions(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=["creatnine"])
    assert told.data["filter"] == {"items": [], "names": ["creatnine"]}
    assert told.data["suggestions"] == ["50912 Creatinine"]
    assert "items none of this chart, names creatnine" in told.text
    assert "if it may be called otherwise, search without items" in told.text


def test_no_items_and_an_empty_list_of_items_cover_every_item(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=[])
    assert told.data["filter"]["items"] is None
    assert told.data["total"] == 6


def test_a_drug_name_counts_as_searched_even_if_nothing_matches(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_medications", names=["Kayexalate"])
    assert told.data["filter"] == {"items": None, "names": ["kayexalate"]}
    assert (told.data["source"], told.data["total"], told.data["complete"]) == ("hosp.emar", 0, True)


def test_drug_names_match_any_part_in_any_case(tmp_path: Path) -> None:
    assert ask(tmp_path, "get_medications", names=["CALCIUM g", "insul"]).eids == [
        "emar:11",
        "emar:10",
        "emar:9",
    ]


def test_a_dose_carries_its_details_inside_its_one_row(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_medications", names=["calcium"], order="oldest")
    assert told.eids == ["emar:9", "emar:10"]
    assert told.data["rows"][0]["detail"] == [
        {"administration_type": "IV Bolus"},
        {"parent_field_ordinal": "1.1", "dose_given": "2", "dose_given_unit": "g", "route": "IV"},
    ]
    assert "detail" not in told.data["rows"][1]
    assert "dose_given=2" in told.text


def test_names_of_infusions_become_itemids(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_medications", record="infusions", names=["norepi"])
    assert told.data["source"] == "icu.inputevents"
    assert told.data["filter"] == {"items": [221906], "names": ["norepi"]}
    assert told.eids == ["inf:1"]
    assert "rate=0.05 mcg/kg/min" in told.text


def test_itemids_are_refused_where_a_table_has_none(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_medications", items=[221906])
    assert told.data["error"]["code"] == "no_itemids"


def test_a_number_written_as_text_is_a_part_of_a_name_where_a_table_has_no_itemids(tmp_path: Path) -> None:
    rows = dict(a_chart()) | {
        "hosp.procedures_icd": [
            {"eid": "px:1", "chartdate": hours(1).date(), "icd_code": "0331", "icd_version": 9},
            {"eid": "px:2", "chartdate": hours(1).date(), "icd_code": "5491", "icd_version": 9},
        ]
    }
    told = ask(tmp_path, "get_procedures", rows=rows, record="coded", items=["0331"])
    assert told.eids == ["px:1"]
    assert told.data["filter"] == {"items": None, "names": ["0331"]}


def test_an_order_that_starts_after_the_as_of_time_shows_while_the_window_reaches_it(tmp_path: Path) -> None:
    assert ask(tmp_path, "get_medications", record="orders").eids == ["rx:2", "rx:1"]
    (tmp_path / "b").mkdir()
    assert ask(tmp_path / "b", "get_medications", record="orders", end=at(70)).eids == ["rx:1"]


def test_a_pending_culture_dated_to_a_day_is_found_by_any_window_that_touches_that_day(
    tmp_path: Path,
) -> None:
    told = ask(tmp_path, "get_microbiology", specimen=["blood"], start="2150-03-03T15:00")
    assert told.eids == ["micro:s77"]
    assert told.data["filter"] == {"items": None, "names": ["blood"]}
    assert "micro:s77 | 2150-03-03 | BLOOD CULTURE" in told.text


def test_an_outpatient_value_is_found_by_part_of_its_name(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_observations", record="outpatient", items=["weight"])
    assert (told.data["source"], told.eids) == ("hosp.omr", ["omr:1"])
    assert told.data["filter"] == {"items": None, "names": ["weight"]}


@pytest.mark.parametrize(
    ("tool", "arguments", "source"),
    [
        ("list_encounters", {"kind": "admissions"}, "hosp.admissions"),
        ("list_encounters", {"kind": "transfers"}, "hosp.transfers"),
        ("list_encounters", {"kind": "services"}, "hosp.services"),
        ("list_encounters", {"kind": "icu_stays"}, "icu.icustays"),
        ("get_labs", {}, "hosp.labevents"),
        ("get_observations", {"record": "charted"}, "icu.chartevents"),
        ("get_observations", {"record": "dates"}, "icu.datetimeevents"),
        ("get_observations", {"record": "outpatient"}, "hosp.omr"),
        ("get_medications", {"record": "administrations"}, "hosp.emar"),
        ("get_medications", {"record": "infusions"}, "icu.inputevents"),
        ("get_medications", {"record": "orders"}, "hosp.prescriptions"),
        ("get_medications", {"record": "dispensing"}, "hosp.pharmacy"),
        ("get_intake_output", {"record": "output"}, "icu.outputevents"),
        ("get_intake_output", {"record": "intake"}, "icu.inputevents"),
        ("get_intake_output", {"record": "ingredients"}, "icu.ingredientevents"),
        ("get_procedures", {"record": "bedside"}, "icu.procedureevents"),
        ("get_procedures", {"record": "coded"}, "hosp.procedures_icd"),
        ("get_procedures", {"record": "billed"}, "hosp.hcpcsevents"),
        ("get_microbiology", {}, "hosp.microbiologyevents"),
    ],
)
def test_every_record_covers_exactly_its_official_table(
    tmp_path: Path, tool: str, arguments: dict[str, str], source: str
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            told = await chart.call(tool, **arguments)
            coverage = chart.last()["coverage"]
            assert told.data["source"] == coverage["source"] == source
            assert (coverage["from"], coverage["to"]) == (None, AS_OF.isoformat())
            assert coverage["total"] == coverage["returned"] == len(told.data["rows"])

    asyncio.run(run())


def test_pages_count_on_and_the_last_one_is_complete(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            seen: list[str] = []
            cursor, complete = None, False
            while not complete:
                told = await chart.call("get_labs", limit=4, cursor=cursor)
                seen += told.eids
                coverage = chart.last()["coverage"]
                assert coverage["returned"] == told.data["returned"] == len(seen)
                cursor, complete = told.data["next_cursor"], told.data["complete"]
            assert seen == ["lab:21", "lab:20", "lab:4", "lab:3", "lab:2", "lab:1"]
            assert cursor is None
            assert [call["coverage"]["complete"] for call in chart.audit().calls] == [False, True]

    asyncio.run(run())


def test_the_rows_limit_of_the_grant_bounds_a_page(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", limit=1000, grant={"limits": Limits(rows=2)})
    assert len(told.eids) == 2
    assert told.data["total"] == 6


def test_a_page_keeps_whole_rows_within_the_characters_of_the_grant(tmp_path: Path) -> None:
    rows = {"hosp.labevents": [lab(n, 50912, n / 10, "1.0") for n in range(1, 120)]}
    told = ask(tmp_path, "get_labs", rows=rows, limit=1000, grant={"limits": Limits(chars=4000)})
    assert size(told) <= 4000
    assert 5 < len(told.eids) < 119
    assert told.text.count("\nlab:") == len(told.eids)
    assert told.data["returned"] == len(told.eids)
    assert told.data["complete"] is False


def test_one_row_too_long_for_an_answer_is_shortened_and_says_so(tmp_path: Path) -> None:
    rows = {"hosp.labevents": [lab(1, 50912, 1, "1.0", comments="x" * 50_000)]}
    told = ask(tmp_path, "get_labs", rows=rows, grant={"limits": Limits(chars=2000)})
    assert size(told) <= 2000
    assert told.eids == ["lab:1"]
    assert "shortened from 50000 characters" in told.data["rows"][0]["comments"]


def test_a_value_hidden_behind_blanks_shows_its_number(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_labs", items=[50912], start=at(30))
    assert "___ mg/dL | valuenum=2 mg/dL" in told.text


def test_a_missing_module_is_named_in_the_overview(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_patient_overview")
    assert told.data["modules_present"] == ["hosp", "icu"]
    assert "ed" in told.data["modules_absent"]
    assert "not in this store: note, ed" in told.text
