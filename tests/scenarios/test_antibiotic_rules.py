"""The rules of antibacterials after a high lactate at their boundaries: a minute and a unit either side of each."""

from typing import Any

from tests.scenarios.conftest import ReadAs
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
    culture,
    detail,
    given,
    infused,
    lab,
    order,
    procedure,
)

SCENARIO = "04-sepsis-antibiotic-three-hours"

LACTATE, HEART_RATE = 50813, 220045
ZOSYN_INPUT, VANCOMYCIN_INPUT, TOBRAMYCIN_INPUT = 225893, 225798, 225902
SENT, RECEIVED = 225470, 225469

YES, NO = ("yes", "adequate"), ("no", "untreated")
NOT_RECORDING, OPERATING = ("lack_of_data", "not_recording"), ("lack_of_data", "operating_room")
NARROWER, DISPENSED = ("medical_ambiguity", "narrower_alone"), ("medical_ambiguity", "dispensed_only")

THREE = 3 * HOUR
DRAWN = -40
INDEX = lab(LACTATE, DRAWN, 5.1, stored=0, specimen=11)
CULTURE = culture(-30, specimen=1)
SEPTIC = (INDEX, CULTURE)
EMAR = tuple(given(hour * HOUR, "Heparin") for hour in (-8, -1, 5))
"""Three rows of another drug: the eMAR was recording."""


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=(*SEPTIC, *EMAR, *rows), **stay)  # type: ignore[arg-type]


def silent(*rows: Row, **stay: object) -> Chart:
    """A chart without the three eMAR rows."""
    return Chart(rows=(*SEPTIC, *rows), **stay)  # type: ignore[arg-type]


def dose(
    name: str, at: float = 60, *, event: str | None = "Administered", route: str | None = None
) -> tuple[Row, ...]:
    return (given(at, name, event), detail(route))


def cefepime(at: float, event: str | None = "Administered") -> Row:
    return given(at, "CefePIME", event)


def doses(*named: str) -> Chart:
    return chart(*(row for name in named for row in dose(name)))


def heart_rates(*minutes: float) -> tuple[Row, ...]:
    return tuple(charted(HEART_RATE, at) for at in minutes)


UNIT = (-30 * HOUR, 60 * HOUR)
HOURLY = heart_rates(*range(-8 * HOUR, 12 * HOUR, HOUR))


def in_unit(*rows: Row, **stay: Any) -> Chart:
    return silent(*HOURLY, *rows, icu=stay.pop("icu", UNIT), **stay)


VISIT = 77


def visit(came: float, went: float, *cabinet: Row) -> tuple[Row, ...]:
    """An emergency visit as its own module has it, and what was taken from its cabinet."""
    stay = Row("ed.edstays", {"stay_id": VISIT, "intime": after(came), "outtime": after(went)})
    return (stay, *cabinet)


def taken(at: float, name: str = "Ondansetron") -> Row:
    return Row("ed.pyxis", {"stay_id": VISIT, "charttime": after(at), "med_rn": 1, "name": name})


