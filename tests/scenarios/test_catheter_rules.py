"""The rules of the urinary catheter after surgery at their boundaries: a minute either side of each."""

from datetime import datetime

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
    infused,
    ordered,
    procedure,
)

SCENARIO = "25-urinary-catheter-after-surgery"

RECEIVED, SENT, CATHETER = 225469, 225470, 229351
FOLEY, VOID, CONDOM, STRAIGHT, NEPHROSTOMY = 226559, 226560, 226561, 226567, 226564
REMOVED, GU_REMOVED, INSERTED = 229353, 227584, 229352
NOREPINEPHRINE, FUROSEMIDE, ROCURONIUM = 221906, 221794, 229233
CRRT, HAEMODIALYSIS, EPIDURAL_RATE = 225802, 225441, 224366

CUT = 3600
"""The first minute of day 3; day 2 ends a second before. T is noon of day 0."""
AS_OF = CUT + 12 * HOUR

YES, KEPT = ("yes", "removed"), ("no", "kept")
LEFT, UNCHARTED = ("lack_of_data", "left_unit"), ("lack_of_data", "not_charted")
NEEDED, BOTH = ("medical_ambiguity", "needed"), ("medical_ambiguity", "removed_and_in")

UNIT = (-20, 90 * HOUR)
INDEX = procedure(RECEIVED, 0, 1)


def output(at: float, item: int = FOLEY, value: float | None = 60) -> Row:
    values = {"itemid": item, "charttime": after(at), "storetime": after(at), "value": value}
    return Row("icu.outputevents", values)


def void(at: float, item: int = VOID) -> Row:
    return output(at, item, 300)


def catheter(at: float, ends: float, **values: object) -> Row:
    return Row("icu.procedureevents", {**procedure(CATHETER, at, ends).values, **values})


def dated(at: float, value: float | datetime, item: int = REMOVED) -> Row:
    """A date charted at some time; its value is a time of its own."""
    moment = value if isinstance(value, datetime) else after(value)
    values = {"itemid": item, "charttime": after(at), "storetime": after(at), "value": moment}
    return Row("icu.datetimeevents", values)


def day(number: int) -> datetime:
    """The date of that postoperative day, without a time."""
    return after(-12 * HOUR + number * DAY)


def drip(at: float, ends: float, item: int = NOREPINEPHRINE, amount: float = 4, **values: object) -> Row:
    fixed = {"endtime": after(ends), "rate": 0.1, "ordercategorydescription": "Continuous Med"}
    return infused(item, at, amount, **(fixed | values))


def ordering(at: float, **values: object) -> tuple[Row, ...]:
    """An order of a urinary catheter; without a detail if it ends another."""
    fixed = {"order_subtype": "Tubes/Drains", "transaction_type": "New"} | values
    said = {
        "field_name": "Tubes & Drains type",
        "field_value": "Indwelling urinary catheter (IUC) - Foley",
    }
    row = ordered(at, "General Care", **fixed)
    return (row,) if fixed["transaction_type"] == "D/C" else (row, Row("hosp.poe_detail", said))


START = output(60)
"""What shows that the patient came with a catheter."""


def chart(*rows: Row, icu: tuple[float, float] = UNIT, leaves: float = 4 * DAY, **stay: object) -> Chart:
    return Chart(rows=(INDEX, START, *rows), icu=icu, leaves=leaves, **stay)  # type: ignore[arg-type]


def bare(*rows: Row, leaves: float = 4 * DAY, **stay: object) -> Chart:
    """A chart without output."""
    return Chart(rows=(INDEX, *rows), icu=UNIT, leaves=leaves, **stay)  # type: ignore[arg-type]


STAYS = output(CUT + 60)

