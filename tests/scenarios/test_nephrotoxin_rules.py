"""The rules of nephrotoxic drugs after kidney injury at their boundaries: a minute and a unit either side of each."""

from typing import Any

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    culture,
    detail,
    given,
    infused,
    lab,
    order,
    procedure,
)

SCENARIO = "02-nephrotoxin-after-aki-onset"

CREATININE, HEART_RATE, COPY = 50912, 220045, 220615
KETOROLAC, GENTAMICIN, TOBRAMYCIN = 229072, 225875, 225902

GIVEN, NOT_GIVEN = ("yes", "given"), ("no", "not_given")
NOT_RECORDING = ("lack_of_data", "not_recording")
NO_CHOICE, RECOVERED = ("medical_ambiguity", "no_safer_drug"), ("medical_ambiguity", "recovered_before")

DRAWN = -50
LOW = lab(CREATININE, DRAWN - DAY, 0.8)
INDEX = lab(CREATININE, DRAWN, 1.4, stored=0)


def ordered(at: float, drug: str, route: str | None = "IV", *, ends: float | None = None) -> Row:
    values = order(at, drug, route or "").values
    stop = None if ends is None else after(ends)
    return Row("hosp.prescriptions", {**values, "route": route, "stoptime": stop})


KETOROLAC_ORDER = ordered(-20 * HOUR, "Ketorolac", ends=9 * DAY)
EMAR = tuple(given(at * HOUR, "Docusate Sodium") for at in (-6, 8, 20, 30, 40))
"""Rows of another drug on both days: the eMAR was recording."""


def chart(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=(LOW, INDEX, KETOROLAC_ORDER, *EMAR, *rows), **stay)


def silent(*rows: Row, ordering: Row = KETOROLAC_ORDER, **stay: Any) -> Chart:
    """A chart without eMAR rows of other drugs."""
    return Chart(rows=(LOW, INDEX, ordering, *rows), **stay)


UNIT = (-30 * HOUR, 70 * HOUR)
VITALS = tuple(charted(HEART_RATE, at * HOUR) for at in range(-30, 70, 4))


def in_unit(*rows: Row, **stay: Any) -> Chart:
    """No eMAR; the ICU record is kept and ketorolac is ordered into a vein."""
    return silent(*VITALS, *rows, **({"icu": UNIT} | stay))


def ketorolac(at: float, event: str | None = "Administered") -> Row:
    return given(at, "Ketorolac", event)


def routed(name: str, route: str | None, *, at: float = 5 * HOUR) -> Chart:
    return chart(given(at, name), detail(route))


def risen(low: float, value: float, *rows: Row, drawn: float = DRAWN - DAY) -> Chart:
    """A chart with this rise."""
    return Chart(
        rows=(
            lab(CREATININE, drawn, low), lab(CREATININE, DRAWN, value, stored=0), KETOROLAC_ORDER, *EMAR, *rows),
        ed=(-9 * DAY - 60, -9 * DAY),
    )  # fmt: skip


def exposed(ordering: Row) -> Chart:
    return Chart(rows=(LOW, INDEX, ordering, *EMAR))


def grown(
    results: dict[str, str],
    *,
    at: float = -DAY,
    stored: float = 40 * HOUR,
    organism: str = "KLEBSIELLA PNEUMONIAE",
) -> tuple[Row, ...]:
    """A culture with these susceptibilities."""
    base = culture(at, specimen=71, kind="URINE", stored=stored).values
    fixed = {**base, "org_itemid": 80004, "org_name": organism, "isolate_num": 1, "test_itemid": 90039}
    return tuple(
        Row(
            "hosp.microbiologyevents",
            {**fixed, "ab_itemid": 90000 + place, "ab_name": drug, "interpretation": result},
        )
        for place, (drug, result) in enumerate(results.items())
    )