# fmt: off
CASES = {
    "nothing given while the eMAR was recording": (chart(), NO),
    # --- the window
    "a dose a day before the result is in the period": (chart(cefepime(-DAY)), YES),
    "a minute earlier is not": (chart(cefepime(-DAY - 1)), NO),
    "a dose at three hours is in the period": (chart(cefepime(THREE)), YES),
    "a minute later is not": (chart(cefepime(THREE + 1)), NO),
    "a dose stored after as-of does not exist": (
        chart(Row("hosp.emar", {**cefepime(60).values, "storetime": after(12 * HOUR + 1)})), NO),
    "one stored at as-of does": (
        chart(Row("hosp.emar", {**cefepime(60).values, "storetime": after(12 * HOUR)})), YES),
    # --- given
    "not given is not a dose": (chart(cefepime(60, "Not Given")), NO),
    "no event is not a dose": (chart(cefepime(60, None)), NO),
    "an infusion that was started is a dose": (chart(cefepime(60, "Started")), YES),
    "an order is not a dose": (chart(order(0, "CefePIME")), NO),
    # --- broad agents
    "piperacillin-tazobactam is broad": (doses("Piperacillin-Tazobactam"), YES),
    "a carbapenem is broad": (doses("Ertapenem Sodium"), YES),
    "ceftazidime is broad": (doses("CefTAZidime"), YES),
    "tigecycline is broad": (doses("Tigecycline"), YES),
    "ampicillin-sulbactam is broad": (doses("Ampicillin-Sulbactam"), YES),
    "levofloxacin by vein is broad": (chart(*dose("Levofloxacin", route="IV")), YES),
    "levofloxacin by mouth is none": (chart(*dose("Levofloxacin", route="PO")), NO),
    "an intramuscular dose is none": (chart(*dose("CefTRIAXone", route="IM")), NO),
    "the order's route decides where the eMAR has none": (
        chart(given(60, "Levofloxacin", pharmacy_id=77), order(0, "Levofloxacin", "PO", pharmacy_id=77)), NO),
    "piperacillin without an inhibitor is not broad": (doses("Piperacillin"), NARROWER),
    "ampicillin is not broad": (doses("Ampicillin"), NARROWER),
    # --- pairs
    "an aminoglycoside with vancomycin is a pair": (doses("Gentamicin", "Vancomycin"), YES),
    "aztreonam with vancomycin is a pair": (doses("Aztreonam", "Vancomycin"), YES),
    "ciprofloxacin with clindamycin is a pair": (doses("Ciprofloxacin", "Clindamycin"), YES),
    "a pair may lie a day apart": (chart(*dose("Tobramycin", -DAY), *dose("CeFAZolin", THREE)), YES),
    "a pair of which one comes too late is none": (
        chart(*dose("Tobramycin", 60), *dose("CeFAZolin", THREE + 1)), NARROWER),
    "a pair of which one was not given is none": (
        chart(*dose("Tobramycin"), *dose("Vancomycin", event="Not Given")), NARROWER),
    "two companions are no pair": (doses("Vancomycin", "Azithromycin"), NARROWER),
    "two against Gram-negatives are no pair": (doses("Gentamicin", "Aztreonam"), NARROWER),
    "metronidazole completes no pair": (doses("Gentamicin", "MetroNIDAZOLE"), NARROWER),
    # --- narrower agents alone
    "vancomycin alone is a narrower agent": (doses("Vancomycin"), NARROWER),
    "at the day before it counts as well": (chart(*dose("Vancomycin", -DAY)), NARROWER),
    "a minute earlier it does not": (chart(*dose("Vancomycin", -DAY - 1)), NO),
    "at three hours it counts": (chart(*dose("Vancomycin", THREE)), NARROWER),
    "a minute later it does not count": (chart(*dose("Vancomycin", THREE + 1)), NO),
    "vancomycin by mouth is none": (doses("Vancomycin Oral Liquid"), NO),
    "a lock is none": (doses("Vancomycin Antibiotic Lock"), NO),
    "eye drops are none": (chart(*dose("Ciprofloxacin 0.3% Ophth Soln", route="LEFT EYE")), NO),
    "a nebulised aminoglycoside is none": (chart(*dose("Tobramycin Inhalation Soln", route="IH")), NO),
    "erythromycin is none": (chart(*dose("Erythromycin", route="IV")), NO),
    "penicillin is a narrower agent": (doses("Penicillin G Potassium"), NARROWER),
    "an antifungal is none": (doses("Micafungin"), NO),
    "a broad agent beside a narrower one decides": (doses("Vancomycin", "Meropenem"), YES),
    "a narrower agent needs no recording source": (silent(*dose("Vancomycin")), NARROWER),
    # --- the ICU's own record
    "a broad infusion counts": (in_unit(infused(ZOSYN_INPUT, 60, 1)), YES),
    "one of no amount does not": (in_unit(infused(ZOSYN_INPUT, 60, 0)), NO),
    "a rewritten one does not": (in_unit(infused(ZOSYN_INPUT, 60, 1, statusdescription="Rewritten")), NO),
    "one noted after as-of does not exist": (
        in_unit(infused(ZOSYN_INPUT, 60, 1, storetime=after(12 * HOUR + 1))), NO),
    "infusions of a pair count": (
        in_unit(infused(TOBRAMYCIN_INPUT, 60, 1), infused(VANCOMYCIN_INPUT, 90, 1)), YES),
    "an infusion and an eMAR row make a pair": (
        in_unit(infused(TOBRAMYCIN_INPUT, 60, 1), *dose("Vancomycin")), YES),
    "vancomycin of the unit alone is narrower": (in_unit(infused(VANCOMYCIN_INPUT, 60, 1)), NARROWER),
    # --- the cabinet of the emergency department
    "a broad agent that was dispensed is in doubt": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(60, "CefTRIAXone")), ed=(-2 * HOUR, 4 * HOUR)), DISPENSED),
    "at three hours it is in doubt": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(THREE, "CefTRIAXone")), ed=(-2 * HOUR, 4 * HOUR)), DISPENSED),
    "a minute later it was too late": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(THREE + 1, "CefTRIAXone")), ed=(-2 * HOUR, 4 * HOUR)), NO),
    "a narrower agent that was dispensed is in doubt": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(60, "Vancomycin")), ed=(-2 * HOUR, 4 * HOUR)), DISPENSED),
    "an oral form that was dispensed is none": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(60, "Azithromycin 250 mg Tab")), ed=(-2 * HOUR, 4 * HOUR)), NO),
    "a recorded dose comes before the dispense": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(50, "CefTRIAXone")), *dose("CefTRIAXone"), ed=(-2 * HOUR, 4 * HOUR)),
        YES),
    "a dispense on a ward that recorded nothing is no proof of what followed": (
        silent(*visit(-4 * HOUR, -HOUR, taken(-90, "CefTRIAXone")), ed=(-4 * HOUR, -HOUR)), NOT_RECORDING),
    # --- whether an emergency visit was recorded
    "a cabinet that was in use records the visit": (
        silent(*visit(-2 * HOUR, 4 * HOUR, taken(-HOUR)), ed=(-2 * HOUR, 4 * HOUR)), NO),
    "one without a row does not": (silent(*visit(-2 * HOUR, 4 * HOUR), ed=(-2 * HOUR, 4 * HOUR)), NOT_RECORDING),
    "an eMAR that begins after the visit does not record it": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-2 * HOUR, 120)), NOT_RECORDING),
    "one row of the visit is enough": (
        silent(*(given(at, "Heparin") for at in (120, 130, 140)), ed=(-2 * HOUR, 120)), NO),
    "a visit that ended three hours before asks for none": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-5 * HOUR, -THREE - 1)), NO),
    "one that ended a minute later does": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-5 * HOUR, -THREE)), NOT_RECORDING),
    "the cabinet does not record the ward": (
        silent(*visit(-2 * HOUR, 120, taken(-HOUR)), ed=(-2 * HOUR, 120)), NOT_RECORDING),
    "with the ward's eMAR both are recorded": (
        silent(*visit(-2 * HOUR, 120, taken(-HOUR)), *(given(at, "Heparin") for at in (121, 130, 140)),
               ed=(-2 * HOUR, 120)), NO),
    "with the unit's record both are recorded": (
        in_unit(*visit(-2 * HOUR, 120, taken(-HOUR)), ed=(-2 * HOUR, 120), icu=(120, 60 * HOUR)), NO),
    "a visit that lasts needs no ward": (
        silent(*visit(-2 * HOUR, THREE, taken(-HOUR)), ed=(-2 * HOUR, THREE)), NO),
    "one that ends a minute earlier does": (
        silent(*visit(-2 * HOUR, THREE - 1, taken(-HOUR)), ed=(-2 * HOUR, THREE - 1)), NOT_RECORDING),
    # --- whether the eMAR was recording
    "two eMAR rows are too few": (silent(*EMAR[:2]), NOT_RECORDING),
    "fifteen hours before counts": (silent(*EMAR[:2], given(-15 * HOUR, "Heparin")), NO),
    "a minute more does not": (silent(*EMAR[:2], given(-15 * HOUR - 1, "Heparin")), NOT_RECORDING),
    "an eMAR row at as-of counts": (silent(*EMAR[:2], given(12 * HOUR, "Heparin")), NO),
    "one after as-of does not exist": (silent(*EMAR[:2], given(12 * HOUR + 1, "Heparin")), NOT_RECORDING),
    # --- whether the ICU was recording
    "an ICU stay with hourly heart rates is recording": (in_unit(), NO),
    "one that begins three hours before is": (in_unit(icu=(-THREE, 60 * HOUR)), NO),
    "one that begins a minute later is not": (in_unit(icu=(-THREE + 1, 60 * HOUR)), NOT_RECORDING),
    "one that ends at three hours is": (in_unit(icu=(-30 * HOUR, THREE)), NO),
    "one that ends a minute earlier is not": (in_unit(icu=(-30 * HOUR, THREE - 1)), NOT_RECORDING),
    "a gap of four hours is allowed": (silent(*heart_rates(-THREE, HOUR, 4 * HOUR), icu=UNIT), NO),
    "a gap of a minute more is not": (silent(*heart_rates(-THREE, HOUR + 1, 4 * HOUR), icu=UNIT), NOT_RECORDING),
    # --- the operating room
    "in the operating room nothing is recorded": (
        chart(procedure(SENT, -20, -19), procedure(RECEIVED, 50, 51), icu=UNIT), OPERATING),
    "back three hours before counts as there": (
        chart(procedure(SENT, -5 * HOUR, -5 * HOUR), procedure(RECEIVED, -THREE, -THREE), icu=UNIT), OPERATING),
    "back a minute before does not": (
        chart(procedure(SENT, -5 * HOUR, -5 * HOUR), procedure(RECEIVED, -THREE - 1, -THREE), icu=UNIT), NO),
    "sent at three hours counts": (
        chart(procedure(SENT, THREE, THREE), procedure(RECEIVED, 5 * HOUR, 5 * HOUR), icu=UNIT), OPERATING),
    "sent a minute later does not": (
        chart(procedure(SENT, THREE + 1, THREE + 2), procedure(RECEIVED, 5 * HOUR, 5 * HOUR), icu=UNIT), NO),
    "a dose before the operating room still counts": (
        chart(cefepime(-25), procedure(SENT, -20, -19), procedure(RECEIVED, 50, 51), icu=UNIT), YES),
}


