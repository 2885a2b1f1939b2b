"""Planted orders that are no drugs, and what suppressing orders takes along."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from tests.harness.synthetic.toy_plants import plant_one

HOUR = timedelta(hours=1)
NO_STATUS = 'suppress = [{ source = "hosp.poe", names = "code status", from = "-400d", to = "+400d" }]\n'


def status(at: str, value: str, transaction: str = "New") -> str:
    return (
        f'{{ source = "hosp.poe", at = "{at}", order_type = "General Care", subtype = "Code status", '
        f'transaction = "{transaction}", field_name = "Code status", field_value = "{value}" }}'
    )


def orders(chart: Chart, subtype: str) -> list[dict[str, Any]]:
    return [row for row in chart.rows["hosp.poe"] if row["order_subtype"] == subtype]


def details(chart: Chart) -> dict[str, str]:
    return {row["poe_id"]: row["field_value"] for row in chart.rows["hosp.poe_detail"]}


def test_an_order_has_its_time_its_admission_and_its_detail(tmp_path: Path) -> None:
    chart = plant_one(tmp_path, f"{NO_STATUS}event = [{status('-40m', 'DNI')}]\n", anchor="unit")
    (order,) = orders(chart, "Code status")
    assert order["ordertime"] == chart.index_time - HOUR * 2 / 3
    assert order["transaction_type"] == "New"
    assert details(chart)[order["poe_id"]] == "DNI"
    assert order["hadm_id"] in {admission.hadm_id for admission in chart.admissions}


def test_a_change_replaces_the_order_in_force_whatever_order_they_are_written_in(tmp_path: Path) -> None:
    body = f"{NO_STATUS}event = [{status('-1h', 'Full', 'Change')}, {status('-9h', 'DNI')}]\n"
    chart = plant_one(tmp_path, body, anchor="unit")
    first, second = orders(chart, "Code status")
    assert second["discontinue_of_poe_id"] == first["poe_id"]
    assert first["discontinued_by_poe_id"] == second["poe_id"]
    assert [details(chart)[row["poe_id"]] for row in (first, second)] == ["DNI", "Full"]


def test_an_end_names_the_order_with_its_detail_and_has_none(tmp_path: Path) -> None:
    tube = '{ source = "hosp.poe", order_type = "General Care", subtype = "Tubes/Drains", '
    chart = plant_one(
        tmp_path,
        'suppress = [{ source = "hosp.poe", names = "tubes/drains", from = "-400d", to = "+400d" }]\n'
        "event = [\n"
        f'{tube} at = "-8h", field_name = "Tubes & Drains type", field_value = "Foley" }},\n'
        f'{tube} at = "-7h", field_name = "Tubes & Drains type", field_value = "NGT" }},\n'
        f'{tube} at = "-1h", transaction = "D/C", field_value = "Foley" }},\n]\n',
        anchor="unit",
    )
    foley, ngt, end = orders(chart, "Tubes/Drains")
    assert end["discontinue_of_poe_id"] == foley["poe_id"]
    assert end["poe_id"] not in details(chart)
    assert "discontinued_by_poe_id" not in ngt


def test_an_end_without_an_order_is_named(tmp_path: Path) -> None:
    body = f"{NO_STATUS}event = [{status('-1h', 'Full', 'Change')}]\n"
    with pytest.raises(ScenarioError, match="a Change of General Care Code status has no order before it"):
        plant_one(tmp_path, body, anchor="unit")


def test_suppressing_an_order_takes_its_details_and_its_end(tmp_path: Path) -> None:
    ended = 0
    for number in range(10):
        whole = plant_one(tmp_path, "", anchor="unit", number=number)
        rule = '{ source = "hosp.poe", names = "urinary catheter", from = "-400d", to = "+400d" }'
        chart = plant_one(tmp_path, f"suppress = [{rule}]\n", anchor="unit", number=number)
        ended += sum(row["transaction_type"] == "D/C" for row in orders(whole, "Tubes/Drains"))
        left = {row["field_value"] for row in chart.rows["hosp.poe_detail"]}
        assert not [value for value in left if "urinary" in value]
        assert not [row for row in orders(chart, "Tubes/Drains") if row["transaction_type"] == "D/C"]
        assert {row["poe_id"] for row in chart.rows["hosp.poe_detail"]} <= {
            row["poe_id"] for row in chart.rows["hosp.poe"]
        }
    assert ended


def test_suppressing_a_prescription_takes_the_order_that_ends_it(tmp_path: Path) -> None:
    for number in range(6):
        rule = '{ source = "hosp.prescriptions", from = "-400d", to = "+400d" }'
        chart = plant_one(tmp_path, f"suppress = [{rule}]\n", anchor="unit", number=number)
        assert "Medications" not in {row["order_type"] for row in chart.rows["hosp.poe"]}


def test_a_suppressed_catheter_takes_its_dates(tmp_path: Path) -> None:
    dated = 0
    for number in range(8):
        whole = plant_one(tmp_path, "", anchor="unit", number=number)
        dated += sum(row["itemid"] in (229352, 229353) for row in whole.rows["icu.datetimeevents"])
        rule = '{ source = "icu.procedureevents", items = [229351], from = "-400d", to = "+400d" }'
        chart = plant_one(tmp_path, f"suppress = [{rule}]\n", anchor="unit", number=number)
        assert not {229352, 229353} & {row["itemid"] for row in chart.rows["icu.datetimeevents"]}
    assert dated


def test_a_planted_line_has_its_insertion_dates_and_a_date_its_value(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        'suppress = [{ source = "icu.procedureevents", items = [229351], from = "-400d", to = "+400d" }]\n'
        "event = [\n"
        '{ source = "icu.procedureevents", item = 229351, at = "-4h", ends = "+8h" },\n'
        '{ source = "icu.datetimeevents", item = 229353, at = "+9h", moment = "+8h" },\n]\n',
        anchor="unit",
    )
    rows = {row["itemid"]: row for row in chart.rows["icu.datetimeevents"]}
    assert rows[229352]["value"].date() == (chart.index_time - 4 * HOUR).date()
    assert (rows[229353]["charttime"], rows[229353]["value"]) == (
        chart.index_time + 9 * HOUR,
        chart.index_time + 8 * HOUR,
    )
    assert rows[229353]["valueuom"] == "Date"