RESISTANT = {"CEFTRIAXONE": "R", "CEFEPIME": "R", "MEROPENEM": "I", "AMIKACIN": "S", "GENTAMICIN": "R"}
AMIKACIN = given(20 * HOUR, "Amikacin")

# fmt: off
CASES = {
    "nothing given on two recorded days": (chart(), NOT_GIVEN),
    # --- the window
    "a dose at T does not count": (chart(ketorolac(0)), NOT_GIVEN),
    "a dose a minute later does": (chart(ketorolac(1)), GIVEN),
    "a dose at 48 hours does": (chart(ketorolac(48 * HOUR)), GIVEN),
    "a dose a minute later does not": (chart(ketorolac(48 * HOUR + 1)), NOT_GIVEN),
    "a dose stored after as-of does not exist": (
        chart(Row("hosp.emar", {**ketorolac(5 * HOUR).values, "storetime": after(48 * HOUR + 1)})), NOT_GIVEN),
    # --- given
    "not given does not": (chart(ketorolac(5 * HOUR, "Not Given")), NOT_GIVEN),
    "held does not": (chart(ketorolac(5 * HOUR, "Hold Dose")), NOT_GIVEN),
    "an order does not": (chart(ordered(5 * HOUR, "Ibuprofen", "PO")), NOT_GIVEN),
    # --- drugs and routes
    "ibuprofen by mouth counts": (routed("Ibuprofen Suspension", "PO/NG"), GIVEN),
    "indomethacin by rectum counts": (routed("Indomethacin", "PR"), GIVEN),
    "ketorolac into a muscle counts": (routed("Ketorolac", "IM"), GIVEN),
    "celecoxib counts": (chart(given(5 * HOUR, "celecoxib")), GIVEN),
    "aspirin does not": (routed("Aspirin", "PO"), NOT_GIVEN),
    "paracetamol does not": (routed("Acetaminophen", "PO"), NOT_GIVEN),
    "eye drops do not": (chart(given(5 * HOUR, "Ketorolac 0.5% Ophth Soln")), NOT_GIVEN),
    "a drop by its route does not": (routed("Ketorolac", "BOTH EYES"), NOT_GIVEN),
    "a gel does not": (chart(given(5 * HOUR, "Diclofenac 1% Gel")), NOT_GIVEN),
    "gentamicin into a vein counts": (routed("Gentamicin", "IV"), GIVEN),
    "gentamicin without a route counts": (chart(given(5 * HOUR, "Gentamicin Sulfate")), GIVEN),
    "gentamicin of an order into a muscle does not": (
        chart(given(5 * HOUR, "Gentamicin", pharmacy_id=77),
              Row("hosp.prescriptions", {**ordered(4 * HOUR, "Gentamicin", "IM").values, "pharmacy_id": 77})), NOT_GIVEN),
    "inhaled tobramycin does not": (chart(given(5 * HOUR, "Tobramycin Inhalation Soln")), NOT_GIVEN),
    "tobramycin by inhalation does not": (routed("Tobramycin Sulfate", "IH"), NOT_GIVEN),
    "an ear drop does not": (chart(given(5 * HOUR, "Tobramycin-Dexamethasone Otic Susp")), NOT_GIVEN),
    "a lock does not": (chart(given(5 * HOUR, "Gentamicin Antibiotic Lock")), NOT_GIVEN),
    "vancomycin does not": (routed("Vancomycin", "IV"), NOT_GIVEN),
    "ketorolac of the ICU record counts": (in_unit(infused(KETOROLAC, 5 * HOUR, 15)), GIVEN),
    "one of no amount does not": (in_unit(infused(KETOROLAC, 5 * HOUR, 0)), NOT_GIVEN),
    "a rewritten one does not": (in_unit(infused(KETOROLAC, 5 * HOUR, 15, statusdescription="Rewritten")), NOT_GIVEN),
    "gentamicin of the ICU record counts": (
        in_unit(infused(GENTAMICIN, 5 * HOUR, 1, ordercategoryname="08-Antibiotics (IV)")), GIVEN),
    "tobramycin charted as not into a vein does not": (
        in_unit(infused(TOBRAMYCIN, 5 * HOUR, 1, ordercategoryname="09-Antibiotics (Non IV)")), NOT_GIVEN),
    "one that runs at T does not": (in_unit(infused(GENTAMICIN, -5, 1)), NOT_GIVEN),
    # --- no safer drug
    "nothing else was active": (chart(AMIKACIN, *grown(RESISTANT)), NO_CHOICE),
    "with meropenem active it was avoidable": (chart(AMIKACIN, *grown(RESISTANT | {"MEROPENEM": "S"})), GIVEN),
    "resistance to one beta-lactam is too little": (chart(AMIKACIN, *grown(RESISTANT | {"CEFEPIME": "I"})), GIVEN),
    "the organism must be susceptible to the drug given": (
        chart(given(20 * HOUR, "Gentamicin"), *grown(RESISTANT)), GIVEN),
    "to each of them": (chart(AMIKACIN, given(30 * HOUR, "Gentamicin"), *grown(RESISTANT)), GIVEN),
    "intermediate is not susceptible": (chart(AMIKACIN, *grown(RESISTANT | {"AMIKACIN": "I"})), GIVEN),
    "a Gram-positive organism does not matter": (
        chart(AMIKACIN, *grown(RESISTANT, organism="STAPH AUREUS COAG +")), GIVEN),
    "Enterobacter is no Enterococcus": (
        chart(AMIKACIN, *grown(RESISTANT, organism="ENTEROBACTER CLOACAE COMPLEX")), NO_CHOICE),
    "an NSAID beside it was avoidable": (chart(AMIKACIN, ketorolac(30 * HOUR), *grown(RESISTANT)), GIVEN),
    "a culture known at 48 hours counts": (chart(AMIKACIN, *grown(RESISTANT, stored=48 * HOUR)), NO_CHOICE),
    "one known a minute later does not": (chart(AMIKACIN, *grown(RESISTANT, stored=48 * HOUR + 1)), GIVEN),
    "one of two weeks before counts": (chart(AMIKACIN, *grown(RESISTANT, at=-14 * DAY)), NO_CHOICE),
    "an older one does not": (chart(AMIKACIN, *grown(RESISTANT, at=-14 * DAY - 1)), GIVEN),
    "a resistant organism without a dose changes nothing": (chart(*grown(RESISTANT)), NOT_GIVEN),
    # --- a rise that was gone
    "a rise by 0.3 that was gone before the dose": (
        risen(1.2, 1.5, lab(CREATININE, 5 * HOUR, 1.3, stored=6 * HOUR), ketorolac(6 * HOUR + 1)), RECOVERED),
    "known in the minute of the dose it was not": (
        risen(1.2, 1.5, lab(CREATININE, 5 * HOUR, 1.3, stored=6 * HOUR), ketorolac(6 * HOUR)), GIVEN),
    "0.2 above the low is not gone": (
        risen(1.2, 1.5, lab(CREATININE, 5 * HOUR, 1.4, stored=6 * HOUR), ketorolac(7 * HOUR)), GIVEN),
    "a rise by half that was gone": (
        risen(0.6, 0.9, lab(CREATININE, 5 * HOUR, 0.6, stored=6 * HOUR), ketorolac(7 * HOUR)), GIVEN),
    "the first dose decides": (
        risen(1.2, 1.5, ketorolac(4 * HOUR), lab(CREATININE, 5 * HOUR, 1.3, stored=6 * HOUR), ketorolac(7 * HOUR)),
        GIVEN),
    "a value drawn before the index does not count": (
        risen(1.2, 1.5, lab(CREATININE, DRAWN - 1, 1.3, stored=5), ketorolac(7 * HOUR)), GIVEN),
    # --- whether the eMAR was recording
    "without rows nothing is shown": (silent(), NOT_RECORDING),
    "a dose found needs no recording": (silent(ketorolac(5 * HOUR)), GIVEN),
    "a row at 24 hours speaks for both days": (
        silent(*(given(at * HOUR, "Senna") for at in (-2, 13, 20, 24))), NOT_GIVEN),
    "none of the second day at all": (
        silent(*(given(at * HOUR, "Senna") for at in (-2, 13, 20, 23))), NOT_RECORDING),
    "none of the first day at all": (
        silent(*(given(at, "Senna") for at in (-200, -100, -1, 24 * HOUR + 1, 30 * HOUR, 40 * HOUR))),
        NOT_RECORDING),
    "a row at T speaks for the first day": (
        silent(*(given(at, "Senna") for at in (-200, -100, 0, 24 * HOUR + 1, 30 * HOUR, 40 * HOUR))), NOT_GIVEN),
    # --- whether the ICU record will do
    "the ICU record with an order into a vein": (in_unit(), NOT_GIVEN),
    "a stay that begins after T": (in_unit(icu=(1, 70 * HOUR)), NOT_RECORDING),
    "a stay that ends before 48 hours": (in_unit(icu=(-30 * HOUR, 48 * HOUR - 1)), NOT_RECORDING),
    "a gap of more than four hours": (
        silent(*(charted(HEART_RATE, at * HOUR) for at in (*range(-30, 10, 4), *range(15, 70, 4))), icu=UNIT),
        NOT_RECORDING),
    "an order by mouth in force": (in_unit(ordered(-HOUR, "Ibuprofen", "PO", ends=DAY)), NOT_RECORDING),
    "one that begins later": (in_unit(ordered(40 * HOUR, "Ibuprofen", "PO")), NOT_RECORDING),
    "an order into a muscle in force": (in_unit(ordered(-HOUR, "Ketorolac", "IM", ends=DAY)), NOT_RECORDING),
    "an order by mouth that ended at T": (in_unit(ordered(-DAY, "Ibuprofen", "PO", ends=0)), NOT_GIVEN),
    "an order of eye drops": (in_unit(ordered(-HOUR, "Ketorolac 0.5% Ophth Soln", "BOTH EYES")), NOT_GIVEN),
}