# fmt: off
CASES = {
    # --- urine without the catheter
    "a void in the last minute of day 2": (chart(void(CUT - 1)), YES),
    "a void in the first minute of day 3": (chart(void(CUT)), UNCHARTED),
    "urine in a condom catheter": (chart(void(20 * HOUR, CONDOM)), YES),
    "a straight catheter": (chart(void(20 * HOUR, STRAIGHT)), YES),
    "a nephrostomy says nothing": (chart(void(20 * HOUR, NEPHROSTOMY)), UNCHARTED),
    "a void without a volume": (chart(output(20 * HOUR, VOID, None)), UNCHARTED),
    "a void before the arrival": (chart(void(-10)), UNCHARTED),
    "the last emptying within the hour": (chart(void(600), output(660)), YES),
    "output more than an hour later contradicts": (chart(void(600), output(661)), UNCHARTED),
    "a second void after that output": (chart(void(600), output(661), void(900)), YES),
    # --- output after day 2
    "output in the first minute of day 3": (chart(output(CUT)), KEPT),
    "output in the last minute of day 2": (chart(output(CUT - 1)), UNCHARTED),
    "output after as-of does not exist": (chart(output(AS_OF)), UNCHARTED),
    "output in the last minute of as-of": (chart(output(AS_OF - 1)), KEPT),
    "output without a volume": (chart(output(CUT, value=None)), UNCHARTED),
    "a void amid output": (chart(void(600), output(661), STAYS), KEPT),
    # --- rows of the catheter
    "the row ends": (chart(catheter(0, 26 * HOUR)), YES),
    "it ends in the last minute of day 2": (chart(catheter(0, CUT - 1)), YES),
    "it ends in the first minute of day 3": (chart(catheter(0, CUT)), KEPT),
    "no end to be seen": (chart(catheter(0, 5 * DAY)), UNCHARTED),
    "a rewritten row": (chart(catheter(0, 26 * HOUR, statusdescription="Rewritten")), UNCHARTED),
    "a row noted after as-of": (chart(catheter(0, 26 * HOUR, storetime=after(AS_OF))), UNCHARTED),
    "its end fifteen minutes before the unit's": (
        chart(catheter(0, 30 * HOUR - 15), icu=(-20, 30 * HOUR)), LEFT),
    "a minute earlier": (chart(catheter(0, 30 * HOUR - 16), icu=(-20, 30 * HOUR)), YES),
    "its end fifteen minutes after the unit's": (
        chart(catheter(0, 30 * HOUR + 15), icu=(-20, 30 * HOUR)), LEFT),
    "output goes on after the end": (chart(catheter(0, DAY), output(DAY + 61)), UNCHARTED),
    "output goes on after the end and day 2": (chart(catheter(0, DAY), output(DAY + 61), STAYS), KEPT),
    "another row is open then": (chart(catheter(0, DAY), catheter(-HOUR, 5 * DAY)), UNCHARTED),
    "an exchange within two hours": (chart(catheter(0, DAY), catheter(DAY + 120, 5 * DAY), STAYS), KEPT),
    "an exchange, and the second row ends": (chart(catheter(0, DAY), catheter(DAY + 120, 40 * HOUR)), YES),
    # --- put back
    "put back after two hours, and in after day 2": (
        chart(catheter(0, DAY), catheter(DAY + 121, 5 * DAY), STAYS), BOTH),
    "put back with output ever since": (
        chart(catheter(0, DAY), catheter(DAY + 121, 5 * DAY), output(DAY + 180), STAYS), BOTH),
    "put back, but output never stopped": (
        chart(catheter(0, DAY), output(DAY + 90), catheter(DAY + 121, 5 * DAY), STAYS), KEPT),
    "put back and removed again": (chart(catheter(0, DAY), catheter(DAY + 121, 40 * HOUR)), YES),
    # --- removal dates
    "a removal date": (chart(dated(26 * HOUR, 25 * HOUR)), YES),
    "of the other item": (chart(dated(26 * HOUR, 25 * HOUR, GU_REMOVED)), YES),
    "an insertion date": (chart(dated(26 * HOUR, 25 * HOUR, INSERTED)), UNCHARTED),
    "a date of the minute at which the stay ends": (
        chart(dated(25 * HOUR, 25 * HOUR), icu=(-20, 25 * HOUR)), YES),
    "charted on day 3 for day 2": (chart(dated(CUT + 60, CUT - 1)), YES),
    "charted on day 3 for day 3": (chart(dated(CUT + 60, CUT + 1)), KEPT),
    "a date in the future": (chart(dated(CUT + 60, AS_OF + 60)), UNCHARTED),
    "one before the arrival": (chart(dated(26 * HOUR, 0)), UNCHARTED),
    "one a minute after it": (chart(dated(26 * HOUR, 1)), YES),
    "day 0 without a time": (chart(dated(26 * HOUR, day(0))), UNCHARTED),
    "day 1 without a time": (chart(dated(26 * HOUR, day(1))), YES),
    "day 2 without a time": (chart(dated(50 * HOUR, day(2))), YES),
    "day 3 without a time": (chart(dated(CUT + 60, day(3))), KEPT),
    "output an hour after the date": (chart(dated(26 * HOUR, 600), output(660)), YES),
    "output a minute later": (chart(dated(26 * HOUR, 600), output(661)), UNCHARTED),
    "output an hour into the next day": (chart(dated(26 * HOUR, day(1)), output(36 * HOUR + 59)), YES),
    "output a minute later still": (chart(dated(26 * HOUR, day(1)), output(36 * HOUR + 60)), UNCHARTED),
    # --- accepted needs
    "a vasopressor at the end of day 2": (chart(STAYS, drip(CUT - HOUR, CUT)), NEEDED),
    "one that ended a minute before": (chart(STAYS, drip(CUT - HOUR, CUT - 1)), KEPT),
    "one that began after it": (chart(STAYS, drip(CUT, CUT + HOUR)), KEPT),
    "one that outlasts as-of": (chart(STAYS, drip(CUT - HOUR, 5 * DAY)), NEEDED),
    "one of no amount": (chart(STAYS, drip(CUT - HOUR, CUT + HOUR, amount=0)), KEPT),
    "a push": (chart(STAYS, drip(CUT - HOUR, CUT + HOUR, ordercategorydescription="Drug Push")), KEPT),
    "furosemide running": (chart(STAYS, drip(CUT - HOUR, CUT + HOUR, FUROSEMIDE)), NEEDED),
    "a muscle relaxant running": (chart(STAYS, drip(CUT - HOUR, CUT + HOUR, ROCURONIUM)), NEEDED),
    "continuous renal replacement": (chart(STAYS, procedure(CRRT, HOUR, CUT)), NEEDED),
    "that ended before": (chart(STAYS, procedure(CRRT, HOUR, CUT - 1)), KEPT),
    "intermittent dialysis": (chart(STAYS, procedure(HAEMODIALYSIS, CUT - HOUR, CUT + HOUR)), KEPT),
    "an epidural eight hours before": (chart(STAYS, charted(EPIDURAL_RATE, CUT - 8 * HOUR, 6)), NEEDED),
    "a minute earlier than that": (chart(STAYS, charted(EPIDURAL_RATE, CUT - 8 * HOUR - 1, 6)), KEPT),
    "an epidural that stands still": (chart(STAYS, charted(EPIDURAL_RATE, CUT - HOUR, 0)), KEPT),
    "a need and nothing that shows the catheter": (chart(drip(CUT - HOUR, CUT + HOUR)), UNCHARTED),
    "a need and a removal": (chart(void(20 * HOUR), drip(CUT - HOUR, CUT + HOUR)), YES),
    # --- sources at odds
    "a void, and output on day 3": (chart(void(20 * HOUR), STAYS), BOTH),
    "at odds comes before a need": (chart(void(20 * HOUR), STAYS, drip(CUT - HOUR, CUT)), BOTH),
    "another catheter on day 3": (chart(void(20 * HOUR), catheter(CUT + 30, 5 * DAY), STAYS), YES),
    "output before that one": (chart(void(20 * HOUR), output(CUT + 29), catheter(CUT + 30, 5 * DAY), STAYS), BOTH),
    "a catheter of day 3 within two hours of the end": (
        chart(catheter(0, CUT - 30), catheter(CUT + 90, 5 * DAY), output(CUT + 120)), KEPT),
    # --- away
    "left the unit with the catheter in": (chart(icu=(-20, 30 * HOUR)), LEFT),
    "left at the end of day 2": (chart(icu=(-20, CUT - 1)), LEFT),
    "left a minute later": (chart(icu=(-20, CUT)), UNCHARTED),
}

