"""The rules of a platelet fall on heparin at their boundaries: a minute and a unit either side of each."""

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
    given,
    infused,
    lab,
    order,
    procedure,
)

SCENARIO = "10-platelet-fall-heparin-response"

PLATELETS, SMEAR, COPY, HEART_RATE = 51265, 51266, 227457, 220045
DRIP, PROPHYLAXIS, CIRCUIT, ARGATROBAN, TRANSFUSION = 225152, 225975, 230044, 225147, 225170
BALLOON_PUMP, IMPELLA, CRRT, HAEMODIALYSIS = 224272, 228169, 225802, 225441

STOPPED, CONTINUED = ("yes", "stopped"), ("no", "continued")
NOT_RECORDING = ("lack_of_data", "not_recording")
FLUSHES, RIVAL = ("medical_ambiguity", "flushes_only"), ("medical_ambiguity", "rival_cause")

DRAWN = -50
PEAK = lab(PLATELETS, -5 * DAY, 200)
INDEX = lab(PLATELETS, DRAWN, 96, stored=0)
FIRST, LAST = given(DRAWN - 7 * DAY, "Heparin"), given(-6 * HOUR, "Heparin")
OPENS, CLOSES = 24 * HOUR, 72 * HOUR
EMAR = tuple(given(at * HOUR, "Docusate Sodium") for at in (20, 30, 40, 50, 60))
"""Rows of another drug on both days: the eMAR was recording."""
ADMITTED: Any = {"ed": (-9 * DAY - 200, -9 * DAY), "leaves": 5 * DAY}


def whole(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=rows, **(ADMITTED | stay))


def chart(*rows: Row, **stay: Any) -> Chart:
    return whole(PEAK, INDEX, FIRST, LAST, *EMAR, *rows, **stay)


def silent(*rows: Row, **stay: Any) -> Chart:
    """A chart whose eMAR ends before T."""
    return whole(PEAK, INDEX, FIRST, LAST, *rows, **stay)


def heparin(at: float, event: str | None = "Administered", name: str = "Heparin") -> Row:
    return given(at, name, event)


def flush(at: float, event: str | None = "Flushed") -> Row:
    return given(at, "Heparin Flush (10 units/ml)", event)


def running(at: float, ends: float, item: int = DRIP) -> Row:
    return infused(item, at, 8000, rate=900, endtime=after(ends), ordercategorydescription="Continuous Med")


def count(at: float, value: float, **values: Any) -> Row:
    return lab(PLATELETS, at, value, **values)


UNIT = (-30 * HOUR, 100 * HOUR)
VITALS = tuple(charted(HEART_RATE, at * HOUR) for at in range(-30, 96, 2))
UNIT_DOSE = infused(PROPHYLAXIS, -5 * HOUR, 1)


def in_unit(*rows: Row, vitals: tuple[Row, ...] = VITALS, dose: Row = UNIT_DOSE, **stay: Any) -> Chart:
    """Heparin charted among the inputs of an ICU stay; no eMAR row after T."""
    return silent(dose, *vitals, *rows, **({"icu": UNIT} | stay))