def index(value: float, *rows: Row, **stay: Any) -> Chart:
    return Chart(rows=(lab(LACTATE, DRAWN, value, stored=0), CULTURE, *EMAR, *rows), **stay)


OUTSIDE = {
    "a lactate of 3.9": index(3.9),
    "two rows that average 3.9": index(4.0, lab(LACTATE, DRAWN, 3.8, stored=0)),
    "a lactate above any plausible one": index(41),
    "a lost specimen": Chart(rows=(lab(LACTATE, DRAWN, 5.1, stored=0, comment="SPECIMEN LOST."), CULTURE, *EMAR)),
    "no culture within six hours of the draw": Chart(
        rows=(INDEX, culture(DRAWN + 6 * HOUR + 1, specimen=1), *EMAR)),
    "a culture six hours and a minute before": Chart(
        rows=(INDEX, culture(DRAWN - 6 * HOUR - 1, specimen=1), *EMAR)),
    "a culture of another specimen": Chart(rows=(INDEX, culture(-30, specimen=1, kind="URINE"), *EMAR)),
    "a cancelled culture": Chart(
        rows=(INDEX, Row(CULTURE.table, {**CULTURE.values, "org_itemid": 90760, "org_name": "CANCELLED"}), *EMAR)),
    "a culture without a time": Chart(
        rows=(INDEX, Row(CULTURE.table, {**CULTURE.values, "charttime": None}), *EMAR)),
    "a death within three hours": chart(leaves=THREE - 1, died=THREE - 1),
    "a departure within three hours": chart(leaves=THREE - 1),
    "epilepsy as the first diagnosis": chart(coded("G40901", hadm_id=None)),
    "an injury as the first diagnosis": chart(coded("S0990XA", hadm_id=None)),
    "an injury in the older code": chart(coded("85221", 9, hadm_id=None)),
    "a child": chart(age=17),
}

