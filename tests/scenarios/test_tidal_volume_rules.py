"""The rules of the tidal volume at their boundaries: a minute and a unit either side of each.

At 60 inches the predicted body weight is 45.5 kg (women) or 50 kg (men), so that 364 and 400 mL are 8.0 mL/kg.
"""

from datetime import timedelta

import pytest

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    T,
    after,
    charted,
    lab,
    procedure,
)

SCENARIO = "20-tidal-volume-predicted-weight"

PO2, FIO2, KIND = 50821, 50816, 52033
CHART_PO2, CHART_FIO2, PEEP = 220224, 223835, 220339
SET, OBSERVED, SPONTANEOUS, MODE, HAMILTON, DEVICE = 224684, 224685, 224686, 223849, 229314, 226732
CM, INCHES, VENTILATION = 226730, 226707, 225792

YES, NO = ("yes", "within"), ("no", "above")
NO_HEIGHT, FEW = ("lack_of_data", "no_height"), ("lack_of_data", "too_few_volumes")
NEITHER = ("lack_of_data", "no_height_no_volumes")
SPLIT, HEIGHTS = ("medical_ambiguity", "set_or_observed"), ("medical_ambiguity", "heights_differ")

UNIT = (-10 * HOUR, 60 * HOUR)


def kind(text: str, at: float = 0, specimen: int = 1) -> Row:
    return Row("hosp.labevents", {**lab(KIND, at, None, specimen=specimen).values, "value": text})


def gas(po2: float = 150, at: float = 0, specimen: int = 1) -> tuple[Row, ...]:
    return (lab(PO2, at, po2, specimen=specimen), kind("ART.", at, specimen))


def stored(row: Row, at: float) -> Row:
    return Row(row.table, {**row.values, "storetime": after(at)})


def worded(itemid: int, at: float, text: str) -> Row:
    return Row("icu.chartevents", {**charted(itemid, at).values, "value": text, "valuenum": None})


def clinic(text: str, days: int = -100, name: str = "Height (Inches)") -> Row:
    day = (T + timedelta(days=days)).date()
    return Row("hosp.omr", {"chartdate": day, "seq_num": 1, "result_name": name, "result_value": text})


def volumes(*values: float, item: int = SET) -> tuple[Row, ...]:
    return tuple(charted(item, place * HOUR, value) for place, value in enumerate(values, start=1))


FIO2_HALF = lab(FIO2, 0, 50, specimen=1)
PRESSURE = charted(PEEP, -60, 5)
VENTILATED = procedure(VENTILATION, -6 * HOUR, DAY)
GROUND = (*gas(), FIO2_HALF, PRESSURE, VENTILATED)
TALL = charted(INCHES, -5 * HOUR, 60)


def chart(*rows: Row, **stay: object) -> Chart:
    """A height of 60 inches; the volumes are the rows."""
    return Chart(rows=(*GROUND, TALL, *rows), icu=UNIT, **stay)  # type: ignore[arg-type]


def of_height(*rows: Row, volume: float = 364, **stay: object) -> Chart:
    """A set volume of 364 mL; the heights are the rows."""
    return Chart(rows=(*GROUND, *volumes(volume, volume, volume), *rows), icu=UNIT, **stay)  # type: ignore[arg-type]


def on(*rows: Row) -> Chart:
    """A chart whose gas and ventilation are the rows."""
    return Chart(rows=(TALL, *volumes(364, 364, 364), *rows), icu=UNIT)


WELL = volumes(364, 364, 364)