# fmt: off
CASES = {
    "no heparin on two recorded days": (chart(), STOPPED),
    # --- the two days
    "a dose at 24 hours does not count": (chart(heparin(OPENS)), STOPPED),
    "a dose a minute later does": (chart(heparin(OPENS + 1)), CONTINUED),
    "a dose at 72 hours does": (chart(heparin(CLOSES)), CONTINUED),
    "a dose stored after as-of does not exist": (
        chart(Row("hosp.emar", {**heparin(CLOSES).values, "storetime": after(CLOSES + 1)})), STOPPED),
    "a dose after as-of does not exist": (chart(heparin(CLOSES + 1)), STOPPED),
    # --- what counts
    "not given does not": (chart(heparin(30 * HOUR, "Not Given")), STOPPED),
    "held does not": (chart(heparin(30 * HOUR, "Hold Dose")), STOPPED),
    "an order does not": (chart(order(30 * HOUR, "Heparin", "SC")), STOPPED),
    "enoxaparin does": (chart(heparin(30 * HOUR, name="Enoxaparin Sodium")), CONTINUED),
    "dalteparin does": (chart(heparin(30 * HOUR, name="Dalteparin 5,000 units")), CONTINUED),
    "fondaparinux does not": (chart(heparin(30 * HOUR, name="Fondaparinux Sodium")), STOPPED),
    "heparin charted among the inputs does": (in_unit(infused(PROPHYLAXIS, OPENS + 1, 1)), CONTINUED),
    "a push at 24 hours does not": (in_unit(infused(PROPHYLAXIS, OPENS, 1)), STOPPED),
    "one of no amount does not": (in_unit(infused(PROPHYLAXIS, 30 * HOUR, 0)), STOPPED),
    "a rewritten one does not": (
        in_unit(infused(PROPHYLAXIS, 30 * HOUR, 1, statusdescription="Rewritten")), STOPPED),
    # --- infusions
    "an infusion that ends at 24 hours does not": (in_unit(running(-5 * HOUR, OPENS)), STOPPED),
    "one that ends a minute later does": (in_unit(running(-5 * HOUR, OPENS + 1)), CONTINUED),
    "one that outlasts as-of does": (in_unit(running(CLOSES, 90 * HOUR)), CONTINUED),
    "a drip of the eMAR that is stopped at 24 hours does not": (
        chart(heparin(20 * HOUR, "Started"), heparin(OPENS, "Stopped As Directed")), STOPPED),
    "one stopped a minute later does": (
        chart(heparin(20 * HOUR, "Started"), heparin(OPENS + 1, "Stopped")), CONTINUED),
    "one confirmed does": (chart(heparin(30 * HOUR, "Confirmed")), CONTINUED),
    "one confirmed late does": (chart(heparin(30 * HOUR, "Delayed Confirmed")), CONTINUED),
    "one not confirmed does not": (chart(heparin(30 * HOUR, "Not Confirmed")), STOPPED),
    "one not started does not": (chart(heparin(30 * HOUR, "Not Started")), STOPPED),
    "one of which nothing is heard for more than a day does not": (
        chart(heparin(5 * HOUR, "Started"), heparin(29 * HOUR + 1, "Stopped")), STOPPED),
    "one heard of within a day does": (
        chart(heparin(5 * HOUR, "Started"), heparin(29 * HOUR, "Stopped")), CONTINUED),
    # --- flushes
    "a flush alone": (chart(flush(30 * HOUR)), FLUSHES),
    "a flush a minute after 24 hours": (chart(flush(OPENS + 1)), FLUSHES),
    "a flush at 24 hours": (chart(flush(OPENS)), STOPPED),
    "a flush at 72 hours": (chart(flush(CLOSES, "Administered")), FLUSHES),
    "a flush elsewhere": (chart(flush(30 * HOUR, "Flushed in Other Location")), FLUSHES),
    "a flush not done": (chart(flush(30 * HOUR, "Not Flushed")), STOPPED),
    "a dwell": (chart(heparin(30 * HOUR, name="Heparin Dwell (1000 Units/mL)")), FLUSHES),
    "the priming of a circuit": (chart(heparin(30 * HOUR, name="Heparin (CRRT Machine Priming)")), FLUSHES),
    "heparin before a filter": (in_unit(running(30 * HOUR, 40 * HOUR, CIRCUIT)), FLUSHES),
    "saline is no flush of heparin": (chart(given(30 * HOUR, "Sodium Chloride 0.9%  Flush", "Flushed")), STOPPED),
    "a dose comes before a flush": (chart(flush(30 * HOUR), heparin(31 * HOUR)), CONTINUED),
    "a flush without recording is lack of data": (silent(flush(30 * HOUR)), NOT_RECORDING),
    # --- rival causes
    "a balloon pump at T": (in_unit(heparin(30 * HOUR), procedure(BALLOON_PUMP, -9 * HOUR, 0)), RIVAL),
    "one that was out a minute before": (
        in_unit(heparin(30 * HOUR), procedure(BALLOON_PUMP, -9 * HOUR, -1)), CONTINUED),
    "an Impella from T on": (in_unit(heparin(30 * HOUR), procedure(IMPELLA, 0, 40 * HOUR)), RIVAL),
    "one from a minute later": (in_unit(heparin(30 * HOUR), procedure(IMPELLA, 1, 40 * HOUR)), CONTINUED),
    "renal replacement that outlasts as-of": (
        in_unit(heparin(30 * HOUR), procedure(CRRT, -9 * HOUR, 90 * HOUR)), RIVAL),
    "haemodialysis is not in the list": (
        in_unit(heparin(30 * HOUR), procedure(HAEMODIALYSIS, -HOUR, 2 * HOUR)), CONTINUED),
    "a device without heparin changes nothing": (in_unit(procedure(BALLOON_PUMP, -9 * HOUR, 9 * HOUR)), STOPPED),
    "a count of 0.8 of the peak known at 24 hours": (
        chart(heparin(30 * HOUR), count(20 * HOUR, 160, stored=OPENS)), RIVAL),
    "one a unit lower": (chart(heparin(30 * HOUR), count(20 * HOUR, 159)), CONTINUED),
    "one known a minute later": (chart(heparin(30 * HOUR), count(20 * HOUR, 160, stored=OPENS + 1)), CONTINUED),
    "one drawn before the index": (
        chart(heparin(30 * HOUR), count(DRAWN - 1, 160, stored=10)), CONTINUED),
    "one of a transfusion": (
        in_unit(heparin(30 * HOUR), infused(TRANSFUSION, 10 * HOUR, 200), count(20 * HOUR, 160)), CONTINUED),
    "one before the transfusion": (
        in_unit(heparin(30 * HOUR), infused(TRANSFUSION, 20 * HOUR + 1, 200), count(20 * HOUR, 160)), RIVAL),
    "one with clumps": (
        chart(heparin(30 * HOUR), count(20 * HOUR, 160, comment="PLATELETS CLUMPED.")), CONTINUED),
    # --- whether the eMAR was recording
    "without rows nothing is shown": (silent(), NOT_RECORDING),
    "a dose found needs no recording": (silent(heparin(30 * HOUR)), CONTINUED),
    "a row at 48 hours speaks for both days": (
        silent(*(given(at * HOUR, "Senna") for at in (20, 30, 40, 47, 48))),
        STOPPED),
    "none of the second day at all": (
        silent(*(given(at * HOUR, "Senna") for at in (20, 30, 40, 47))), NOT_RECORDING),
    "none of the first day at all": (
        silent(*(given(at, "Senna") for at in (13 * HOUR, 20 * HOUR, 48 * HOUR + 1, 50 * HOUR, 60 * HOUR))),
        NOT_RECORDING),
    "one in the first day": (
        silent(*(given(at, "Senna") for at in (13 * HOUR, 20 * HOUR, 48 * HOUR, 50 * HOUR, 60 * HOUR))), STOPPED),
    "two rows around the second day are too few": (
        silent(*(given(at * HOUR, "Senna") for at in (20, 30, 35, 60, 70))), NOT_RECORDING),
    # --- whether the ICU record will do
    "an ICU stay that charted heparin": (in_unit(), STOPPED),
    "one that charted it 24 hours before": (in_unit(dose=infused(PROPHYLAXIS, -24 * HOUR, 1)), STOPPED),
    "one that charted it a minute earlier": (in_unit(dose=infused(PROPHYLAXIS, -24 * HOUR - 11, 1)), NOT_RECORDING),
    "one that charted none": (in_unit(dose=infused(225158, -5 * HOUR, 100)), NOT_RECORDING),
    "one that ends before 72 hours": (in_unit(icu=(-30 * HOUR, CLOSES - 1)), NOT_RECORDING),
    "one that ends at 72 hours": (in_unit(icu=(-30 * HOUR, CLOSES)), STOPPED),
    "a gap of four hours": (
        in_unit(vitals=tuple(charted(HEART_RATE, at * HOUR) for at in range(-30, 96, 4))), STOPPED),
    "a gap of a minute more": (
        in_unit(vitals=(*(charted(HEART_RATE, at * HOUR) for at in (*range(-30, 40, 2), *range(44, 96, 2))),
                        charted(HEART_RATE, 38 * HOUR - 1))), NOT_RECORDING),
}

