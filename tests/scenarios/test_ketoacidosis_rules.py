"""The rules of the insulin stop in ketoacidosis at their boundaries: a minute and a unit either side of each."""

import pytest

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    coded,
    infused,
    lab,
)

SCENARIO = "13-dka-infusion-stop"

SODIUM, CHLORIDE, BICARBONATE, REPORTED_GAP = 50983, 50902, 50882, 50868
GLUCOSE, GAS_GLUCOSE, STICK, CHEMISTRY_COPY = 50931, 50809, 225664, 220621
PH, KETONE, INSULIN = 50820, 51567, 223258

YES = ("yes", "resolved")
SWEET, SOUR = ("no", "glucose_high"), ("no", "acidosis")
NO_GLUCOSE, NO_CHEMISTRY = ("lack_of_data", "no_glucose"), ("lack_of_data", "no_chemistry")
ONLY_2009, ONLY_2024 = (("medical_ambiguity", f"resolved_{year}_only") for year in (2009, 2024))

UNIT = (-2 * DAY, 2 * DAY)
BEGUN = -14 * HOUR


def insulin(at: float, ends: float, rate: float | None = 5, amount: float = 20, **values: object) -> Row:
    fixed = {"endtime": after(ends), "rate": rate, "ordercategorydescription": "Continuous Med"}
    return infused(INSULIN, at, amount, **(fixed | values))


def chemistry(
    at: float,
    bicarbonate: float,
    sodium: float = 140,
    gap: float = 10,
    *,
    stored: float | None = None,
    number: int = 1,
) -> tuple[Row, ...]:
    """One specimen; its chloride makes the gap."""
    results = ((SODIUM, sodium), (CHLORIDE, sodium - bicarbonate - gap), (BICARBONATE, bicarbonate))
    return tuple(lab(item, at, value, stored=stored, specimen=100 + number) for item, value in results)


def stick(at: float, value: float | None, *, stored: float | None = None) -> Row:
    row = charted(STICK, at, value)  # type: ignore[arg-type]
    return Row(row.table, {**row.values, "storetime": after(at if stored is None else stored)})


def read_as(row: Row, text: str) -> Row:
    return Row(row.table, {**row.values, "value": text, "valuenum": None})


ARRIVAL = (*chemistry(BEGUN - 60, 9, 132, 28, number=0), lab(GLUCOSE, BEGUN - 60, 480))
RUN = (insulin(BEGUN, -5 * HOUR), insulin(-5 * HOUR, 0))
KETOACIDOSIS = coded("E1010", hadm_id=None)


def stay(*rows: Row, icu: tuple[float, float] = UNIT, **values: object) -> Chart:
    return Chart(rows=(*ARRIVAL, KETOACIDOSIS, *rows), icu=icu, **values)  # type: ignore[arg-type]


def chart(*rows: Row, glucose: float | None = 165) -> Chart:
    known = () if glucose is None else (stick(-30, glucose),)
    return stay(*RUN, *known, *rows)


def result(bicarbonate: float, gap: float = 10, *rows: Row, glucose: float | None = 165) -> Chart:
    return chart(*chemistry(-90, bicarbonate, gap=gap), *rows, glucose=glucose)


def ph(value: float, at: float = -60, **values: object) -> Row:
    return lab(PH, at, value, **values)  # type: ignore[arg-type]


def ketone(value: float, at: float = -60, **values: object) -> Row:
    return lab(KETONE, at, value, **values)  # type: ignore[arg-type]