OUTSIDE = {
    "no catheter": bare(),
    "output a minute after six hours": bare(output(6 * HOUR + 1)),
    "output before the arrival alone": bare(output(-1)),
    "a row that ended more than six hours before": bare(catheter(-9 * HOUR, -6 * HOUR - 1)),
    "a row that begins more than six hours after": bare(catheter(6 * HOUR + 1, DAY)),
    "a condom catheter": bare(output(60, CONDOM)),
    "gynaecology": chart(Row("hosp.services", {"transfertime": after(-DAY), "curr_service": "GYN"})),
    "discharged before as-of": chart(leaves=AS_OF - 1),
    "a death before as-of": chart(leaves=AS_OF, died=AS_OF - 1),
    "another operation": chart(procedure(SENT, AS_OF - 1, AS_OF)),
    "noted after as-of": Chart(
        rows=(Row("icu.procedureevents", {**INDEX.values, "storetime": after(AS_OF)}), START), icu=UNIT, leaves=4 * DAY),
    "a rewritten arrival": Chart(
        rows=(Row("icu.procedureevents", {**INDEX.values, "statusdescription": "Rewritten"}), START),
        icu=UNIT, leaves=4 * DAY),
    "a child": chart(age=17),
}

INSIDE = {
    "output at six hours": bare(output(6 * HOUR)),
    "output at the arrival": bare(output(0)),
    "a row that ended six hours before": bare(catheter(-9 * HOUR, -6 * HOUR)),
    "a row that begins six hours after": bare(catheter(6 * HOUR, DAY)),
    "surgery": chart(Row("hosp.services", {"transfertime": after(-DAY), "curr_service": "SURG"})),
    "gynaecology afterwards": chart(Row("hosp.services", {"transfertime": after(1), "curr_service": "GYN"})),
    "gynaecology no longer": chart(
        Row("hosp.services", {"transfertime": after(-2 * DAY), "curr_service": "GYN"}),
        Row("hosp.services", {"transfertime": after(-DAY), "curr_service": "SURG"})),
    "discharged at as-of": chart(leaves=AS_OF),
    "two arrivals": chart(procedure(RECEIVED, 1, 2)),
    "another operation after as-of": chart(procedure(SENT, AS_OF, AS_OF + 1)),
}