OUTSIDE = {
    "more than half of the peak": whole(PEAK, count(DRAWN, 101, stored=0), FIRST, LAST, *EMAR),
    "a peak below 150": whole(count(-5 * DAY, 149), count(DRAWN, 70, stored=0), FIRST, LAST, *EMAR),
    "a count below 20": whole(PEAK, count(DRAWN, 19, stored=0), FIRST, LAST, *EMAR),
    "a peak more than ten days before": whole(
        count(DRAWN - 10 * DAY - 1, 200), INDEX, FIRST, LAST, *EMAR, ed=(-11 * DAY, -10 * DAY)),
    "a peak with clumps": whole(
        count(-5 * DAY, 200, comment="PLATELETS CLUMPED."), INDEX, FIRST, LAST, *EMAR),
    "clumps reported beside the count": whole(
        PEAK, INDEX, lab(SMEAR, DRAWN, None, comment="UNABLE TO ESTIMATE DUE TO PLATELET CLUMPS."),
        FIRST, LAST, *EMAR),
    "a minute before 120 hours of heparin": whole(PEAK, INDEX, given(DRAWN - 120 * HOUR + 1, "Heparin"), LAST, *EMAR),
    "264 hours of heparin": whole(
        PEAK, INDEX, given(DRAWN - 264 * HOUR, "Heparin"), LAST, *EMAR, ed=(-13 * DAY, -12 * DAY)),
    "a fall by half before day five": whole(
        PEAK, count(-3 * DAY - 60, 99), count(-2 * DAY, 150), INDEX, FIRST, LAST, *EMAR),
    "heparin more than 24 hours before the result": whole(
        PEAK, INDEX, FIRST, given(-24 * HOUR - 1, "Heparin"), *EMAR),
    "a flush only in these hours": whole(PEAK, INDEX, FIRST, flush(-6 * HOUR), *EMAR),
    "a flush that opens the exposure": whole(
        PEAK, INDEX, flush(DRAWN - 7 * DAY), given(DRAWN - 4 * DAY, "Heparin"), LAST, *EMAR),
    "heparin of the stay before": whole(
        PEAK, INDEX, given(-20 * DAY, "Heparin"), given(-DAY, "Heparin"), LAST, *EMAR),
    "another anticoagulant at T": chart(given(-24 * HOUR, "Argatroban", "Started")),
    "one of the ICU record": chart(running(-30 * HOUR, -24 * HOUR, ARGATROBAN), icu=(-2 * DAY, DAY)),
    "one by mouth": chart(given(-60, "Apixaban")),
    "departure before 72 hours": chart(leaves=CLOSES - 1),
    "death before 72 hours": chart(leaves=CLOSES - 1, died=CLOSES - 1),
    "a child": chart(age=17),
}