INSIDE = {
    "a lactate of 4.0": index(4.0),
    "two rows that average 4.0": index(4.1, lab(LACTATE, DRAWN, 3.9, stored=0)),
    "a culture six hours after the draw": Chart(rows=(INDEX, culture(DRAWN + 6 * HOUR, specimen=1), *EMAR)),
    "a culture six hours before": Chart(rows=(INDEX, culture(DRAWN - 6 * HOUR, specimen=1), *EMAR)),
    "a departure at three hours": chart(leaves=THREE),
    "a poisoning as the first diagnosis": chart(coded("T383X1A", hadm_id=None)),
    "sepsis in the older code": chart(coded("0389", 9, hadm_id=None)),
    "an injury as the second diagnosis": chart(coded("A419", hadm_id=None), coded("S0990XA", hadm_id=None)),
    "an injury of another admission": chart(coded("S0990XA"), earlier=(-30 * DAY, -20 * DAY)),
}

VERBLESS = {
    "a row that lost its verb": chart(cefepime(10, " in Other Location")),
    "one beside an adequate dose": chart(cefepime(10, "Delayed "), cefepime(20)),
    "one outside the window": chart(cefepime(THREE + 1, " in Other Location")),
}
# fmt: on


LOCAL = {
    "alone": chart(*dose("Levofloxacin", route="IV")),
    "beside a broad agent": chart(*dose("Levofloxacin", route="IV"), *dose("Meropenem")),
    "unasyn of the unit": in_unit(infused(225843, 60, 1)),
}

