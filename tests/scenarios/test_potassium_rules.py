"""The rules of severe hyperkalaemia at their boundaries: a minute and a unit either side of each."""

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    HOUR,
    Chart,
    Judged,
    Row,
    charted,
    detail,
    given,
    infused,
    lab,
    order,
    procedure,
)

SCENARIO = "16-severe-hyperkalaemia-treatment"

POTASSIUM, WHOLE_BLOOD, HEART_RATE = 50971, 50822, 220045
CALCIUM, INSULIN, BICARBONATE, CIRCUIT_CALCIUM = 221456, 223258, 220995, 227525
HAEMODIALYSIS, CRRT, PERITONEAL = 225441, 225802, 225805
SENT, RECEIVED = 225470, 225469

YES, NO = ("yes", "treated"), ("no", "untreated")
NOT_RECORDING, OPERATING = ("lack_of_data", "not_recording"), ("lack_of_data", "operating_room")
DISPUTED, LATE_DIALYSIS = ("medical_ambiguity", "disputed"), ("medical_ambiguity", "late_dialysis")

DRAWN = -50
INDEX = lab(POTASSIUM, DRAWN, 6.9, stored=0, specimen=11)
EMAR = tuple(given(hour * HOUR, "Heparin") for hour in (-5, -1, 2))
"""Three rows of another drug: the eMAR was recording."""


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=(INDEX, *EMAR, *rows), **stay)  # type: ignore[arg-type]


def silent(*rows: Row, **stay: object) -> Chart:
    """A chart without the three eMAR rows."""
    return Chart(rows=(INDEX, *rows), **stay)  # type: ignore[arg-type]


def calcium(at: float, event: str | None = "Administered") -> Row:
    return given(at, "Calcium Gluconate", event)


def heart_rates(*minutes: float) -> tuple[Row, ...]:
    return tuple(charted(HEART_RATE, at) for at in minutes)


UNIT = (-5 * HOUR, 60 * HOUR)
HOURLY = heart_rates(*range(-5 * HOUR, 5 * HOUR, HOUR))


def in_unit(*rows: Row) -> Chart:
    return silent(*HOURLY, *rows, icu=UNIT)


def routed(name: str, route: str | None, kind: str | None = None, *, at: float = 10) -> Chart:
    return chart(given(at, name), detail(route, kind))