# fmt: off
CASES = {
    # --- the limit
    "8.0 mL/kg of a woman": (chart(*WELL), YES),
    "a millilitre more": (chart(*volumes(365, 365, 365)), NO),
    "8.0 mL/kg of a man": (chart(*volumes(400, 400, 400), sex="M"), YES),
    "a millilitre more of a man": (chart(*volumes(401, 401, 401), sex="M"), NO),
    "a man at a woman's limit": (chart(*volumes(365, 365, 365), sex="M"), YES),
    # --- the median of the day
    "the middle value decides, not the highest": (chart(*volumes(364, 500, 350)), YES),
    "nor the lowest": (chart(*volumes(365, 366, 200)), NO),
    "of four values the middle two are averaged": (chart(*volumes(300, 363, 365, 500)), YES),
    "half a millilitre above": (chart(*volumes(300, 364, 365, 500)), NO),
    "a value at T counts": (chart(charted(SET, 0, 300), *volumes(500, 364)), YES),
    "one a minute before T does not": (chart(charted(SET, -1, 300), *volumes(500, 364)), FEW),
    "a value at 24 hours counts": (chart(charted(SET, DAY, 300), *volumes(500, 364)), YES),
    "one a minute later does not": (chart(charted(SET, DAY + 1, 300), *volumes(500, 364)), FEW),
    "one noted after as-of does not exist": (
        chart(stored(charted(SET, 60, 300), DAY + 1), *volumes(500, 364)), FEW),
    "one noted at as-of does": (chart(stored(charted(SET, 90, 300), DAY), *volumes(500, 364)), YES),
    "100 mL is a volume": (chart(*volumes(100, 364, 500)), YES),
    "99 mL is none": (chart(*volumes(99, 364, 500)), FEW),
    "1500 mL is a volume": (chart(*volumes(1500, 364, 300)), YES),
    "1501 mL is none": (chart(*volumes(1501, 364, 300)), FEW),
    "two set volumes are too few": (chart(*volumes(364, 364)), FEW),
    "observed volumes do not stand in": (chart(*volumes(300, 300, 300, 300, item=OBSERVED)), FEW),
    "spontaneous volumes neither": (chart(*volumes(300, 300, 300, item=SPONTANEOUS)), FEW),
    # --- set and observed
    "observed above, set within": (chart(*WELL, *volumes(365, 365, 365, item=OBSERVED)), SPLIT),
    "observed at the limit": (chart(*WELL, *volumes(364, 364, 364, item=OBSERVED)), YES),
    "observed within, set above": (
        chart(*volumes(365, 365, 365), *volumes(364, 364, 364, item=OBSERVED)), SPLIT),
    "both above": (chart(*volumes(365, 365, 365), *volumes(420, 420, 420, item=OBSERVED)), NO),
    "two observed values are too few to disagree": (chart(*WELL, *volumes(480, 480, item=OBSERVED)), YES),
    "an observed value beyond 1500 mL is none": (
        chart(*WELL, *volumes(480, 480, 585573, item=OBSERVED)), YES),
    "spontaneous volumes do not disagree": (chart(*WELL, *volumes(600, 600, 600, item=SPONTANEOUS)), YES),
    # --- the height
    "no height": (of_height(), NO_HEIGHT),
    "no height and no volumes": (Chart(rows=GROUND, icu=UNIT), NEITHER),
    "no height and two volumes": (Chart(rows=(*GROUND, *volumes(364, 364)), icu=UNIT), NEITHER),
    "centimetres": (of_height(charted(CM, -300, 152.4)), YES),
    "a centimetre less": (of_height(charted(CM, -300, 151.4)), NO),
    "an inch less": (of_height(charted(INCHES, -300, 59)), NO),
    "120 cm is a height": (of_height(charted(CM, -300, 120), volume=120), YES),
    "119 cm is none": (of_height(charted(CM, -300, 119), volume=120), NO_HEIGHT),
    "230 cm is a height": (of_height(charted(CM, -300, 230)), YES),
    "231 cm is none": (of_height(charted(CM, -300, 231)), NO_HEIGHT),
    "inches among the centimetres are none": (of_height(charted(CM, -300, 60)), NO_HEIGHT),
    "centimetres among the inches are none": (of_height(charted(INCHES, -300, 152)), NO_HEIGHT),
    "an impossible height leaves a possible one": (
        of_height(charted(CM, -200, 60), charted(INCHES, -300, 60)), YES),
    "the latest height of the ICU decides": (
        of_height(charted(CM, -400, 150), charted(CM, -300, 152.4)), YES),
    "also when it is the lower one": (of_height(charted(CM, -400, 152.4), charted(CM, -300, 150)), NO),
    "at one time centimetres come before inches": (
        of_height(charted(INCHES, -300, 59), charted(CM, -300, 152.4)), YES),
    "a height charted at as-of counts": (of_height(charted(CM, DAY, 152.4)), YES),
    "one charted a minute later does not exist": (of_height(charted(CM, DAY + 1, 152.4)), NO_HEIGHT),
    "the clinic's height will do": (of_height(clinic("60")), YES),
    "an inch less in the clinic": (of_height(clinic("59")), NO),
    "the clinic's latest height decides": (of_height(clinic("59", -500), clinic("60", -100)), YES),
    "one of the day of as-of is not known yet": (of_height(clinic("60", 1)), NO_HEIGHT),
    "one of the day of T is": (of_height(clinic("60", 0)), YES),
    "a height that is no number is none": (of_height(clinic("5'0")), NO_HEIGHT),
    "an impossible one in the clinic": (of_height(clinic("5")), NO_HEIGHT),
    "a body mass index is no height": (of_height(clinic("24.1", name="BMI (kg/m2)")), NO_HEIGHT),
    "a weight is none": (of_height(clinic("60", name="Weight (Lbs)")), NO_HEIGHT),
    # --- heights that differ
    "five centimetres apart they are one height": (of_height(charted(CM, -300, 157.4), clinic("60"), volume=365), YES),
    "the ICU's stands for both": (of_height(charted(CM, -300, 147.4), clinic("60")), NO),
    "more than five, with opposite answers": (
        of_height(charted(CM, -300, 157.5), clinic("60"), volume=365), HEIGHTS),
    "in the other direction": (of_height(charted(CM, -300, 147.3), clinic("60")), HEIGHTS),
    "more than five, with one answer": (of_height(charted(CM, -300, 165), clinic("60")), YES),
    "only the clinic's latest can disagree": (
        of_height(charted(CM, -300, 157.5), clinic("60", -500), clinic("62", -100), volume=365), YES),
    "two heights of the ICU do not disagree": (
        of_height(charted(CM, -400, 140), charted(CM, -300, 152.4)), YES),
    "an impossible height in the clinic does not disagree": (
        of_height(charted(CM, -300, 157.5), clinic("6"), volume=365), YES),
    "a disagreement of volumes comes first": (
        of_height(charted(CM, -300, 157.5), clinic("60"), *volumes(500, 500, 500, item=OBSERVED), volume=365), SPLIT),
}