INSIDE = {
    "half of the peak": whole(PEAK, count(DRAWN, 100, stored=0), FIRST, LAST, *EMAR),
    "a peak of 150": whole(count(-5 * DAY, 150), count(DRAWN, 70, stored=0), FIRST, LAST, *EMAR),
    "a count of 20": whole(PEAK, count(DRAWN, 20, stored=0), FIRST, LAST, *EMAR),
    "a peak ten days before": whole(
        count(DRAWN - 10 * DAY, 200), INDEX, FIRST, LAST, *EMAR, ed=(-11 * DAY, -10 * DAY - 60)),
    "120 hours of heparin": whole(PEAK, INDEX, given(DRAWN - 120 * HOUR, "Heparin"), LAST, *EMAR),
    "a minute under 264 hours": whole(
        PEAK, INDEX, given(DRAWN - 264 * HOUR + 1, "Heparin"), LAST, *EMAR, ed=(-13 * DAY, -12 * DAY)),
    "heparin 24 hours before the result": whole(PEAK, INDEX, FIRST, given(-24 * HOUR, "Heparin"), *EMAR),
    "an infusion that ran into these hours": whole(
        PEAK, INDEX, FIRST, running(-40 * HOUR, -24 * HOUR), *EMAR, icu=(-2 * DAY, DAY)),
    "a drip confirmed in these hours": whole(PEAK, INDEX, FIRST, heparin(-9 * HOUR, "Confirmed"), *EMAR),
    "another anticoagulant a day and a minute before": chart(given(-24 * HOUR - 1, "Argatroban", "Started")),
    "another anticoagulant not given": chart(given(-60, "Argatroban", "Not Started")),
    "a stay of 72 hours": chart(leaves=CLOSES),
}

