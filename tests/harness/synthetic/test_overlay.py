from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from tests.harness.synthetic.toy_plants import plant_one

HOUR = timedelta(hours=1)
MINUTE = HOUR / 60


def rows_of(chart: Chart, table: str, item: int) -> list[dict[str, Any]]:
    return [row for row in chart.rows[table] if row["itemid"] == item]


def near(chart: Chart, table: str, column: str, offset: timedelta) -> list[dict[str, Any]]:
    return [row for row in chart.rows[table] if row[column] == chart.index_time + offset]


def test_the_icu_anchor_is_the_start_of_the_first_icu_stay(tmp_path: Path) -> None:
    chart = plant_one(tmp_path, "stay = { icu_hours = 90 }\n")
    _, stay = next(chart.icu_stays())
    assert stay.start == chart.index_time
    assert stay.end - stay.start >= 90 * HOUR


@pytest.mark.parametrize(("anchor", "kind"), [("unit", "icu"), ("ward", "ward"), ("ed", "ed")])
def test_the_index_time_lies_where_the_anchor_says(tmp_path: Path, anchor: str, kind: str) -> None:
    chart = plant_one(tmp_path, "", anchor=anchor)
    segments = [s for a in chart.admissions for s in a.segments if s.holds(chart.index_time)]
    assert [segment.kind for segment in segments] == [kind]


def test_a_planted_lab_comes_with_the_rest_of_its_panel_and_a_chart_copy(tmp_path: Path) -> None:
    body = 'event = [{ source = "hosp.labevents", item = 50912, at = "+5h", value = 3.3 }]\n'
    body += 'suppress = [{ source = "hosp.labevents", items = [50912], from = "-9d", to = "+9d" }]\n'
    chart = plant_one(tmp_path, body)
    planted = rows_of(chart, "hosp.labevents", 50912)
    assert [row["valuenum"] for row in planted] == ["3.3"]
    specimen = [
        row for row in chart.rows["hosp.labevents"] if row["specimen_id"] == planted[0]["specimen_id"]
    ]
    assert {50971, 50983, 50902, 50882} <= {row["itemid"] for row in specimen}
    assert [row["valuenum"] for row in rows_of(chart, "icu.chartevents", 220615)] in (["3.3"], [])


def test_labs_with_the_same_specimen_letter_share_a_specimen(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        "event = [\n"
        '{ source = "hosp.labevents", item = 50813, at = "+5h", value = 3.3, specimen = "a" },\n'
        '{ source = "hosp.labevents", item = 50820, at = "+5h", value = 7.21, specimen = "a" },\n'
        '{ source = "hosp.labevents", item = 50813, at = "+305m", value = 3.4, specimen = "b" },\n]\n',
    )
    lactates = rows_of(chart, "hosp.labevents", 50813)
    specimens = {row["valuenum"]: row["specimen_id"] for row in lactates}
    acids = {row["valuenum"]: row["specimen_id"] for row in rows_of(chart, "hosp.labevents", 50820)}
    assert specimens["3.3"] == acids["7.21"]
    assert specimens["3.3"] != specimens["3.4"]


def test_a_lab_without_a_result_stays_without_one(tmp_path: Path) -> None:
    body = (
        'suppress = [{ source = "hosp.labevents", from = "-9d", to = "+9d" }]\n'
        'event = [{ source = "hosp.labevents", item = 50813, at = "+3h", null_value = true,'
        ' comment = "SPECIMEN LOST." }]\n'
    )
    chart = plant_one(tmp_path, body)
    (row,) = [
        row
        for row in chart.rows["hosp.labevents"]
        if abs(row["charttime"] - chart.index_time) < 9 * 24 * HOUR
    ]
    assert (row["valuenum"], row["comments"]) == (None, "SPECIMEN LOST.")
    assert not rows_of(chart, "icu.chartevents", 225668)