MODES = tuple(worded(DEVICE, hour * HOUR, "Endotracheal tube") for hour in range(-6, 25, 6))

OUTSIDE = {
    "a ratio above 300": on(*gas(151), FIO2_HALF, PRESSURE, VENTILATED),
    "a PEEP of 4": on(*gas(), FIO2_HALF, charted(PEEP, -60, 4), VENTILATED),
    "no PEEP within two hours": on(*gas(), FIO2_HALF, charted(PEEP, -121, 5), charted(PEEP, 121, 5), VENTILATED),
    "the nearest PEEP decides": on(
        *gas(), FIO2_HALF, charted(PEEP, -60, 5), charted(PEEP, 59, 4), VENTILATED),
    "the earlier of two as near": on(
        *gas(), FIO2_HALF, charted(PEEP, -60, 4), charted(PEEP, 60, 5), VENTILATED),
    "a venous gas": on(lab(PO2, 0, 40, specimen=1), kind("VEN."), FIO2_HALF, PRESSURE, VENTILATED),
    "a venous gas charted as arterial": on(
        lab(PO2, 0, 40, specimen=1), kind("CENTRAL VENOUS."), FIO2_HALF, PRESSURE, VENTILATED,
        charted(CHART_PO2, 0, 40)),
    "a gas of unknown kind": on(lab(PO2, 0, 40, specimen=1), FIO2_HALF, PRESSURE, VENTILATED),
    "no FiO2": on(*gas(), PRESSURE, VENTILATED),
    "an FiO2 charted more than four hours before": on(
        *gas(), charted(CHART_FIO2, -241, 50), PRESSURE, VENTILATED),
    "an FiO2 charted after": on(*gas(), charted(CHART_FIO2, 1, 50), PRESSURE, VENTILATED),
    "a flow among the FiO2": on(*gas(), charted(CHART_FIO2, -60, 15), PRESSURE, VENTILATED),
    "an FiO2 of 20 in the laboratory": on(*gas(50), lab(FIO2, 0, 20, specimen=1), PRESSURE, VENTILATED),
    "ventilation that ends a minute before the day does": on(
        *gas(), FIO2_HALF, PRESSURE, procedure(VENTILATION, -6 * HOUR, DAY - 1)),
    "ventilation that begins after the gas": on(*gas(), FIO2_HALF, PRESSURE, procedure(VENTILATION, 1, 30 * HOUR)),
    "a pause of more than an hour": on(
        *gas(), FIO2_HALF, PRESSURE, procedure(VENTILATION, -6 * HOUR, HOUR),
        procedure(VENTILATION, 2 * HOUR + 1, 30 * HOUR)),
    "extracorporeal oxygenation": on(*gas(), FIO2_HALF, PRESSURE, VENTILATED, charted(224660, 8 * HOUR, 4)),
    "a mask": on(*gas(), FIO2_HALF, PRESSURE, *(worded(DEVICE, hour * HOUR, "Bipap mask ") for hour in range(-6, 30, 6))),
    "a tube charted too seldom": on(
        *gas(), FIO2_HALF, PRESSURE,
        *(worded(DEVICE, at, "Endotracheal tube") for at in (-6 * HOUR, 8 * HOUR, 22 * HOUR, 36 * HOUR))),
    "a child": chart(*WELL, age=17),
}