VERBLESS = {
    "a dose that lost its verb": chart(heparin(30 * HOUR, " in Other Location")),
    "one beside a dose": chart(heparin(30 * HOUR, "Delayed "), heparin(40 * HOUR)),
    "one outside the days": chart(heparin(20 * HOUR, " in Other Location")),
    "a flush that lost its verb": chart(flush(30 * HOUR, " in Other Location")),
    "one beside a flush": chart(flush(30 * HOUR, " in Other Location"), flush(40 * HOUR)),
}
# fmt: on


FURTHER = VERBLESS


class TestRules(Rules):
    """As every scenario's."""


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True, False, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_stopping_rests_on_both_counts_and_a_search(self, judged: Judged) -> None:
        name = "no heparin on two recorded days"
        peak, index = judged.rows(name, "hosp.labevents")
        needs = judged.evidence[name]
        assert list(needs) == ["index_platelets", "peak_platelets", "no_heparin"]
        assert needs["index_platelets"].alternatives == ((index,),)
        assert needs["peak_platelets"].alternatives == ((peak,),)
        assert [window.source for window in needs["no_heparin"].search] == ["hosp.emar"]

    def test_in_an_icu_its_record_is_searched_too(self, judged: Judged) -> None:
        needs = judged.evidence["an ICU stay that charted heparin"]
        assert [w.source for w in needs["no_heparin"].search] == ["hosp.emar", "icu.inputevents"]

    def test_any_dose_of_the_two_days_proves_a_no(self, judged: Judged) -> None:
        name = "a dose comes before a flush"
        dose = judged.rows(name, "hosp.emar")[4:6]
        (alternative,) = judged.evidence[name]["heparin_dose"].alternatives
        assert alternative[0] in dose

    def test_only_flushes_rest_on_a_search_and_a_flush(self, judged: Judged) -> None:
        needs = judged.evidence["a flush alone"]
        assert list(needs) == ["index_platelets", "peak_platelets", "no_heparin", "flush"]
        assert len(needs["flush"].alternatives) == 1

    def test_a_rival_cause_is_the_device_or_the_recovered_count(self, judged: Judged) -> None:
        device = judged.evidence["a balloon pump at T"]["rival_cause"]
        assert device.alternatives == ((judged.rows("a balloon pump at T", "icu.procedureevents")[0],),)
        name = "a count of 0.8 of the peak known at 24 hours"
        assert judged.evidence[name]["rival_cause"].alternatives == (
            (judged.rows(name, "hosp.labevents")[-1],),
        )