# fmt: off
CASES = {
    "nothing given while the eMAR was recording": (chart(), NO),
    # --- the window
    "treatment half an hour before the result is in time": (chart(calcium(-30)), YES),
    "a minute earlier is not": (chart(calcium(-31)), NO),
    "treatment at sixty minutes is in time": (chart(calcium(60)), YES),
    "a minute later is not": (chart(calcium(61)), NO),
    "a dose stored after as-of does not exist": (
        chart(Row("hosp.emar", {**calcium(10).values, "storetime": calcium(4 * HOUR + 1).values["charttime"]})),
        NO),
    # --- given
    "not given is not a dose": (chart(calcium(10, "Not Given")), NO),
    "held is not a dose": (chart(calcium(10, "Hold Dose")), NO),
    "no event is not a dose": (chart(calcium(10, None)), NO),
    "a late dose is a dose": (chart(calcium(10, "Delayed Administered")), YES),
    "an infusion that was started is a dose": (chart(calcium(10, "Started")), YES),
    "blanks around the event do not matter": (chart(calcium(10, "Administered ")), YES),
    "an order is not a dose": (chart(order(0, "Calcium Gluconate")), NO),
    # --- drugs and routes
    "calcium chloride counts": (chart(given(10, "Calcium Chloride")), YES),
    "calcium by mouth does not": (routed("Calcium Gluconate", "PO"), NO),
    "calcium of the dialysis circuit does not": (chart(given(10, "Calcium Gluconate (CRRT)")), NO),
    "calcium carbonate is another drug": (chart(given(10, "Calcium Carbonate")), NO),
    "a push of regular insulin counts": (routed("Insulin (Regular) for Hyperkalemia", "IV"), YES),
    "a push without a route counts": (chart(given(10, "Insulin (Regular) for Hyperkalemia")), YES),
    "regular insulin under the skin does not": (routed("Insulin Regular", "SC"), NO),
    "a sliding scale does not": (routed("Insulin Regular", None, "Insulin SC Sliding Scale"), NO),
    "an insulin infusion does not": (routed("Insulin Regular", None, "Insulin Infusion (IV Drip)"), NO),
    "a bolus from that infusion does": (
        chart(given(10, "Insulin Regular", "Administered Bolus from IV Drip"),
              detail(None, "Bolus Dose from IV Drip")), YES),
    "insulin of unnamed kind does not": (routed("Insulin", "IV"), NO),
    "the order's route decides where the eMAR has none": (
        chart(given(10, "Insulin Regular", pharmacy_id=77), order(0, "Insulin Regular", "SC", pharmacy_id=77)), NO),
    "the same order by vein": (
        chart(given(10, "Insulin Regular", pharmacy_id=77), order(0, "Insulin Regular", "IV", pharmacy_id=77)), YES),
    "the eMAR's route comes before the order's": (
        chart(given(10, "Sodium Bicarbonate", pharmacy_id=77), detail("PO"),
              order(0, "Sodium Bicarbonate", "IV", pharmacy_id=77)), NO),
    "bicarbonate by vein counts": (routed("Sodium Bicarbonate", "IV"), YES),
    "bicarbonate tablets do not": (chart(given(10, "Sodium Bicarbonate 650 mg Tab")), NO),
    "nebulised albuterol counts": (routed("Albuterol 0.083% Neb Soln", "IH"), YES),
    "an albuterol inhaler does not": (routed("Albuterol Inhaler", "IH"), NO),
    "a binder does not": (routed("Sodium Polystyrene Sulfonate", "PO"), NO),
    "glucose alone does not": (routed("Dextrose 50%", "IV"), NO),
    # --- the ICU's own record
    "a calcium infusion counts": (in_unit(infused(CALCIUM, 10, 2)), YES),
    "one of no amount does not": (in_unit(infused(CALCIUM, 10, 0)), NO),
    "a rewritten one does not": (in_unit(infused(CALCIUM, 10, 2, statusdescription="Rewritten")), NO),
    "one still running counts by its rate": (
        in_unit(infused(BICARBONATE, 10, 100, rate=5, endtime=procedure(0, 0, 9 * HOUR).values["endtime"])), YES),
    "calcium into the circuit does not": (in_unit(infused(CIRCUIT_CALCIUM, 10, 2)), NO),
    "an insulin push counts": (in_unit(infused(INSULIN, 10, 10, ordercategoryname="05-Med Bolus")), YES),
    "a push filed as not by vein does not": (
        in_unit(infused(INSULIN, 10, 10, ordercategoryname="06-Insulin (Non IV)")), NO),
    "an insulin drip does not": (
        in_unit(infused(INSULIN, 10, 10, ordercategorydescription="Continuous Med")), NO),
    # --- dialysis
    "dialysis begun at sixty minutes counts": (in_unit(procedure(HAEMODIALYSIS, 60, 4 * HOUR)), YES),
    "dialysis running at the result counts": (in_unit(procedure(CRRT, -40 * HOUR, 1)), YES),
    "dialysis that ended at the result does not": (in_unit(procedure(CRRT, -40 * HOUR, 0)), NO),
    "dialysis that outlasts as-of is running": (in_unit(procedure(CRRT, -40 * HOUR, 90 * HOUR)), YES),
    "peritoneal dialysis is not in the list": (in_unit(procedure(PERITONEAL, 10, 4 * HOUR)), NO),
    "dialysis a minute after the hour is late": (in_unit(procedure(HAEMODIALYSIS, 61, 4 * HOUR)), LATE_DIALYSIS),
    "dialysis at three hours is late": (in_unit(procedure(HAEMODIALYSIS, 180, 5 * HOUR)), LATE_DIALYSIS),
    "dialysis after three hours is none": (in_unit(procedure(HAEMODIALYSIS, 181, 5 * HOUR)), NO),
    # --- a disputed value
    "another specimen below 6.0 disputes the value": (
        chart(lab(POTASSIUM, 20, 5.9, stored=60)), DISPUTED),
    "6.0 does not": (chart(lab(POTASSIUM, 20, 6.0, stored=60)), NO),
    "one known a minute later does not": (chart(lab(POTASSIUM, 20, 4.6, stored=61)), NO),
    "one drawn fifteen minutes before the index does": (
        chart(lab(WHOLE_BLOOD, DRAWN - 15, 4.6, stored=-40)), DISPUTED),
    "one drawn a minute earlier does not": (chart(lab(WHOLE_BLOOD, DRAWN - 16, 4.6, stored=-40)), NO),
    "the same specimen does not": (chart(lab(WHOLE_BLOOD, DRAWN, 4.6, specimen=11)), NO),
    "one drawn after treatment does not": (
        chart(calcium(-40), lab(POTASSIUM, -35, 4.6, stored=30)), NO),
    "one drawn before that treatment does": (
        chart(calcium(-40), lab(POTASSIUM, -45, 4.6, stored=30)), DISPUTED),
    "treatment in time comes before a dispute": (
        chart(calcium(30), lab(POTASSIUM, 20, 4.6, stored=40)), YES),
    "a dispute without a recording source is lack of data": (
        silent(lab(POTASSIUM, 20, 4.6, stored=40)), NOT_RECORDING),
    # --- whether the eMAR was recording
    "two eMAR rows are too few": (silent(*EMAR[:2]), NOT_RECORDING),
    "twelve hours before counts": (silent(*EMAR[:2], given(-12 * HOUR, "Heparin")), NO),
    "a minute more does not": (silent(*EMAR[:2], given(-12 * HOUR - 1, "Heparin")), NOT_RECORDING),
    "an eMAR row after as-of does not exist": (
        silent(*EMAR[:2], given(4 * HOUR + 1, "Heparin")), NOT_RECORDING),
    "one at as-of does": (silent(*EMAR[:2], given(4 * HOUR, "Heparin")), NO),
    "in an emergency visit the eMAR must have a row of the visit": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-90, 120)), NOT_RECORDING),
    "one row of the visit is enough": (
        silent(*(given(at, "Heparin") for at in (120, 130, 140)), ed=(-90, 120)), NO),
    "a visit that ended before the result asks for none": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-90, -5)), NO),
    "the room the patient was moved to decides, not a registration that ended later": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), ed=(-90, 120), registered=(-90, 200)),
        NOT_RECORDING),
    "after the move the eMAR need have no row of the visit": (
        silent(*(given(at, "Heparin") for at in (201, 210, 220)), ed=(-90, -5), registered=(-90, 200)), NO),
    "without a known room the registration is the visit": (
        silent(*(given(at, "Heparin") for at in (121, 130, 140)), registered=(-90, 120)), NOT_RECORDING),
    # --- whether the ICU was recording
    "an ICU stay with hourly heart rates is recording": (in_unit(), NO),
    "one that begins after the result is not": (silent(*heart_rates(1, 60, 120), icu=(1, 60 * HOUR)), NOT_RECORDING),
    "one that begins at the result is": (silent(*heart_rates(1, 60, 120), icu=(0, 60 * HOUR)), NO),
    "one that ends within the hour is not": (silent(*HOURLY, icu=(-5 * HOUR, 59)), NOT_RECORDING),
    "a gap of two hours is allowed": (silent(*heart_rates(-60, 60), icu=UNIT), NO),
    "a gap of a minute more is not": (silent(*heart_rates(-60, 61), icu=UNIT), NOT_RECORDING),
    "the gap reaches back to the last row before": (silent(*heart_rates(-120, 1, 60), icu=UNIT), NOT_RECORDING),
    "without a later row it reaches to as-of": (silent(*heart_rates(-60, 0, 55), icu=UNIT), NOT_RECORDING),
    # --- the operating room
    "in the operating room nothing is recorded": (
        chart(procedure(SENT, -20, -19), procedure(RECEIVED, 50, 51), icu=UNIT), OPERATING),
    "back at the result counts as there": (
        chart(procedure(SENT, -90, -89), procedure(RECEIVED, 0, 1), icu=UNIT), OPERATING),
    "back a minute before does not": (
        chart(procedure(SENT, -90, -89), procedure(RECEIVED, -1, 0), icu=UNIT), NO),
    "sent at sixty minutes counts": (
        chart(procedure(SENT, 60, 61), procedure(RECEIVED, 150, 151), icu=UNIT), OPERATING),
    "sent a minute later does not": (
        chart(procedure(SENT, 61, 62), procedure(RECEIVED, 150, 151), icu=UNIT), NO),
    "without a departure the last heart rate opens the absence": (
        chart(*heart_rates(-200, -1), procedure(RECEIVED, 65, 66), icu=UNIT), OPERATING),
    "a heart rate after the hour closes it": (
        chart(*heart_rates(-200, 61), procedure(RECEIVED, 65, 66), icu=UNIT), NO),
    "without any the stay's begin opens it": (
        chart(procedure(RECEIVED, 65, 66), icu=(-30, 60 * HOUR)), OPERATING),
    "not yet back: until the next heart rate": (
        chart(procedure(SENT, -60, -59), *heart_rates(-1), icu=UNIT), NO),
    "not yet back and no heart rate: still there": (chart(procedure(SENT, -60, -59), icu=UNIT), OPERATING),
    "treatment before the operating room still counts": (
        chart(calcium(-25), procedure(SENT, -20, -19), procedure(RECEIVED, 50, 51), icu=UNIT), YES),
}