INSIDE = {
    "a ratio of 300 exactly": chart(*WELL),
    "a PEEP two hours before": on(*gas(), FIO2_HALF, charted(PEEP, -120, 5), VENTILATED),
    "a PEEP two hours after": on(*gas(), FIO2_HALF, charted(PEEP, 120, 5), VENTILATED),
    "a fraction in the laboratory": on(*gas(), lab(FIO2, 0, 0.5, specimen=1), PRESSURE, VENTILATED),
    "an FiO2 charted four hours before": on(*gas(), charted(CHART_FIO2, -240, 50), PRESSURE, VENTILATED),
    "a charted fraction": on(*gas(), charted(CHART_FIO2, 0, 0.5), PRESSURE, VENTILATED),
    "the last charted FiO2": on(
        *gas(100), charted(CHART_FIO2, -200, 30), charted(CHART_FIO2, -20, 50), PRESSURE, VENTILATED),
    "the specimen's FiO2 before the charted one": on(
        *gas(), FIO2_HALF, charted(CHART_FIO2, -20, 30), PRESSURE, VENTILATED),
    "a specimen of unknown kind that was charted as arterial": on(
        lab(PO2, 0, 150, specimen=1), FIO2_HALF, charted(CHART_PO2, 0, 150), PRESSURE, VENTILATED),
    "a gas that only the chart has": on(
        charted(CHART_PO2, 0, 150), charted(CHART_FIO2, -20, 50), PRESSURE, VENTILATED),
    "a pause of an hour": on(
        *gas(), FIO2_HALF, PRESSURE, procedure(VENTILATION, -6 * HOUR, HOUR),
        procedure(VENTILATION, 2 * HOUR, 30 * HOUR)),
    "a tube charted every six hours": on(*gas(), FIO2_HALF, PRESSURE, *MODES),
    "modes without a device": on(
        *gas(), FIO2_HALF, PRESSURE, *(worded(MODE, hour * HOUR, "CMV/ASSIST") for hour in range(-6, 25, 6))),
    "modes of a Hamilton ventilator": on(
        *gas(), FIO2_HALF, PRESSURE, *(worded(HAMILTON, hour * HOUR, "ASV") for hour in range(-6, 25, 6))),
    "the next device ends it": on(
        *gas(), FIO2_HALF, PRESSURE, *MODES[:-1], worded(DEVICE, DAY, "Aerosol-cool")),
}

FIRST = {
    "an earlier gas above 300": on(*gas(200, -60, 2), *gas(), FIO2_HALF, lab(FIO2, -60, 50, specimen=2), PRESSURE, VENTILATED),
    "a later worse one": on(*gas(), *gas(70, 60, 2), FIO2_HALF, lab(FIO2, 60, 50, specimen=2), PRESSURE, VENTILATED),
    "an earlier one without ventilation": on(
        *gas(), *gas(70, -7 * HOUR, 2), FIO2_HALF, lab(FIO2, -7 * HOUR, 50, specimen=2), PRESSURE,
        charted(PEEP, -7 * HOUR, 8), VENTILATED),
}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", FIRST)
def test_the_first_gas_that_qualifies_is_the_index(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(0)


class TestEvidence:
    """What an answer must rest on."""

    def test_within_rests_on_gas_height_and_the_whole_series(self, judged: Judged) -> None:
        name = "8.0 mL/kg of a woman"
        needs = judged.evidence[name]
        assert list(needs) == ["index_gas", "height", "set_volumes"]
        assert needs["index_gas"].alternatives == ((judged.tasks[name].index_eid,),)
        (series,) = needs["set_volumes"].alternatives
        assert len(series) == 3
        assert [(window.start, window.end) for window in needs["set_volumes"].search] == [
            (after(0), after(DAY))
        ]

    def test_heights_within_five_centimetres_stand_for_each_other(self, judged: Judged) -> None:
        assert len(judged.evidence["five centimetres apart they are one height"]["height"].alternatives) == 2
        assert len(judged.evidence["more than five, with one answer"]["height"].alternatives) == 1

    def test_heights_that_differ_are_both_cited(self, judged: Judged) -> None:
        name = "more than five, with opposite answers"
        needs = judged.evidence[name]
        (clinics,) = judged.rows(name, "hosp.omr")
        assert list(needs) == ["index_gas", "height", "set_volumes", "other_height"]
        assert needs["other_height"].alternatives == ((clinics,),)
        assert clinics not in {eid for (eid,) in needs["height"].alternatives}

    def test_volumes_that_differ_ask_for_both_series(self, judged: Judged) -> None:
        needs = judged.evidence["observed above, set within"]
        assert list(needs) == ["index_gas", "height", "set_volumes", "observed_volumes"]
        assert not needs["observed_volumes"].alternatives

    def test_no_height_rests_on_both_sources(self, judged: Judged) -> None:
        needs = judged.evidence["inches among the centimetres are none"]
        assert list(needs) == ["index_gas", "no_height"]
        assert [window.source for window in needs["no_height"].search] == ["icu.chartevents", "hosp.omr"]
        assert needs["no_height"].relevant

    def test_where_both_inputs_lack_one_of_them_is_enough(self, judged: Judged) -> None:
        assert judged.evidence["no height and two volumes"]["missing_input"].any
