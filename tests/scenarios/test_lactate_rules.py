"""The rules of the repeat lactate at their boundaries: a minute and a unit either side of each."""

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import DAY, HOUR, Chart, Judged, Row, charted, culture, lab, order

SCENARIO = "05-lactate-remeasurement-six-hours"

LACTATE, CREATININE, SODIUM, BEDSIDE, HEART_RATE = 50813, 50912, 50983, 225668, 220045

YES, NO = ("yes", "repeated"), ("no", "not_repeated")
LEFT, LOST, SILENT = (("lack_of_data", rule) for rule in ("departed", "unresulted", "laboratory_silent"))
CLOCKS = ("medical_ambiguity", "between_clocks")

SIX = 6 * HOUR
CHEMISTRY = lab(CREATININE, 3 * HOUR, 1.1)
SUSPECTED = (culture(-15, specimen=1), order(60, "CefTRIAXone"))
INDEX = lab(LACTATE, 0, 3.4, specimen=11)


def lactate(at: float, value: float | None = 2.1, **values: object) -> Row:
    return lab(LACTATE, at, value, **values)  # type: ignore[arg-type]


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=(INDEX, *SUSPECTED, *rows), **stay)  # type: ignore[arg-type]


def late(drawn: float, repeat: float, **stay: object) -> Chart:
    rows = (INDEX, culture(drawn, specimen=1), order(60, "CefTRIAXone"), CHEMISTRY, lactate(repeat))
    return Chart(rows=rows, **stay)  # type: ignore[arg-type]


UNIT = {"icu": (-5 * HOUR, 2 * DAY)}

# fmt: off
CASES = {
    # --- the repeat
    "a lactate at the sixth hour is in time": (chart(lactate(SIX)), YES),
    "a minute after the sixth hour is too late": (chart(CHEMISTRY, lactate(SIX + 1)), NO),
    "eleven minutes after the index is a repeat": (chart(lactate(11)), YES),
    "ten minutes after the index is the same measurement": (chart(CHEMISTRY, lactate(10)), NO),
    "a row of the index specimen is no repeat": (chart(CHEMISTRY, lactate(40, 3.3, specimen=11)), NO),
    "a repeat of any height counts": (chart(lactate(5 * HOUR, 0.7)), YES),
    "a value out of the plausible range is none": (chart(lactate(5 * HOUR, 41)), LOST),
    "the largest plausible value counts": (chart(lactate(5 * HOUR, 40)), YES),
    "the draw decides, not the result": (chart(lactate(5 * HOUR, stored=9 * HOUR)), YES),
    "a result that is not known by as-of does not exist": (
        chart(CHEMISTRY, lactate(5 * HOUR, stored=12 * HOUR + 1)), NO),
    "a result known at as-of exists": (chart(lactate(5 * HOUR, stored=12 * HOUR)), YES),
    "the point-of-care analyser's lactate is another item": (chart(lab(52442, 4 * HOUR, 2.0)), NO),
    # --- the bedside chart
    "a bedside value an hour and a minute from every specimen counts": (
        chart(charted(BEDSIDE, 61, 2.0), **UNIT), YES),
    "a bedside value within the hour is a copy": (chart(charted(BEDSIDE, 60, 2.0), **UNIT), NO),
    "a bedside value within the hour of a lost specimen is a copy": (
        chart(charted(BEDSIDE, 4 * HOUR, 2.0), lactate(5 * HOUR, None), **UNIT), LOST),
    "a bedside value after the sixth hour is late": (chart(charted(BEDSIDE, SIX + 1, 2.0), **UNIT), NO),
    # --- lack of data: left, lost, silent
    "leaving a minute before the sixth hour leaves it open": (chart(CHEMISTRY, leaves=SIX - 1), LEFT),
    "leaving at the sixth hour does not": (chart(CHEMISTRY, leaves=SIX), NO),
    "dying before the sixth hour leaves it open": (chart(CHEMISTRY, leaves=SIX - 1, died=SIX - 1), LEFT),
    "leaving after a repeat changes nothing": (chart(lactate(2 * HOUR), leaves=3 * HOUR), YES),
    "a lactate specimen without a value leaves it open": (
        chart(CHEMISTRY, lactate(3 * HOUR, None, comment="SPECIMEN LOST.")), LOST),
    "a value marked cancelled is no value": (
        chart(CHEMISTRY, lactate(3 * HOUR, 2.0, comment="CANCELLED. WRONG TUBE.")), LOST),
    "not enough material is no value": (chart(CHEMISTRY, lactate(3 * HOUR, 2.0, comment="QNS.")), LOST),
    "a value that could not be verified for haemolysis is one": (
        chart(lactate(3 * HOUR, 2.0, comment="QNS TO VERIFY HEMOLYSIS.")), YES),
    "a lost specimen after the sixth hour changes nothing": (chart(CHEMISTRY, lactate(SIX + 1, None)), NO),
    "a lost twin of the index specimen changes nothing": (chart(CHEMISTRY, lactate(10, None)), NO),
    "a lost specimen beside a repeat changes nothing": (
        chart(lactate(2 * HOUR, None), lactate(3 * HOUR)), YES),
    "a ward without a single specimen is silent": (chart(lab(CREATININE, SIX + 1, 1.1)), SILENT),
    "one specimen at the sixth hour breaks the silence": (chart(lab(CREATININE, SIX, 1.1)), NO),
    "a row ten minutes after the index does not": (chart(lab(SODIUM, 10, 139)), SILENT),
    "a row eleven minutes after it does": (chart(lab(SODIUM, 11, 139)), NO),
    "an ICU stay that overlaps the six hours needs no specimen": (chart(icu=(SIX, DAY)), NO),
    "one that begins after them does not help": (chart(icu=(SIX + 1, DAY)), SILENT),
    "an emergency visit that overlaps them needs no specimen": (chart(ed=(-3 * HOUR, 30)), NO),
    # --- ambiguity: two clocks
    "six hours after a later first culture is between the clocks": (late(3 * HOUR, 9 * HOUR), CLOCKS),
    "a minute later is late by both": (late(3 * HOUR, 9 * HOUR + 1), NO),
    "with a culture at the index time there is one clock": (late(0, SIX + 1), NO),
    "with a culture a minute after it there are two": (late(1, SIX + 1), CLOCKS),
    "an earlier culture starts the clock": (
        Chart(rows=(INDEX, culture(-20, specimen=1), culture(3 * HOUR, specimen=2), order(60, "CefTRIAXone"),
                    CHEMISTRY, lactate(7 * HOUR))), NO),
    "leaving comes before ambiguity": (late(3 * HOUR, 7 * HOUR, leaves=5 * HOUR), LEFT),
    "a repeat in time comes before ambiguity": (
        Chart(rows=(INDEX, culture(3 * HOUR, specimen=1), order(60, "CefTRIAXone"), lactate(5 * HOUR),
                    lactate(8 * HOUR))), YES),
}