OUTSIDE = {
    "a rise by 0.2": risen(1.2, 1.4),
    "a rise by 0.3 of more than 48 hours": risen(1.2, 1.5, drawn=DRAWN - 48 * HOUR - 1),
    "a rise to less than one and a half": risen(1.9, 2.8, drawn=DRAWN - 3 * DAY),
    "a rise by half of more than seven days": risen(0.8, 1.2, drawn=DRAWN - 7 * DAY - 1),
    "a rise drawn before admission": Chart(
        rows=(LOW, INDEX, KETOROLAC_ORDER, *EMAR), ed=(-200, DRAWN)),
    "an order that ended 48 hours before": exposed(ordered(-4 * DAY, "Ketorolac", ends=-48 * HOUR)),
    "an order that begins after T": exposed(ordered(1, "Ketorolac")),
    "an order of aspirin": exposed(ordered(-DAY, "Aspirin", "PO")),
    "an order of eye drops alone": exposed(ordered(-DAY, "Ketorolac 0.5% Ophth Soln", "LEFT EYE")),
    "an order of inhaled tobramycin": exposed(ordered(-DAY, "Tobramycin Inhalation Soln", "IH")),
    "an order of gentamicin into a muscle": exposed(ordered(-DAY, "Gentamicin", "IM")),
    "a code of maintenance dialysis": chart(
        Row("hosp.diagnoses_icd", {"hadm_id": 1, "seq_num": 3, "icd_code": "N186", "icd_version": 10})),
    "dialysis seven days before": Chart(
        rows=(LOW, INDEX, KETOROLAC_ORDER, *EMAR, procedure(225441, -7 * DAY - 60, -7 * DAY)), icu=(-9 * DAY, DAY),
        ed=(-9 * DAY - 60, -9 * DAY)),
    "departure before 48 hours": chart(leaves=48 * HOUR - 1),
    "death before 48 hours": chart(leaves=48 * HOUR - 1, died=48 * HOUR - 1),
    "a specimen that was cancelled": Chart(
        rows=(LOW, lab(CREATININE, DRAWN, 1.4, stored=0, comment="CANCELLED"), KETOROLAC_ORDER, *EMAR)),
    "a child": chart(age=17),
}