OPEN = {
    "nothing but an open order": (chart(*ordering(60), icu=(-20, 30 * HOUR)), True),
    "renewed before the end of day 2": (
        chart(*ordering(60), *ordering(DAY, transaction_type="Change", discontinue_of_poe_id="1"),
              icu=(-20, 30 * HOUR)), True),
    "renewed after it": (chart(*ordering(60), *ordering(CUT + 60), icu=(-20, 30 * HOUR)), False),
    "ended": (
        chart(*ordering(60), *ordering(40 * HOUR, transaction_type="D/C", discontinue_of_poe_id="1"),
              icu=(-20, 30 * HOUR)), False),
    "ended before the arrival": (
        chart(*ordering(-DAY), *ordering(-1, transaction_type="D/C", discontinue_of_poe_id="1"),
              icu=(-20, 30 * HOUR)), True),
    "ended, and kept all the same": (
        chart(*ordering(60), *ordering(40 * HOUR, transaction_type="D/C", discontinue_of_poe_id="1"), STAYS), True),
    "put back, and not seen again": (chart(catheter(0, DAY), catheter(DAY + 121, 5 * DAY)), False),
}
# fmt: on


FURTHER = {name: case for name, (case, _) in OPEN.items()}


class TestRules(Rules):
    """As every scenario's."""


def test_of_two_arrivals_the_one_without_a_further_operation_counts(judged: Judged) -> None:
    assert judged.tasks["two arrivals"].index_time == after(1)


@pytest.mark.parametrize("claim", OPEN)
def test_an_order_or_a_second_catheter_that_may_be_taken_for_the_answer_takes_a_case_out(
    claim: str, judged: Judged
) -> None:
    assert judged.eligible[claim] is OPEN[claim][1]


class TestEvidence:
    """What an answer must rest on."""

    def test_any_sign_of_removal_is_enough(self, judged: Judged) -> None:
        needs = judged.evidence["a second void after that output"]
        assert list(needs) == ["arrival", "removal"]
        *_, second = judged.rows("a second void after that output", "icu.outputevents")
        assert needs["removal"].alternatives == ((second,),)

    def test_kept_too_long_asks_for_a_search_of_every_need(self, judged: Judged) -> None:
        needs = judged.evidence["a push"]
        assert list(needs) == ["arrival", "still_in", "no_need"]
        sources = [window.source for window in needs["no_need"].search]
        assert sources == ["icu.inputevents", "icu.procedureevents", "icu.chartevents"]
        assert judged.rows("a push", "icu.inputevents")[0] in needs["no_need"].relevant

    def test_a_need_is_cited_with_the_catheter(self, judged: Judged) -> None:
        assert list(judged.evidence["continuous renal replacement"]) == ["arrival", "still_in", "need"]

    def test_sources_at_odds_are_cited_both(self, judged: Judged) -> None:
        needs = judged.evidence["a void, and output on day 3"]
        assert list(needs) == ["arrival", "still_in", "removal_before"]
        needs = judged.evidence["put back after two hours, and in after day 2"]
        assert len(needs["removal_before"].alternatives) == 1

    def test_lack_rests_on_the_last_sign_the_exit_and_searches_after_it(self, judged: Judged) -> None:
        name = "left the unit with the catheter in"
        needs = judged.evidence[name]
        assert list(needs) == ["arrival", "last_sign", "left_unit", "nothing_later"]
        (last,) = judged.rows(name, "icu.outputevents")
        assert needs["last_sign"].alternatives == ((last,),)
        outputs, _ = needs["nothing_later"].search
        assert outputs.start == after(60).replace(second=1)

    def test_in_the_unit_no_exit_is_asked_for(self, judged: Judged) -> None:
        assert "left_unit" not in judged.evidence["a void in the first minute of day 3"]

    def test_without_output_the_row_is_the_last_sign(self, judged: Judged) -> None:
        name = "a row that ended six hours before"
        row, _ = judged.rows(name, "icu.procedureevents")
        assert judged.evidence[name]["last_sign"].alternatives == ((row,),)