OUTSIDE = {
    "a potassium of 6.4": Chart(rows=(lab(POTASSIUM, DRAWN, 6.4, stored=0), *EMAR)),
    "two rows that average 6.4": Chart(
        rows=(lab(POTASSIUM, DRAWN, 6.5, stored=0), lab(POTASSIUM, DRAWN, 6.3, stored=0), *EMAR)),
    "urine potassium": Chart(rows=(lab(51097, DRAWN, 60, stored=0), *EMAR)),
    "a specimen that was not enough": Chart(rows=(lab(POTASSIUM, DRAWN, 6.9, stored=0, comment="QNS."), *EMAR)),
    "a death within the hour": chart(leaves=59, died=59),
    "a result after departure": chart(leaves=-10),
    "comfort care": chart(
        Row("icu.chartevents", {**charted(223758, 59).values, "value": "Comfort measures only"}), icu=UNIT),
    "a child": Chart(rows=(INDEX, *EMAR), age=17),
}

INSIDE = {
    "a potassium of 6.5": Chart(rows=(lab(POTASSIUM, DRAWN, 6.5, stored=0), *EMAR)),
    "two rows that average 6.5": Chart(
        rows=(lab(POTASSIUM, DRAWN, 6.6, stored=0), lab(POTASSIUM, DRAWN, 6.4, stored=0), *EMAR)),
    "whole blood": Chart(rows=(lab(WHOLE_BLOOD, DRAWN, 6.5, stored=0), *EMAR)),
    "too little to verify haemolysis": Chart(
        rows=(lab(POTASSIUM, DRAWN, 6.9, stored=0, comment="QNS TO VERIFY HEMOLYSIS."), *EMAR)),
    "a death at the end of the hour": chart(leaves=60, died=60),
}
# fmt: on


