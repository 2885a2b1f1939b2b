"""The rules of code status at intubation at their boundaries: a minute either side of each."""

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    EARLIER,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    ordered,
    procedure,
)

SCENARIO = "24-code-status-at-intubation"

INTUBATION, VENTILATION, ARREST = 224385, 225792, 225466
SENT, RECEIVED = 225470, 225469
HEART_RATE, DEVICE = 220045, 226732
STATUS, PROGRESS, CHECKLIST = 223758, 228687, 229784
LATE = 12 * HOUR
"""As-of, where the row of the intubation is noted by then."""

YES, NO = ("yes", "limited"), ("no", "not_limited")
NONE, ODDS = ("lack_of_data", "no_entry"), ("medical_ambiguity", "sources_at_odds")
CARDIAC_ARREST = ("medical_ambiguity", "cardiac_arrest")

FULL, DNR_DNI = "Resuscitate (Full code)", "Do not resuscitate (DNR/DNI)"
DNAR = "DNAR (DO NOT attempt resuscitation for cardiac arrest) "
UNIT = (-10 * HOUR, 60 * HOUR)
INDEX = procedure(INTUBATION, 0, 1)
WATCHED = charted(HEART_RATE, -9 * HOUR)


def chart(*rows: Row, index: Row = INDEX, icu: tuple[float, float] = UNIT, **stay: object) -> Chart:
    return Chart(rows=(index, WATCHED, *rows), icu=icu, **stay)  # type: ignore[arg-type]


def status(
    at: float, text: str | None, *, item: int = STATUS, stored: float | None = None, **own: object
) -> Row:
    """An entry of the ICU chart."""
    noted = after(at if stored is None else stored)
    fixed = {**charted(item, at).values, "value": text, "valuenum": None, "storetime": noted}
    return Row("icu.chartevents", fixed | own)


def order(at: float, text: str | None, **values: object) -> tuple[Row, ...]:
    """An order of a code status; without a text the order has no detail."""
    fixed = {"order_subtype": "Code status", "transaction_type": "New"}
    row = ordered(at, "General Care", **(fixed | values))
    said = Row("hosp.poe_detail", {"field_name": "Code status", "field_value": text})
    return (row, said) if text is not None else (row,)


def replacing(at: float, text: str | None, number: int, transaction: str = "Change") -> tuple[Row, ...]:
    """An order that ends the chart's order of that number."""
    return order(at, text, transaction_type=transaction, discontinue_of_poe_id=str(number))