def test_a_planted_dose_has_its_order_its_prescription_and_its_detail(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        'event = [{ source = "hosp.emar", at = "+12m", name = "Calcium Gluconate", event = "Administered",'
        ' route = "IV", dose = 2, unit = "g" }]\n',
        anchor="ward",
    )
    (dose,) = [r for r in near(chart, "hosp.emar", "charttime", HOUR / 5) if "Calcium" in r["medication"]]
    (order,) = [row for row in chart.rows["hosp.poe"] if row["poe_id"] == dose["poe_id"]]
    assert order["ordertime"] < dose["charttime"]
    drugs = [r for r in chart.rows["hosp.prescriptions"] if r["pharmacy_id"] == dose["pharmacy_id"]]
    assert drugs[0]["starttime"].minute == 0
    details = [row for row in chart.rows["hosp.emar_detail"] if row["emar_id"] == dose["emar_id"]]
    # as in the background, the record of the dose names the route now and then, the order always
    assert (details[0]["dose_due"], drugs[0]["route"]) == ("2", "IV")
    assert details[0]["route"] in ("IV", None)


def test_a_dose_may_be_planted_without_an_order(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        'event = [{ source = "hosp.emar", at = "+12m", name = "Mystery", event = "Administered",'
        " order = false }]\n",
        anchor="ward",
    )
    (dose,) = [row for row in chart.rows["hosp.emar"] if row["medication"] == "Mystery"]
    assert dose.get("poe_id") is None
    assert dose["pharmacy_id"] is None


def test_suppressing_a_prescription_takes_its_order_but_not_its_doses(tmp_path: Path) -> None:
    body = (
        'suppress = [{ source = "hosp.prescriptions", names = "^heparin", from = "-400d", to = "+400d" }]\n'
    )
    chart = plant_one(tmp_path, body, anchor="ward")
    assert not [row for row in chart.rows["hosp.prescriptions"] if row["drug"] == "Heparin"]
    assert not [row for row in chart.rows["hosp.pharmacy"] if row["medication"] == "Heparin"]
    doses = [row for row in chart.rows["hosp.emar"] if row["medication"] == "Heparin"]
    assert doses
    assert {row.get("poe_id") for row in doses} == {None}


def test_infusions_procedures_cultures_and_observations_are_planted(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        "event = [\n"
        '{ source = "icu.inputevents", item = 223258, at = "+1h", value = 10, unit = "units" },\n'
        '{ source = "icu.procedureevents", item = 225802, at = "+2h", ends = "+9h" },\n'
        '{ source = "icu.chartevents", item = 223758, at = "+3h", text = "Comfort measures only" },\n'
        '{ source = "hosp.microbiologyevents", specimen = "BLOOD CULTURE", at = "+4h",'
        ' organism = "ESCHERICHIA COLI" },\n'
        '{ source = "hosp.prescriptions", name = "CefePIME", at = "+5h", route = "IV" },\n]\n',
    )
    (push,) = rows_of(chart, "icu.inputevents", 223258)
    assert (push["starttime"], push["amount"]) == (chart.index_time + HOUR, "10")
    (dialysis,) = rows_of(chart, "icu.procedureevents", 225802)
    assert (dialysis["value"], dialysis["valueuom"]) == (420, "min")
    assert "Comfort measures only" in {row["value"] for row in rows_of(chart, "icu.chartevents", 223758)}
    grown = {row.get("org_name") for row in chart.rows["hosp.microbiologyevents"]}
    assert "ESCHERICHIA COLI" in grown
    assert "CefePIME" in {row["drug"] for row in chart.rows["hosp.prescriptions"]}