FURTHER = VERBLESS | LOCAL


class TestRules(Rules):
    """As every scenario's."""


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_a_broad_dose_proves_it_alone(self, judged: Judged) -> None:
        needs = judged.evidence["a broad agent beside a narrower one decides"]
        assert list(needs) == ["index_lactate", "antibacterial"]
        assert [len(alternative) for alternative in needs["antibacterial"].alternatives] == [1]

    def test_a_pair_is_cited_whole(self, judged: Judged) -> None:
        name = "an aminoglycoside with vancomycin is a pair"
        (pair,) = judged.evidence[name]["antibacterial"].alternatives
        assert set(pair) == {*judged.rows(name, "hosp.emar")[2:4]}

    def test_untreated_on_a_ward_rests_on_the_emar_alone(self, judged: Judged) -> None:
        needs = judged.evidence["nothing given while the eMAR was recording"]
        assert [window.source for window in needs["no_antibacterial"].search] == ["hosp.emar"]

    def test_untreated_after_an_emergency_visit_asks_for_its_cabinet_too(self, judged: Judged) -> None:
        needs = judged.evidence["with the unit's record both are recorded"]
        sources = [window.source for window in needs["no_antibacterial"].search]
        assert sources == ["hosp.emar", "icu.inputevents", "ed.pyxis"]

    def test_a_later_first_dose_stands_in_for_the_searches(self, judged: Judged) -> None:
        name = "a minute later is not"
        later = judged.rows(name, "hosp.emar")[2]
        assert judged.evidence[name]["no_antibacterial"].alternatives == ((later,),)

    def test_a_row_not_given_is_relevant_and_does_not_refute(self, judged: Judged) -> None:
        name = "not given is not a dose"
        need = judged.evidence[name]["no_antibacterial"]
        assert judged.rows(name, "hosp.emar")[2] in need.relevant
        assert not need.qualifying

    def test_a_narrower_dose_rests_on_itself_and_on_a_search_for_more(self, judged: Judged) -> None:
        name = "vancomycin alone is a narrower agent"
        needs = judged.evidence[name]
        assert list(needs) == ["index_lactate", "no_antibacterial", "narrower_dose"]
        assert needs["narrower_dose"].alternatives == ((judged.rows(name, "hosp.emar")[2],),)
        assert not needs["no_antibacterial"].alternatives

    def test_a_dispense_is_cited_itself(self, judged: Judged) -> None:
        name = "a broad agent that was dispensed is in doubt"
        (row,) = judged.rows(name, "ed.pyxis")
        assert judged.evidence[name]["dispense"].alternatives == ((row,),)

    def test_the_operating_room_is_cited_by_its_rows(self, judged: Judged) -> None:
        name = "in the operating room nothing is recorded"
        sent, received = judged.rows(name, "icu.procedureevents")
        assert set(judged.evidence[name]["operating_room"].alternatives) == {(sent,), (received,)}


def test_under_local_resistance_a_quinolone_alone_is_a_narrower_agent(read_as: ReadAs) -> None:
    assert list(read_as("weaker_agents_not_alone", LOCAL).values()) == [NARROWER, YES, NARROWER]