INSIDE = {
    "a rise by 0.3 of 48 hours": risen(1.2, 1.5, drawn=DRAWN - 48 * HOUR),
    "a rise to one and a half of seven days": risen(0.8, 1.2, drawn=DRAWN - 7 * DAY),
    "an order that ended a minute later": exposed(ordered(-4 * DAY, "Ketorolac", ends=-48 * HOUR + 1)),
    "an order without an end": exposed(ordered(-DAY, "Ibuprofen", "PO")),
    "an order of gentamicin into a vein": exposed(ordered(-DAY, "Gentamicin Sulfate", "IV")),
    "dialysis more than seven days before": Chart(
        rows=(LOW, INDEX, KETOROLAC_ORDER, *EMAR, procedure(225441, -7 * DAY - 60, -7 * DAY - 1)), icu=(-9 * DAY, DAY),
        ed=(-9 * DAY - 60, -9 * DAY)),
    "a stay of 48 hours": chart(leaves=48 * HOUR),
}

VERBLESS = {
    "a row that lost its verb": chart(ketorolac(5 * HOUR, " in Other Location")),
    "one beside a dose": chart(ketorolac(5 * HOUR, "Delayed "), ketorolac(9 * HOUR)),
    "one outside the window": chart(ketorolac(48 * HOUR + 1, " in Other Location")),
    "one of eye drops": chart(given(5 * HOUR, "Ketorolac 0.5% Ophth Soln", " in Other Location")),
}
# fmt: on