VERBLESS = {
    "a row that lost its verb": chart(calcium(10, " in Other Location")),
    "one beside a dose": chart(calcium(10, "Delayed "), calcium(20)),
    "one outside the window": chart(calcium(61, " in Other Location")),
}

AMBIGUOUS = {
    "disputed, with nothing after": Chart(rows=(INDEX, *EMAR, lab(WHOLE_BLOOD, 20, 4.6, stored=30))),
    "dialysed late, with nothing before": Chart(
        rows=(INDEX, *EMAR, procedure(HAEMODIALYSIS, 90, 4 * HOUR)), icu=UNIT
    ),
}

FURTHER = VERBLESS | AMBIGUOUS


class TestRules(Rules):
    """As every scenario's."""


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_any_one_treatment_is_enough(self, judged: Judged) -> None:
        needs = judged.evidence["treatment in time comes before a dispute"]
        assert list(needs) == ["index_potassium", "treatment"]
        assert len(needs["treatment"].alternatives) == 1

    def test_untreated_on_a_ward_rests_on_the_emar_alone(self, judged: Judged) -> None:
        needs = judged.evidence["nothing given while the eMAR was recording"]
        assert [window.source for window in needs["no_treatment"].search] == ["hosp.emar"]

    def test_untreated_in_an_icu_asks_for_infusions_and_procedures_too(self, judged: Judged) -> None:
        needs = judged.evidence["an ICU stay with hourly heart rates is recording"]
        sources = [window.source for window in needs["no_treatment"].search]
        assert sources == ["hosp.emar", "icu.inputevents", "icu.procedureevents"]

    def test_a_later_first_treatment_stands_in_for_the_searches(self, judged: Judged) -> None:
        needs = judged.evidence["a minute later is not"]
        assert needs["no_treatment"].alternatives == (
            (judged.rows("a minute later is not", "hosp.emar")[2],),
        )

    def test_a_row_not_given_is_relevant_and_does_not_refute(self, judged: Judged) -> None:
        name = "not given is not a dose"
        need = judged.evidence[name]["no_treatment"]
        assert judged.rows(name, "hosp.emar")[2] in need.relevant
        assert not need.qualifying

    def test_a_dispute_rests_on_both_values(self, judged: Judged) -> None:
        name = "another specimen below 6.0 disputes the value"
        index, other = judged.rows(name, "hosp.labevents")
        needs = judged.evidence[name]
        assert needs["index_potassium"].alternatives == ((index,),)
        assert needs["disputing_potassium"].alternatives == ((other,),)

    def test_the_operating_room_is_cited_by_its_rows(self, judged: Judged) -> None:
        name = "in the operating room nothing is recorded"
        sent, received = judged.rows(name, "icu.procedureevents")
        assert set(judged.evidence[name]["operating_room"].alternatives) == {(sent,), (received,)}

    def test_a_dispute_rests_on_the_search_that_found_no_treatment(self, judged: Judged) -> None:
        need = judged.evidence["disputed, with nothing after"]["no_treatment"]
        assert [window.source for window in need.search] == ["hosp.emar"]

    def test_the_late_dialysis_itself_shows_that_nothing_came_before_it(self, judged: Judged) -> None:
        name = "dialysed late, with nothing before"
        (dialysis,) = judged.rows(name, "icu.procedureevents")
        assert judged.evidence[name]["no_treatment"].alternatives == ((dialysis,),)