# fmt: off
CASES = {
    # --- what the entries mean, in either source
    "nothing recorded": (chart(), NONE),
    "an order of full code": (chart(*order(-DAY, FULL)), NO),
    "full code in other words": (chart(*order(-DAY, "Full code  (attempt resuscitation)")), NO),
    "an order DNR/DNI": (chart(*order(-DAY, DNR_DNI)), YES),
    "an order DNAR leaves intubation open": (chart(*order(-DAY, DNAR)), NO),
    "charted full code": (chart(status(-HOUR, "Full code")), NO),
    "charted DNR / DNI": (chart(status(-HOUR, "DNR / DNI")), YES),
    "charted DNI": (chart(status(-HOUR, "DNI (do not intubate)")), YES),
    "charted DNR leaves intubation open": (chart(status(-HOUR, "DNR (do not resuscitate)")), NO),
    "charted comfort measures only": (chart(status(-HOUR, "Comfort measures only")), YES),
    "the progress note's status": (
        chart(status(-HOUR, "DNAR (Do Not Attempt Resuscitation) [DNR] / DNI", item=PROGRESS)), YES),
    "the progress note's DNAR": (
        chart(status(-HOUR, "DNAR (Do Not Attempt Resuscitation)  [DNR]", item=PROGRESS)), NO),
    "the intubation checklist's status": (chart(status(-1, "DNR / DNI", item=CHECKLIST)), YES),
    "an order of something else": (chart(*order(-DAY, DNR_DNI, order_subtype="Other")), NONE),
    # --- known at T
    "charted and stored at T": (chart(status(-5, "DNR / DNI", stored=0)), YES),
    "stored a minute later": (chart(status(-5, "DNR / DNI", stored=1)), NONE),
    "charted a minute after T": (chart(status(1, "DNR / DNI")), NONE),
    "a reversal stored too late changes nothing": (
        chart(*order(-20 * HOUR, DNR_DNI), status(-5, "Full code", stored=1)), YES),
    "ordered at T": (chart(*order(0, DNR_DNI)), YES),
    "ordered a minute later": (chart(*order(1, DNR_DNI)), NONE),
    "a limit set after T changes nothing": (chart(*order(-DAY, FULL), *replacing(1, DNR_DNI, 1)), NO),
    "an order ended after T was in force": (chart(*order(-DAY, DNR_DNI), *replacing(1, FULL, 1)), YES),
    "an entry of an earlier admission": (
        chart(*order(-35 * DAY, DNR_DNI), status(-35 * DAY, "DNR / DNI", hadm_id=EARLIER),
              earlier=(-40 * DAY, -30 * DAY)), NONE),
    "an order in the emergency department": (
        chart(*order(-80 * HOUR, DNR_DNI), ed=(-81 * HOUR, -70 * HOUR)), YES),
    "one before the patient came": (chart(*order(-82 * HOUR, DNR_DNI), ed=(-81 * HOUR, -70 * HOUR)), NONE),
    # --- one source
    "the later charted entry": (chart(status(-3 * HOUR, "DNR / DNI"), status(-2 * HOUR, "Full code")), NO),
    "the later order": (chart(*order(-3 * HOUR, FULL), *order(-2 * HOUR, DNR_DNI)), YES),
    "an order that was changed is not in force": (
        chart(*order(-3 * HOUR, DNR_DNI), *replacing(-2 * HOUR, FULL, 1)), NO),
    "an order that was ended leaves the one before": (
        chart(*order(-3 * HOUR, FULL), *order(-2 * HOUR, DNR_DNI), *replacing(-HOUR, None, 2, "D/C")), NO),
    # --- two sources
    "both agree on a limit": (chart(*order(-6 * HOUR, DNR_DNI), status(-2 * HOUR, "DNR / DNI")), YES),
    "both agree on none": (chart(*order(-6 * HOUR, FULL), status(-2 * HOUR, "DNR (do not resuscitate)")), NO),
    "charted full code after a limiting order": (
        chart(*order(-6 * HOUR, DNR_DNI), status(-2 * HOUR, "Full code")), ODDS),
    "charted limit after an order of full code": (
        chart(*order(-6 * HOUR, FULL), status(-2 * HOUR, "DNR / DNI")), ODDS),
    "charted limit after an order DNAR": (chart(*order(-6 * HOUR, DNAR), status(-2 * HOUR, "DNR / DNI")), ODDS),
    "twelve hours after the order": (chart(*order(-13 * HOUR, FULL), status(-HOUR, "DNR / DNI")), ODDS),
    "a minute more": (chart(*order(-13 * HOUR - 1, FULL), status(-HOUR, "DNR / DNI")), YES),
    "full code charted a day after a limiting order": (
        chart(*order(-25 * HOUR, DNR_DNI), status(-HOUR, "Full code")), NO),
    "an order of the same minute replaces it": (chart(*order(-HOUR, FULL), status(-HOUR, "DNR / DNI")), NO),
    "a minute earlier does not": (chart(*order(-HOUR - 1, FULL), status(-HOUR, "DNR / DNI")), ODDS),
    "a later order lifts a charted limit": (chart(status(-3 * HOUR, "DNR / DNI"), *order(-HOUR, FULL)), NO),
    "a later order sets a limit": (chart(status(-3 * HOUR, "Full code"), *order(-HOUR, DNR_DNI)), YES),
    # --- cardiac arrest
    "an arrest half an hour before": (
        chart(status(-HOUR, "DNR (do not resuscitate)"), procedure(ARREST, -30, -29)), CARDIAC_ARREST),
    "a minute earlier": (chart(status(-HOUR, "DNR (do not resuscitate)"), procedure(ARREST, -31, -30)), NO),
    "an arrest at T": (chart(*order(-HOUR, DNAR), procedure(ARREST, 0, 1)), CARDIAC_ARREST),
    "an arrest a minute after T": (chart(*order(-HOUR, DNAR), procedure(ARREST, 1, 2)), NO),
    "an arrest in full code": (chart(*order(-HOUR, FULL), procedure(ARREST, -5, -4)), NO),
    "an arrest under a limit": (chart(*order(-HOUR, DNR_DNI), procedure(ARREST, -5, -4)), YES),
    "an arrest with nothing recorded": (chart(procedure(ARREST, -5, -4)), NONE),
    # --- the index row
    "ventilation alone": (chart(status(-HOUR, "DNR / DNI"), index=procedure(VENTILATION, 0, 40 * HOUR)), YES),
    "the first of two rows": (
        chart(*order(1, DNR_DNI), procedure(INTUBATION, 3, 4), index=procedure(VENTILATION, 0, HOUR)), NONE),
}

OUTSIDE = {
    "a minute less than two hours after the unit's door": chart(icu=(-119, 60 * HOUR)),
    "under observation a minute too short": Chart(rows=(INDEX, charted(HEART_RATE, -119)), icu=UNIT),
    "never under observation": Chart(rows=(INDEX,), icu=UNIT),
    "back from the operating room an hour before": chart(procedure(RECEIVED, -60, -59)),
    "back an hour after": chart(procedure(RECEIVED, 60, 61)),
    "sent and not back": chart(procedure(SENT, -3 * HOUR, -179)),
    "sent within the hour after": chart(procedure(SENT, 60, 61)),
    "a tube charted before": chart(status(-61, "Endotracheal tube", item=DEVICE)),
    "a tracheostomy": chart(status(-5 * HOUR, "Trach mask ", item=DEVICE)),
    "an earlier start, near the door": chart(procedure(VENTILATION, -9 * HOUR, -8 * HOUR)),
    "a rewritten row": chart(index=Row("icu.procedureevents", {**INDEX.values, "statusdescription": "Rewritten"})),
    "a child": chart(age=17),
}