FURTHER = VERBLESS


class TestRules(Rules):
    """As every scenario's."""


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_the_rise_is_shown_by_two_creatinines_together(self, judged: Judged) -> None:
        name = "nothing given on two recorded days"
        low, index = judged.rows(name, "hosp.labevents")
        needs = judged.evidence[name]
        assert list(needs) == ["creatinine_rise", "no_nephrotoxin"]
        assert needs["creatinine_rise"].alternatives == (tuple(sorted((low, index))),)
        assert [window.source for window in needs["no_nephrotoxin"].search] == ["hosp.emar"]

    def test_in_an_icu_its_record_is_searched_too(self, judged: Judged) -> None:
        needs = judged.evidence["the ICU record with an order into a vein"]
        assert [w.source for w in needs["no_nephrotoxin"].search] == ["hosp.emar", "icu.inputevents"]

    def test_lack_of_data_rests_on_the_order_and_a_search(self, judged: Judged) -> None:
        name = "without rows nothing is shown"
        needs = judged.evidence[name]
        assert list(needs) == ["creatinine_rise", "no_nephrotoxin", "exposing_order"]
        assert needs["exposing_order"].alternatives == ((judged.rows(name, "hosp.prescriptions")[0],),)

    def test_a_drug_without_alternative_rests_on_the_susceptibility(self, judged: Judged) -> None:
        name = "nothing else was active"
        needs = judged.evidence[name]
        assert list(needs) == ["creatinine_rise", "nephrotoxin_dose", "susceptibility"]
        assert len(needs["susceptibility"].alternatives) == 1

    def test_a_rise_that_was_gone_rests_on_the_later_value(self, judged: Judged) -> None:
        name = "a rise by 0.3 that was gone before the dose"
        need = judged.evidence[name]["recovered_creatinine"]
        assert need.alternatives == ((judged.rows(name, "hosp.labevents")[-1],),)