# fmt: off
CASES = {
    "resolved by both": (result(20), YES),
    # --- 2009: two of three
    "bicarbonate 15 and gap 12 is resolved by 2009": (result(15, 12), ONLY_2009),
    "bicarbonate 14 is not": (result(14, 12), SOUR),
    "gap 13 is not": (result(15, 13), SOUR),
    "pH above 7.30 stands in for the gap": (result(15, 13, ph(7.31)), YES),
    "pH 7.30 does not": (result(15, 13, ph(7.30)), ONLY_2024),
    "pH above 7.30 stands in for the bicarbonate": (result(14, 12, ph(7.31)), YES),
    "pH alone is not enough": (result(14, 13, ph(7.40)), ONLY_2024),
    # --- 2024
    "bicarbonate 18 is resolved by 2024": (result(18, 12), YES),
    "bicarbonate 17 is not": (result(17, 12), ONLY_2009),
    "pH 7.30 stands in": (result(17, 12, ph(7.30)), YES),
    "pH 7.29 does not": (result(17, 12, ph(7.29)), ONLY_2009),
    "bicarbonate 18 with an open gap is resolved by 2024 alone": (result(18, 13), ONLY_2024),
    "a ketone of 0.6 keeps it open": (result(20, 10, ketone(0.6)), ONLY_2009),
    "a ketone of 0.5 does not": (result(20, 10, ketone(0.5)), YES),
    "a ketone and an open gap": (result(18, 13, ketone(0.6)), SOUR),
    # --- glucose
    "a glucose of 200 is not resolved": (result(20, glucose=200), SWEET),
    "a glucose of 199 is": (result(20, glucose=199), YES),
    "above the meter's range is not": (chart(*chemistry(-90, 20), read_as(stick(-30, None), "HI"), glucose=None), SWEET),
    "below it is": (chart(*chemistry(-90, 20), read_as(stick(-30, None), "LO"), glucose=None), YES),
    "a reading without a number is skipped": (result(20, 10, read_as(stick(-10, None), "___")), YES),
    "the last one counts": (result(20, 10, stick(-10, 230)), SWEET),
    "one of T counts": (result(20, 10, stick(0, 230)), SWEET),
    "one after T does not": (result(20, 10, stick(1, 230)), YES),
    "one stored after T does not": (result(20, 10, stick(-10, 230, stored=1)), YES),
    "one stored at T does": (result(20, 10, stick(-10, 230, stored=0)), SWEET),
    "at one moment chemistry comes before the stick": (result(20, 10, lab(GLUCOSE, -30, 230)), SWEET),
    "the analyser too": (result(20, 10, lab(GAS_GLUCOSE, -30, 230)), SWEET),
    "and chemistry before the analyser": (
        result(20, 10, lab(GAS_GLUCOSE, -30, 230), lab(GLUCOSE, -30, 190)), YES),
    "two hours before counts": (chart(*chemistry(-90, 20), stick(-120, 165), glucose=None), YES),
    "a minute earlier does not": (chart(*chemistry(-90, 20), stick(-121, 165), glucose=None), NO_GLUCOSE),
    "a copy of a result counts when it is stored": (
        chart(*chemistry(-90, 20), charted(CHEMISTRY_COPY, -100, 170), glucose=None), YES),
    # --- the specimen
    "a specimen six hours before counts": (chart(*chemistry(-6 * HOUR, 20)), YES),
    "one a minute before that does not": (chart(*chemistry(-6 * HOUR - 1, 20)), NO_CHEMISTRY),
    "the last specimen counts": (chart(*chemistry(-90, 20), *chemistry(-60, 12, number=2)), SOUR),
    "known at T": (chart(*chemistry(-90, 20, stored=0)), YES),
    "known a minute later": (chart(*chemistry(-90, 20, stored=1)), NO_CHEMISTRY),
    "known later, and an earlier one before it": (
        chart(*chemistry(-4 * HOUR, 12), *chemistry(-60, 20, stored=25, number=2)), SOUR),
    "a specimen without chloride is skipped": (
        chart(*chemistry(-90, 20), lab(SODIUM, -30, 140, specimen=9), lab(BICARBONATE, -30, 12, specimen=9)), YES),
    "values of two specimens make no gap": (
        chart(lab(SODIUM, -90, 140), lab(CHLORIDE, -80, 110), lab(BICARBONATE, -90, 20)), NO_CHEMISTRY),
    "a cancelled bicarbonate is none": (
        chart(*chemistry(-90, 20)[:2], lab(BICARBONATE, -90, 20, comment="SPECIMEN LOST.", specimen=101)), NO_CHEMISTRY),
    "the reported gap decides nothing": (result(15, 12, lab(REPORTED_GAP, -90, 16, specimen=101)), ONLY_2009),
    # --- pH and ketone
    "a pH six hours before counts": (result(17, 12, ph(7.30, -6 * HOUR)), YES),
    "a minute earlier it is missing": (result(17, 12, ph(7.30, -6 * HOUR - 1)), ONLY_2009),
    "the last pH counts": (result(17, 12, ph(7.40, -90), ph(7.20, -30)), ONLY_2009),
    "a pH stored after T is missing": (result(17, 12, ph(7.40, -5, stored=1)), ONLY_2009),
    "a ketone twelve hours before counts": (result(20, 10, ketone(2.0, -12 * HOUR)), ONLY_2009),
    "one a minute earlier does not": (result(20, 10, ketone(2.0, -12 * HOUR - 1)), YES),
    "the last ketone counts": (result(20, 10, ketone(2.0, -90), ketone(0.4, -30)), YES),
    # --- what is missing, and what decides without it
    "no glucose, and an acidosis by both": (result(12, 16, glucose=None), SOUR),
    "no glucose, and an acidosis by one": (result(15, 12, glucose=None), NO_GLUCOSE),
    "no chemistry, and a glucose of 200": (chart(glucose=200), SWEET),
    "no chemistry, and a good pH": (chart(ph(7.40)), NO_CHEMISTRY),
    "no chemistry, and a ketone": (chart(ph(7.40), ketone(2.0)), NO_CHEMISTRY),
    "neither": (chart(glucose=None), NO_GLUCOSE),
}