INSIDE = {
    "two hours after the unit's door": Chart(rows=(INDEX, charted(HEART_RATE, -120)), icu=(-120, 60 * HOUR)),
    "back from the operating room earlier": chart(procedure(SENT, -4 * HOUR, -239), procedure(RECEIVED, -61, -60)),
    "back later": chart(procedure(RECEIVED, 61, 62)),
    "a tube charted with the intubation": chart(status(-60, "Endotracheal tube", item=DEVICE)),
    "a nasal cannula": chart(status(-3 * HOUR, "Nasal cannula", item=DEVICE)),
}

OPEN = {
    "a readable entry after one that is not": chart(status(-3 * HOUR, None), status(-2 * HOUR, "DNR / DNI")),
    "an entry without a text is the latest": chart(status(-3 * HOUR, "DNR / DNI"), status(-2 * HOUR, None)),
    "the only entry has no text": chart(status(-2 * HOUR, None)),
    "an unknown text is the latest order": chart(*order(-3 * HOUR, FULL), *order(-HOUR, "See comments")),
    "an order was ended without another": chart(
        status(-5 * HOUR, "DNR / DNI"), *order(-7 * HOUR, DNR_DNI), *replacing(-HOUR, None, 1, "D/C")),
    "the only order was ended": chart(*order(-7 * HOUR, DNR_DNI), *replacing(-HOUR, None, 1, "D/C")),
    "an order was ended and followed by another": chart(
        *order(-7 * HOUR, DNR_DNI), *replacing(-HOUR, None, 1, "D/C"), *order(-59, FULL)),
    "an order was ended after T": chart(*order(-7 * HOUR, DNR_DNI), *replacing(1, None, 1, "D/C")),
}
# fmt: on


def noted(minutes: float) -> Chart:
    """The row of the ventilation is stored so many minutes after T."""
    row = Row(
        "icu.procedureevents", {**procedure(VENTILATION, 0, 2 * DAY).values, "storetime": after(minutes)}
    )
    return chart(status(-HOUR, "Full code"), index=row)


NOTED = {"noted in time": noted(LATE), "noted a minute later": noted(LATE + 1)}


FURTHER = OPEN | NOTED


class TestRules(Rules):
    """As every scenario's."""


def test_an_entry_that_leaves_the_status_open_takes_the_case_out(judged: Judged) -> None:
    assert [judged.eligible[name] for name in OPEN] == [True, False, False, False, False, False, True, True]


def test_the_agent_is_placed_where_the_row_of_the_ventilation_is_known(judged: Judged) -> None:
    assert [judged.tasks[name].as_of for name in NOTED] == [after(LATE), after(LATE + 1)]


class TestEvidence:
    """What an answer must rest on."""

    def test_the_entry_in_force_and_a_search_after_it(self, judged: Judged) -> None:
        name = "the later charted entry"
        needs = judged.evidence[name]
        assert list(needs) == ["ventilation", "deciding_entry", "no_later_entry"]
        _, first, second = judged.rows(name, "icu.chartevents")
        assert needs["deciding_entry"].alternatives == ((second,),)
        assert first in needs["deciding_entry"].relevant
        chart_search, orders = needs["no_later_entry"].search
        assert (chart_search.start, orders.end) == (after(-2 * HOUR).replace(second=1), after(0))

    def test_either_source_where_both_are_in_force_and_agree(self, judged: Judged) -> None:
        assert len(judged.evidence["both agree on a limit"]["deciding_entry"].alternatives) == 2

    def test_a_later_reversal_is_relevant_and_decides_nothing(self, judged: Judged) -> None:
        name = "an order ended after T was in force"
        limit, reversal = judged.rows(name, "hosp.poe")
        need = judged.evidence[name]["deciding_entry"]
        assert need.alternatives == ((limit,),)
        assert reversal in need.relevant

    def test_sources_at_odds_are_cited_together(self, judged: Judged) -> None:
        need = judged.evidence["twelve hours after the order"]["entries_at_odds"]
        assert [len(alternative) for alternative in need.alternatives] == [2]

    def test_an_arrest_is_cited_with_the_status(self, judged: Judged) -> None:
        needs = judged.evidence["an arrest half an hour before"]
        assert list(needs) == ["ventilation", "resuscitation_refused", "cardiac_arrest"]

    def test_nothing_recorded_rests_on_searches_of_both_sources(self, judged: Judged) -> None:
        search = judged.evidence["a limit set after T changes nothing"]["no_later_entry"].search
        assert [window.source for window in search] == ["icu.chartevents", "hosp.poe"]
        search = judged.evidence["ordered a minute later"]["no_entry"].search
        assert [(window.source, window.start) for window in search] == [
            ("icu.chartevents", after(-2 * DAY)),
            ("hosp.poe", after(-2 * DAY)),
        ]