OUTSIDE = {
    "an index of exactly 2.0": Chart(rows=(lab(LACTATE, 0, 2.0), *SUSPECTED)),
    "two rows of one moment that average 2.0": Chart(
        rows=(lab(LACTATE, 0, 2.4), lab(LACTATE, 0, 1.6), *SUSPECTED)),
    "no culture within six hours": Chart(rows=(INDEX, culture(SIX + 1, specimen=1), order(60, "CefTRIAXone"))),
    "another specimen than blood": Chart(
        rows=(INDEX, culture(15, specimen=1, kind="URINE"), order(60, "CefTRIAXone"))),
    "no antibacterial within a day": Chart(rows=(INDEX, culture(15, specimen=1), order(DAY + 1, "CefTRIAXone"))),
    "an antibacterial for the eye": Chart(
        rows=(INDEX, culture(15, specimen=1), order(60, "Erythromycin 0.5% Ophth Oint", "LEFT EYE"))),
    "vancomycin by mouth": Chart(
        rows=(INDEX, culture(15, specimen=1), order(60, "Vancomycin Oral Liquid", "PO"))),
    "a child": Chart(rows=(INDEX, *SUSPECTED), age=17),
    "an index result that comes after as-of": Chart(
        rows=(lab(LACTATE, 0, 3.4, stored=12 * HOUR + 1), *SUSPECTED)),
    "a lactate before the visit": Chart(rows=(lab(LACTATE, -3 * DAY, 3.0), culture(-3 * DAY, specimen=1))),
}