OUTSIDE = {
    "three hours of insulin": stay(insulin(-239, 0)),
    "a push": stay(infused(INSULIN, 0, 10)),
    "insulin without a rate": stay(insulin(BEGUN, 0, rate=None)),
    "a rate of nothing": stay(insulin(BEGUN, 0, rate=0)),
    "rewritten": stay(insulin(BEGUN, 0, statusdescription="Rewritten")),
    "dead within two hours": Chart(rows=(*ARRIVAL, KETOACIDOSIS, *RUN), icu=UNIT, leaves=120, died=120),
    "out of the ICU within two hours": stay(*RUN, icu=(-2 * DAY, 120)),
    "no coded ketoacidosis": Chart(rows=(*ARRIVAL, coded("E119", hadm_id=None), *RUN), icu=UNIT),
    "a code of an earlier admission": Chart(
        rows=(*ARRIVAL, coded("E1010"), *RUN), icu=UNIT, earlier=(-90 * DAY, -85 * DAY)),
    "a glucose of 250": Chart(
        rows=(*chemistry(BEGUN, 9, gap=28), lab(GLUCOSE, BEGUN, 250), KETOACIDOSIS, *RUN), icu=UNIT),
    "a gap of 12": Chart(rows=(*chemistry(BEGUN, 9, gap=12), lab(GLUCOSE, BEGUN, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "a bicarbonate of 18 and a pH of 7.30": Chart(
        rows=(*chemistry(BEGUN, 18, gap=20), ph(7.30, BEGUN), lab(GLUCOSE, BEGUN, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "results more than twelve hours before": Chart(
        rows=(*chemistry(BEGUN - 721, 9, gap=28), lab(GLUCOSE, BEGUN - 721, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "results more than two hours after": Chart(
        rows=(*chemistry(BEGUN + 121, 9, gap=28), lab(GLUCOSE, BEGUN + 121, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "a child": stay(*RUN, age=17),
}

INSIDE = {
    "four hours of insulin": stay(insulin(-240, 0)),
    "a glucose of 251": Chart(
        rows=(*chemistry(BEGUN, 9, gap=28), lab(GLUCOSE, BEGUN, 251), KETOACIDOSIS, *RUN), icu=UNIT),
    "a gap of 13": Chart(rows=(*chemistry(BEGUN, 9, gap=13), lab(GLUCOSE, BEGUN, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "a bicarbonate of 17": Chart(
        rows=(*chemistry(BEGUN, 17, gap=20), lab(GLUCOSE, BEGUN, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "a pH of 7.29": Chart(
        rows=(*chemistry(BEGUN, 18, gap=20), ph(7.29, BEGUN), lab(GLUCOSE, BEGUN, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "results twelve hours before": Chart(
        rows=(*chemistry(BEGUN - 720, 9, gap=28), lab(GLUCOSE, BEGUN - 720, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "results two hours after": Chart(
        rows=(*chemistry(BEGUN + 120, 9, gap=28), lab(GLUCOSE, BEGUN + 120, 480), KETOACIDOSIS, *RUN), icu=UNIT),
    "a code of the ninth revision": Chart(rows=(*ARRIVAL, coded("25013", 9, hadm_id=None), *RUN), icu=UNIT),
    "alive and there a minute after two hours": stay(*RUN, icu=(-2 * DAY, 121)),
}

ENDS = {
    "a pause of two hours is none": (stay(insulin(BEGUN, -300), insulin(-180, 0)), 0),
    "a minute more is an end": (stay(insulin(BEGUN, -301), insulin(-180, 0)), -301),
    "rows that overlap are one episode": (stay(insulin(BEGUN, 0), insulin(-300, -200)), 0),
    "a short episode before is passed over": (stay(insulin(BEGUN - 300, BEGUN - 240), insulin(BEGUN, 0)), 0),
    "its rows add up": (stay(insulin(BEGUN, BEGUN + 120), insulin(BEGUN + 200, BEGUN + 320)), BEGUN + 320),
}
# fmt: on


FURTHER = {name: case for name, (case, _) in ENDS.items()}


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", ENDS)
def test_the_end_of_the_infusion(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(ENDS[claim][1])


class TestEvidence:
    """What an answer must rest on."""

    def test_a_resolution_rests_on_the_stop_a_glucose_and_a_chemistry(self, judged: Judged) -> None:
        name = "resolved by both"
        needs = judged.evidence[name]
        assert list(needs) == ["infusion_stop", "glucose", "chemistry"]
        assert needs["infusion_stop"].alternatives == ((judged.rows(name, "icu.inputevents")[-1],),)
        assert [len(rows) for rows in needs["chemistry"].alternatives] == [3]

    def test_what_decides_alone_is_enough(self, judged: Judged) -> None:
        assert list(judged.evidence["no chemistry, and a glucose of 200"]) == ["infusion_stop", "glucose"]
        assert list(judged.evidence["no glucose, and an acidosis by both"]) == ["infusion_stop", "chemistry"]

    @pytest.mark.parametrize(
        ("claim", "shown"),
        [
            ("pH above 7.30 stands in for the gap", True),
            ("pH 7.29 does not", False),
            ("a pH stored after T is missing", False),
        ],
    )
    def test_a_gas_is_shown_where_it_decides(self, claim: str, shown: bool, judged: Judged) -> None:
        assert ("blood_gas" in judged.evidence[claim]) == shown

    def test_a_ketone_is_shown_where_it_decides(self, judged: Judged) -> None:
        assert "ketone" in judged.evidence["a ketone of 0.6 keeps it open"]
        assert "ketone" not in judged.evidence["a ketone of 0.5 does not"]

    @pytest.mark.parametrize(
        ("claim", "requirement", "tables"),
        [
            ("known a minute later", "no_chemistry", ["hosp.labevents"]),
            ("neither", "no_glucose", ["icu.chartevents", "hosp.labevents"]),
        ],
    )
    def test_a_lack_rests_on_searches(
        self, claim: str, requirement: str, tables: list[str], judged: Judged
    ) -> None:
        needs = judged.evidence[claim]
        assert list(needs) == ["infusion_stop", requirement]
        assert [window.source for window in needs[requirement].search] == tables