def test_jitter_moves_time_and_value_but_no_further_than_it_says(tmp_path: Path) -> None:
    body = (
        'stay = { icu_hours = 90 }\nsuppress = [{ source = "icu.outputevents", from = "-9d", to = "+9d" }]\n'
    )
    body += (
        'event = [{ source = "icu.outputevents", item = 226559, at = "+1h", every = "1h", until = "+60h",'
        " value = 60, jitter_minutes = 4, jitter_value = 15 }]\n"
    )
    chart = plant_one(tmp_path, body)
    rows = rows_of(chart, "icu.outputevents", 226559)[:60]
    slips = [row["charttime"] - chart.index_time - (place + 1) * HOUR for place, row in enumerate(rows)]
    assert all(abs(slip) <= HOUR / 15 for slip in slips)
    assert len({*slips}) > 3
    assert {45 <= float(row["value"]) <= 75 for row in rows} == {True}
    assert {float(row["value"]) % 5 for row in rows} == {0}
    assert len({row["value"] for row in rows}) > 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'event = [{ source = "icu.outputevents", item = 226559, at = "-2h", value = 3 }]',
            "outside every ICU",
        ),
        ('event = [{ source = "icu.outputevents", item = 1, at = "+2h", value = 3 }]', "has no item 1"),
        ('event = [{ source = "hosp.labevents", item = 1, at = "+2h", value = 3 }]', "has no item 1"),
    ],
)
def test_an_event_that_cannot_be_written_is_named(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as error:
        plant_one(tmp_path, body)
    assert "91-toy, plant 'one'" in error.value.message


def test_presence_shapes_the_stay(tmp_path: Path) -> None:
    chart = plant_one(tmp_path, 'presence = { discharged = "+2h30m" }\n', anchor="ed")
    assert 2.5 * HOUR in [a.discharged - chart.index_time for a in chart.admissions]

    chart = plant_one(tmp_path, 'presence = { died = "+3h" }\n', anchor="unit")
    (died,) = [row for row in chart.rows["hosp.admissions"] if row["deathtime"]]
    assert died["deathtime"] == chart.index_time + 3 * HOUR

    chart = plant_one(tmp_path, 'presence = { icu_from = "+2h" }\n', anchor="ward")
    arrived = chart.index_time + 2 * HOUR
    assert arrived - MINUTE < next(chart.icu_stays())[1].start <= arrived

    chart = plant_one(tmp_path, "presence = { emar = false, ward_only = true }\n", anchor="ward")
    assert not chart.rows["hosp.emar"]
    assert not any(
        stay.start < chart.admission_at(chart.index_time).discharged  # type: ignore[union-attr]
        and stay.end > chart.index_time
        for _, stay in chart.icu_stays()
    )


@pytest.mark.parametrize(
    ("presence", "kept"),
    [('emar_from = "-1h"', lambda offset: offset >= -HOUR), ('emar_until = "+2h"', lambda offset: offset <= 2 * HOUR)],
)  # fmt: skip
def test_the_administration_record_begins_and_ends_where_presence_says(
    tmp_path: Path, presence: str, kept: Callable[[timedelta], bool]
) -> None:
    chart = plant_one(tmp_path, f"presence = {{ {presence} }}\n", anchor="ward")
    offsets = [row["charttime"] - chart.index_time for row in chart.rows["hosp.emar"]]
    assert offsets
    assert all(map(kept, offsets))
    named = {id(row) for row in chart.rows["hosp.emar"]}
    assert {id(row["_emar"]) for row in chart.rows["hosp.emar_detail"]} == named
    assert len(chart.rows["hosp.prescriptions"]) > 5


def test_a_dose_outside_the_record_is_named(tmp_path: Path) -> None:
    body = (
        'presence = { emar_until = "-1h" }\n'
        'event = [{ source = "hosp.emar", at = "+12m", name = "Warfarin", event = "Administered" }]\n'
    )
    with pytest.raises(ScenarioError, match="where presence has no eMAR"):
        plant_one(tmp_path, body, anchor="ward")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("anchor", ["icu", "unit"])
def test_a_patient_who_leaves_the_icu_goes_on_to_a_ward(tmp_path: Path, anchor: str, seed: int) -> None:
    body = 'stay = { icu_hours = 90 }\npresence = { icu_until = "+14h30m" }\n'
    chart = plant_one(tmp_path, body, anchor=anchor, number=seed)
    admission, stay = chart.icu_at(chart.index_time) or pytest.fail("no ICU stay holds T")
    assert stay.end == chart.index_time + 14.5 * HOUR
    (after,) = [segment for segment in admission.segments if segment.start == stay.end]
    assert after.kind == "ward"
    assert all(
        row["charttime"] < stay.end for row in chart.rows["icu.chartevents"] if row["stay_id"] == stay.stay_id
    )


def test_a_later_icu_stay_may_end_where_presence_says(tmp_path: Path) -> None:
    chart = plant_one(tmp_path, 'presence = { icu_from = "+2h", icu_until = "+9h" }\n', anchor="ward")
    arrived = chart.index_time + 2 * HOUR
    (stay,) = [stay for _, stay in chart.icu_stays() if arrived - MINUTE < stay.start <= arrived]
    assert stay.end == chart.index_time + 9 * HOUR


def test_a_first_admission_has_none_before(tmp_path: Path) -> None:
    for number in range(12):
        chart = plant_one(tmp_path, "presence = { first_admission = true }\n", anchor="ward", number=number)
        assert chart.admissions[0].arrived <= chart.index_time <= chart.admissions[0].discharged


def test_a_height_that_is_asked_for_is_charted_in_both_units(tmp_path: Path) -> None:
    for number in range(6):
        chart = plant_one(tmp_path, "profile = { height_cm = [171, 173] }\n", anchor="icu", number=number)
        metric = [row["valuenum"] for row in rows_of(chart, "icu.chartevents", 226730)]
        inches = [row["valuenum"] for row in rows_of(chart, "icu.chartevents", 226707)]
        assert {*metric} <= {171, 172, 173}
        assert {*inches} == {round(metric[0] / 2.54)}
        assert len(metric) == len(inches) == len([*chart.icu_stays()])


def test_the_height_in_the_chart_and_in_the_clinic_is_the_same(tmp_path: Path) -> None:
    found = 0
    for number in range(12):
        chart = plant_one(tmp_path, "profile = { height_cm = [171, 173] }\n", number=number)
        clinic = [
            float(row["result_value"])
            for row in chart.rows["hosp.omr"]
            if row["result_name"] == "Height (Inches)"
        ]
        found += len(clinic)
        assert all(abs(inches * 2.54 - chart.person.height_cm) <= 1.3 for inches in clinic)
    assert found


def test_the_background_follows_a_planted_ventilation(tmp_path: Path) -> None:
    body = 'event = [{ source = "icu.procedureevents", item = 225792, at = "-3h", ends = "+9h" }]\n'
    for number in range(5):
        chart = plant_one(tmp_path, body, anchor="unit", number=number)
        (span,) = rows_of(chart, "icu.procedureevents", 225792)
        assert not rows_of(chart, "icu.procedureevents", 227194)
        breathes = rows_of(chart, "icu.chartevents", 226732)
        tubed = [row["charttime"] for row in breathes if row["value"] == "Endotracheal tube"]
        assert tubed
        assert all(span["starttime"] <= time < span["endtime"] for time in tubed)
        assert len(tubed) < len(breathes)


def test_a_result_in_words_stands_beside_the_numbers_of_its_specimen(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        "event = [\n"
        '{ source = "hosp.labevents", item = 50821, at = "+5h", value = 82, specimen = "a" },\n'
        '{ source = "hosp.labevents", item = 52033, at = "+5h", text = "CENTRAL VENOUS.", specimen = "a" },\n]\n',
    )
    (gas,) = [row for row in rows_of(chart, "hosp.labevents", 50821) if row["valuenum"] == "82"]
    kinds = [
        row["value"]
        for row in rows_of(chart, "hosp.labevents", 52033)
        if row["specimen_id"] == gas["specimen_id"]
    ]
    assert kinds == ["CENTRAL VENOUS."]


def test_a_prescription_says_when_it_was_ordered_how_much_and_how_often(tmp_path: Path) -> None:
    body = (
        'suppress = [{ source = "hosp.prescriptions", names = "enoxaparin", from = "-400d", to = "+400d" }]\n'
        'event = [{ source = "hosp.prescriptions", name = "Enoxaparin Sodium", at = "+20m", ordered = "+0h", '
        'text = "30-40", per_day = 0 }]\n'
    )
    chart = plant_one(tmp_path, body, anchor="ward")
    (row,) = [row for row in chart.rows["hosp.prescriptions"] if row["drug"] == "Enoxaparin Sodium"]
    (order,) = [one for one in chart.rows["hosp.poe"] if one["poe_id"] == row["poe_id"]]
    (filled,) = [one for one in chart.rows["hosp.pharmacy"] if one["pharmacy_id"] == row["pharmacy_id"]]
    assert order["ordertime"] == chart.index_time
    assert (row["dose_val_rx"], row["doses_per_24_hrs"]) == ("30-40", None)
    assert filled["doses_per_24_hrs"] is None


def test_the_doses_of_a_series_have_one_order_that_lasts_as_long(tmp_path: Path) -> None:
    body = (
        'event = [{ source = "hosp.emar", at = "-16h", every = "8h", until = "+8h", name = "Mystery",'
        ' event = "Administered", route = "PO" }]\n'
    )
    chart = plant_one(tmp_path, body, anchor="ward")
    doses = [row for row in chart.rows["hosp.emar"] if row["medication"] == "Mystery"]
    assert len(doses) == 4
    assert len({row["poe_id"] for row in doses}) == len({row["pharmacy_id"] for row in doses}) == 1
    (drug,) = [row for row in chart.rows["hosp.prescriptions"] if row["drug"] == "Mystery"]
    assert drug["starttime"] <= doses[0]["charttime"]
    assert drug["stoptime"] >= doses[-1]["charttime"].replace(minute=0)


DRIP = """
stay = { icu_hours = 60 }
suppress = [{ source = "icu.inputevents", items = [223258], from = "-9d", to = "+9d" }]
event = [
  { source = "icu.inputevents", item = 223258, at = "+1h", ends = "+5h", value = 28, rate = 7, rate_unit = "units/hour", unit = "units", jitter_minutes = 20, jitter_ends_minutes = 30, jitter_rate = 0.2, status = "ChangeDose/Rate" },
  { source = "icu.inputevents", item = 223258, at = "+5h", ends = "+9h", value = 16, rate = 4, rate_unit = "units/hour", unit = "units", jitter_minutes = 20, jitter_rate = 0.2 },
]
"""


def test_the_rates_and_lengths_of_a_drip_differ_from_patient_to_patient(tmp_path: Path) -> None:
    seen = set()
    for number in range(8):
        chart = plant_one(tmp_path, DRIP, number=number)
        first, second = rows_of(chart, "icu.inputevents", 223258)
        assert first["endtime"] == second["starttime"]
        assert first["linkorderid"] == second["linkorderid"]
        assert abs(first["endtime"] - chart.index_time - 5 * HOUR) <= 50 * HOUR / 60
        for row, rate in ((first, 7), (second, 4)):
            hours = (row["endtime"] - row["starttime"]) / HOUR
            assert float(row["amount"]) == pytest.approx(float(row["rate"]) * hours)
            assert abs(float(row["rate"]) - rate) <= 0.2 * rate + 0.05
        seen.add((first["rate"], second["rate"], first["endtime"] - chart.index_time))
    assert len(seen) == 8


def test_a_drip_without_jitter_is_as_it_was_planted(tmp_path: Path) -> None:
    plain = DRIP.replace("jitter_minutes = 20, ", "").replace("jitter_ends_minutes = 30, ", "")
    chart = plant_one(tmp_path, plain.replace("jitter_rate = 0.2", "jitter_rate = 0"))
    first, second = rows_of(chart, "icu.inputevents", 223258)
    assert (first["rate"], first["amount"], second["rate"], second["amount"]) == ("7", "28", "4", "16")
    assert second["endtime"] == chart.index_time + 9 * HOUR


def test_the_bag_of_a_drip_has_one_volume(tmp_path: Path) -> None:
    for number in range(6):
        chart = plant_one(tmp_path, "stay = { icu_hours = 60 }\n", number=number)
        bags: dict[object, set[object]] = {}
        for row in chart.rows["icu.inputevents"]:
            bags.setdefault((row["stay_id"], row["itemid"]), set()).add(row["totalamount"])
        assert {len(volumes) for volumes in bags.values()} == {1}


def test_a_heparin_infusion_is_charted_by_its_rate(tmp_path: Path) -> None:
    body = (
        'event = [{ source = "hosp.emar", at = "+12m", name = "Heparin", event = "Started",'
        ' route = "IV DRIP" }]\n'
    )
    chart = plant_one(tmp_path, body, anchor="ward")
    (dose,) = [row for row in chart.rows["hosp.emar"] if row["event_txt"] == "Started"]
    due, given = [row for row in chart.rows["hosp.emar_detail"] if row["emar_id"] == dose["emar_id"]]
    assert (due["infusion_rate"], due["infusion_rate_unit"]) == ("1100", "units/hr")
    assert (given["dose_given"], given["product_code"]) == (None, "HEPPREMIX")
    (drug,) = [r for r in chart.rows["hosp.prescriptions"] if r["pharmacy_id"] == dose["pharmacy_id"]]
    assert (drug["route"], drug["formulary_drug_cd"]) == ("IV DRIP", "HEPPREMIX")


def test_no_hour_is_missed_around_the_index_time(tmp_path: Path) -> None:
    for number in range(12):
        chart = plant_one(tmp_path, "stay = { icu_hours = 60 }\n", anchor="unit", number=number)
        times = sorted(row["charttime"] for row in rows_of(chart, "icu.chartevents", 220045))
        after = [time for time in times if timedelta(0) <= time - chart.index_time <= 3 * HOUR]
        assert len(after) >= 3
        assert all(later - earlier <= 1.2 * HOUR for earlier, later in pairwise(after))