INSIDE = {
    "an index of 2.1": Chart(rows=(lab(LACTATE, 0, 2.1), *SUSPECTED)),
    "a culture and an order at the edges": Chart(
        rows=(INDEX, culture(SIX, specimen=1), order(-DAY, "Piperacillin-Tazobactam"))),
    "a culture six hours before": Chart(
        rows=(INDEX, culture(-SIX, specimen=1), order(DAY, "Vancomycin"))),
    "an index drawn in the emergency department": Chart(rows=(INDEX, *SUSPECTED), ed=(-60, 3 * HOUR)),
    "an eighteen-year-old": Chart(rows=(INDEX, *SUSPECTED), age=18),
}
# fmt: on


FURTHER = {
    "late from T and in time from the culture": Chart(
        rows=(
            INDEX,
            culture(3 * HOUR, specimen=1),
            order(60, "CefTRIAXone"),
            lab(CREATININE, 2 * HOUR, 1.0),
            lactate(7.5 * HOUR),
        )
    )
}


class TestRules(Rules):
    """As every scenario's."""


def test_the_first_high_lactate_of_the_admission_is_the_index(judged: Judged) -> None:
    name = "a repeat in time comes before ambiguity"
    assert judged.tasks[name].index_eid == judged.rows(name, "hosp.labevents")[0]


class TestEvidence:
    """What an answer must rest on."""

    def test_any_lactate_of_the_window_proves_a_repeat(self, judged: Judged) -> None:
        name = "a repeat in time comes before ambiguity"
        index, repeat, _ = judged.rows(name, "hosp.labevents")
        needs = judged.evidence[name]
        assert list(needs) == ["index_lactate", "repeat_lactate"]
        assert needs["index_lactate"].alternatives == ((index,),)
        assert needs["repeat_lactate"].alternatives == ((repeat,),)

    def test_an_absence_asks_for_the_bedside_chart_only_where_there_is_one(self, judged: Judged) -> None:
        ward = judged.evidence["leaving at the sixth hour does not"]["no_repeat"]
        unit = judged.evidence["a bedside value within the hour is a copy"]["no_repeat"]
        assert [window.source for window in ward.search] == ["hosp.labevents"]
        assert [window.source for window in unit.search] == ["hosp.labevents", "icu.chartevents"]

    def test_presence_is_proved_by_a_specimen_a_late_lactate_or_a_place(self, judged: Judged) -> None:
        name = "a minute after the sixth hour is too late"
        _, chemistry, repeat = judged.rows(name, "hosp.labevents")
        place = judged.rows(name, "hosp.transfers")[0]
        assert set(judged.evidence[name]["presence"].alternatives) == {(chemistry,), (repeat,), (place,)}

    def test_a_departure_is_proved_by_the_admission_or_the_discharge(self, judged: Judged) -> None:
        name = "leaving a minute before the sixth hour leaves it open"
        admission, discharge = (
            judged.rows(name, "hosp.admissions")[0],
            judged.rows(name, "hosp.transfers")[-1],
        )
        assert set(judged.evidence[name]["departure"].alternatives) == {(admission,), (discharge,)}

    def test_silence_asks_for_a_search_of_all_specimens(self, judged: Judged) -> None:
        needs = judged.evidence["a ward without a single specimen is silent"]
        assert list(needs) == ["index_lactate", "no_laboratory"]
        (window,) = needs["no_laboratory"].search
        assert (window.source, window.items) == ("hosp.labevents", None)

    def test_a_lost_specimen_is_cited_itself(self, judged: Judged) -> None:
        name = "a lactate specimen without a value leaves it open"
        lost = judged.rows(name, "hosp.labevents")[-1]
        assert judged.evidence[name]["unresulted_specimen"].alternatives == ((lost,),)

    def test_ambiguity_rests_on_the_culture_and_the_late_lactate(self, judged: Judged) -> None:
        name = "six hours after a later first culture is between the clocks"
        needs = judged.evidence[name]
        (pending,) = judged.rows(name, "hosp.microbiologyevents")
        assert pending == "micro:s1"
        assert needs["first_culture"].alternatives == ((pending,),)
        assert needs["late_lactate"].alternatives == ((judged.rows(name, "hosp.labevents")[-1],),)

    def test_a_late_lactate_rests_on_the_search_that_found_none_before(self, judged: Judged) -> None:
        name = "late from T and in time from the culture"
        assert judged.verdicts[name][0] == "medical_ambiguity"
        assert set(judged.evidence[name]) == {"index_lactate", "no_repeat", "first_culture", "late_lactate"}
