"""The rules of the breathing trial at their boundaries: a minute and a unit either side of each."""

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
    given,
    ordered,
    procedure,
)

SCENARIO = "21-breathing-trial-before-extubation"

EXTUBATION, VENTILATION = 227194, 225792
STARTED, STOPPED, COMPLETED, DEFERRED, RAPID = 224715, 224716, 224717, 224833, 224740
MODE, HAMILTON, SUPPORT, PEEP, DEVICE = 223849, 229314, 224701, 220339, 226732
CMV, PSV = "CMV/ASSIST/AutoFlow", "CPAP/PSV"

YES, NO, PUT_OFF = ("yes", "documented"), ("no", "none"), ("no", "deferred")
LACK, LOW = ("lack_of_data", "not_charted"), ("medical_ambiguity", "low_support")
PIECE, ENDED = ("medical_ambiguity", "t_piece"), ("medical_ambiguity", "stopped")

UNIT = (-60 * HOUR, 20 * HOUR)
GROUND = (procedure(VENTILATION, -40 * HOUR, 0), procedure(EXTUBATION, 0, 1))


def worded(itemid: int, at: float, text: str | None = "Yes", *, known: float | None = None) -> Row:
    values = charted(itemid, at).values
    seen = values["storetime"] if known is None else after(known)
    return Row("icu.chartevents", {**values, "value": text, "valuenum": None, "storetime": seen})


def chart(*rows: Row, **stay: object) -> Chart:
    """Controlled ventilation, charted four times in the day."""
    modes = tuple(worded(MODE, -at * HOUR, CMV) for at in (22, 16, 10, 5))
    return Chart(rows=(*GROUND, *modes, *rows), icu=UNIT, **stay)  # type: ignore[arg-type]


def bare(*rows: Row, **stay: object) -> Chart:
    """A ventilator of which nothing is charted but the rows."""
    return Chart(rows=(*GROUND, *rows), icu=UNIT, **stay)  # type: ignore[arg-type]


def low(
    *minutes: float, mode: str = PSV, item: int = MODE, psv: float = 8, peep: float = 8
) -> tuple[Row, ...]:
    """Mode rows with support and PEEP at the first of them."""
    pressures = (charted(SUPPORT, minutes[0], psv), charted(PEEP, minutes[0], peep))
    return (*pressures, *(worded(item, at, mode) for at in minutes))


# fmt: off
CASES = {
    # --- what was charted as a trial
    "none was": (chart(), NO),
    "a trial was started": (chart(worded(STARTED, -180)), YES),
    "one was completed": (chart(worded(COMPLETED, -180)), YES),
    "an entry without a word counts": (chart(worded(STARTED, -180, None)), YES),
    "No is no trial": (chart(worded(STARTED, -180, "No"), worded(COMPLETED, -180, "No")), NO),
    "no in small letters neither": (chart(worded(STARTED, -180, " no")), NO),
    "a word that begins like it does": (chart(worded(STARTED, -180, "Noted")), YES),
    "the mode of a trial": (chart(worded(MODE, -180, "PSV/SBT")), YES),
    "the mode of a trial among those of another ventilator": (chart(worded(HAMILTON, -180, "PSV/SBT")), NO),
    "a deferral is no trial": (chart(worded(DEFERRED, -180)), PUT_OFF),
    "a deferred index of breathing is none": (chart(worded(RAPID, -180)), NO),
    # --- the window
    "24 hours before": (chart(worded(STARTED, -DAY)), YES),
    "a minute earlier": (chart(worded(STARTED, -DAY - 1)), NO),
    "at the extubation": (chart(worded(STARTED, 0)), YES),
    "a minute after it": (chart(worded(STARTED, 1)), NO),
    "noted at as-of": (chart(worded(STARTED, -180, known=HOUR)), YES),
    "noted a minute later": (chart(worded(STARTED, -180, known=HOUR + 1)), NO),
    # --- a trial that ended before its time
    "stopped": (chart(worded(STARTED, -180), worded(STOPPED, -150, "Increased RR")), ENDED),
    "stopped without a start": (chart(worded(STOPPED, -150, "Increased RR")), ENDED),
    "a stop that says No": (chart(worded(STARTED, -180), worded(STOPPED, -150, "No")), YES),
    "a stop before the window": (chart(worded(STOPPED, -DAY - 1, "Increased RR")), NO),
    "a later completion": (
        chart(worded(STARTED, -180), worded(STOPPED, -150, "Increased RR"), worded(COMPLETED, -149)), YES),
    "a completion in the same minute": (
        chart(worded(STARTED, -150), worded(STOPPED, -150, "Increased RR"), worded(COMPLETED, -150)), YES),
    "a start in the same minute": (
        chart(worded(STARTED, -150), worded(STOPPED, -150, "Increased RR")), ENDED),
    "a later start": (
        chart(worded(STARTED, -180), worded(STOPPED, -150, "Increased RR"), worded(STARTED, -149)), YES),
    "a later mode of a trial": (
        chart(worded(STARTED, -180), worded(STOPPED, -150, "Increased RR"), worded(MODE, -149, "PSV/SBT")), YES),
    "a completion before the stop": (
        chart(worded(COMPLETED, -180), worded(STOPPED, -179, "Increased RR")), ENDED),
    "a completion that says No after a start": (
        chart(worded(STARTED, -180), worded(COMPLETED, -150, "No")), ENDED),
    "a completion that says No before the start": (
        chart(worded(STARTED, -180), worded(COMPLETED, -181, "No")), YES),
    "a stopped trial needs no modes": (bare(worded(STOPPED, -150, "Increased RR")), ENDED),
    # --- as little support as in a trial
    "half an hour of low support": (chart(*low(-60, -30)), LOW),
    "a minute less": (chart(*low(-59, -30)), NO),
    "a support of 9": (chart(*low(-60, -30, psv=9)), NO),
    "a PEEP of 9": (chart(*low(-60, -30, peep=9)), NO),
    "without a support": (chart(charted(PEEP, -60, 5), worded(MODE, -60, PSV), worded(MODE, -30, PSV)), NO),
    "without a PEEP": (chart(charted(SUPPORT, -60, 5), worded(MODE, -60, PSV), worded(MODE, -30, PSV)), NO),
    "a support charted four hours before": (
        chart(charted(SUPPORT, -300, 5), charted(PEEP, -60, 5), worded(MODE, -90, PSV), worded(MODE, -60, PSV)), NO),
    "a support and a PEEP charted four hours before": (
        chart(charted(SUPPORT, -270, 5), charted(PEEP, -270, 5), worded(MODE, -60, PSV), worded(MODE, -30, PSV)), LOW),
    "a minute earlier than that": (
        chart(charted(SUPPORT, -271, 5), charted(PEEP, -271, 5), worded(MODE, -60, PSV), worded(MODE, -30, PSV)), NO),
    "the last support before the row decides": (
        chart(*low(-60, -30), charted(SUPPORT, -40, 12)), NO),
    "another mode between": (chart(*low(-60, -20), worded(MODE, -40, CMV)), NO),
    "more support between": (chart(*low(-60, -20), worded(MODE, -40, PSV), charted(SUPPORT, -40, 12)), NO),
    "three rows in a row": (chart(*low(-60, -45, -30)), LOW),
    "with a backup": (chart(*low(-60, -30, mode="CPAP/PSV+ApnVol")), LOW),
    "CPAP/PPS": (chart(*low(-60, -30, mode="CPAP/PPS")), LOW),
    "SPONT of the other ventilators": (chart(*low(-60, -30, mode="SPONT", item=HAMILTON)), LOW),
    "adaptive support is none": (chart(*low(-60, -30, mode="ASV", item=HAMILTON)), NO),
    "pressure control with support is none": (chart(*low(-60, -30, mode="PCV+/PSV")), NO),
    "low support that ends before the window begins": (chart(*low(-DAY - 31, -DAY - 1)), NO),
    "of which half an hour lies in the window": (chart(*low(-DAY, -DAY + 30)), LOW),
    "of which a minute less lies in it": (chart(*low(-DAY - 1, -DAY + 29)), NO),
    "a label settles it": (chart(*low(-60, -30), worded(STARTED, -60)), YES),
    "a deferral does not": (chart(*low(-60, -30), worded(DEFERRED, -180)), LOW),
    "low support alone is no lack of data": (bare(*low(-60, -30)), LOW),
    # --- a T-piece
    "half an hour on a T-piece": (chart(worded(DEVICE, -30, "T-piece")), PIECE),
    "a minute less on it": (chart(worded(DEVICE, -29, "T-piece")), NO),
    "until another device": (chart(worded(DEVICE, -60, "T-piece"), worded(DEVICE, -31, "Endotracheal tube")), NO),
    "until another device, half an hour": (
        chart(worded(DEVICE, -60, "T-piece"), worded(DEVICE, -30, "Endotracheal tube")), PIECE),
    "until a mode is charted again": (chart(worded(DEVICE, -60, "T-piece"), worded(MODE, -31, CMV)), NO),
    "a T-piece charted twice": (chart(worded(DEVICE, -40, "T-piece"), worded(DEVICE, -20, "T-piece")), PIECE),
    "a tube is no T-piece": (chart(worded(DEVICE, -60, "Endotracheal tube")), NO),
    # --- whether the ventilator was being charted
    "nothing charted": (bare(), LACK),
    "two modes are too few": (bare(worded(MODE, -90, CMV), worded(MODE, -60, CMV)), LACK),
    "three are enough": (bare(*(worded(MODE, -at, CMV) for at in (90, 60, 30))), NO),
    "of either ventilator": (
        bare(worded(MODE, -90, CMV), worded(HAMILTON, -60, "ASV"), worded(HAMILTON, -30, "ASV")), NO),
    "two at one time are one": (
        bare(worded(MODE, -90, CMV), worded(HAMILTON, -90, "ASV"), worded(MODE, -60, CMV)), LACK),
    "modes outside the window": (
        bare(worded(MODE, -DAY - 1, CMV), worded(MODE, -60, CMV), worded(MODE, -30, CMV), worded(MODE, 1, CMV)), LACK),
    "one at either end": (
        bare(worded(MODE, -DAY, CMV), worded(MODE, -60, CMV), worded(MODE, 0, CMV)), NO),
    "a deferral is enough": (bare(worded(DEFERRED, -20 * HOUR)), PUT_OFF),
    "a deferral before the window is not": (bare(worded(DEFERRED, -DAY - 1)), LACK),
    "a trial needs no modes": (bare(worded(STARTED, -180)), YES),
    "settings without a mode show nothing": (
        bare(*(charted(PEEP, -at, 5) for at in (90, 60, 30)), given(-60, "Propofol")), LACK),
}


def stays(*rows: Row, icu: tuple[float, float] = UNIT, **stay: object) -> Chart:
    """A chart whose ventilation and extubation are the rows."""
    return Chart(rows=rows, icu=icu, **stay)  # type: ignore[arg-type]


T_ROW = procedure(EXTUBATION, 0, 1)
OUTSIDE = {
    "a minute less than a day of ventilation": stays(procedure(VENTILATION, -DAY + 1, 0), T_ROW),
    "two days with a break": stays(
        procedure(VENTILATION, -2 * DAY, -20 * HOUR), procedure(VENTILATION, -18 * HOUR, 0), T_ROW),
    "ventilation that ended more than an hour before": stays(procedure(VENTILATION, -2 * DAY, -61), T_ROW),
    "an extubation that the patient made": stays(*GROUND, procedure(225468, -120, -119)),
    "one that an accident made": stays(*GROUND, procedure(225477, 120, 121)),
    "a tracheostomy": stays(*GROUND, procedure(225448, -30 * HOUR, -30 * HOUR + 1)),
    "a tracheostomy tube": stays(*GROUND, worded(DEVICE, -45 * HOUR, "Tracheostomy tube")),
    "comfort care": stays(*GROUND, worded(223758, -60, "Comfort measures only")),
    "comfort care charted soon after": stays(*GROUND, worded(223758, 60, "Comfort measures only")),
    "comfort care ordered": stays(
        *GROUND, ordered(-60, "General Care"),
        Row("hosp.poe_detail", {"field_name": "Code status", "field_value": "Comfort measures only (CMO)"})),
    "an extubation noted after as-of": stays(
        GROUND[0], Row("icu.procedureevents", {**T_ROW.values, "storetime": after(HOUR + 1)})),
    "an extubation that was rewritten": stays(
        GROUND[0], Row("icu.procedureevents", {**T_ROW.values, "statusdescription": "Rewritten"})),
    "a child": chart(age=17),
}
INSIDE = {
    "a day of ventilation": stays(procedure(VENTILATION, -DAY, 0), T_ROW),
    "ventilation that ended an hour before": stays(procedure(VENTILATION, -2 * DAY, -60), T_ROW),
    "ventilation that goes on": stays(procedure(VENTILATION, -2 * DAY, 600), T_ROW),
    "ventilation known from its modes": stays(*(worded(MODE, -at * HOUR, CMV) for at in (25, 13, 1)), T_ROW),
    "an unplanned extubation more than two hours away": stays(*GROUND, procedure(225468, -121, -120)),
    "comfort care an hour and a minute later": stays(*GROUND, worded(223758, 61, "Comfort measures only")),
    "full code": stays(*GROUND, worded(223758, -60, "Full code")),
    "a tracheostomy afterwards": stays(*GROUND, procedure(226237, 60, 61)),
}
FIRST = {
    "an earlier extubation after less than a day": stays(
        procedure(VENTILATION, -55 * HOUR, -50 * HOUR), procedure(EXTUBATION, -50 * HOUR, -50 * HOUR + 1), *GROUND),
    "a second extubation": stays(
        *GROUND, procedure(VENTILATION, 60, 3 * DAY), procedure(EXTUBATION, 3 * DAY, 3 * DAY + 1),
        icu=(-60 * HOUR, 80 * HOUR), leaves=4 * DAY),
}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", FIRST)
def test_the_first_extubation_after_a_day_is_the_index(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(0)


class TestEvidence:
    """What an answer must rest on."""

    def test_a_trial_rests_on_the_extubation_and_any_of_its_rows(self, judged: Judged) -> None:
        name = "a later start"
        needs = judged.evidence[name]
        assert list(needs) == ["index_extubation", "trial"]
        assert needs["index_extubation"].alternatives == ((judged.tasks[name].index_eid,),)
        assert len(needs["trial"].alternatives) == 2

    def test_none_rests_on_a_search_and_on_a_charted_ventilator(self, judged: Judged) -> None:
        needs = judged.evidence["none was"]
        assert list(needs) == ["index_extubation", "no_trial", "ventilator_charted"]
        (window,) = needs["no_trial"].search
        assert (window.source, window.start, window.end) == ("icu.chartevents", after(-DAY), after(0))
        assert {STARTED, COMPLETED, STOPPED, MODE} == set(window.items or ())
        assert all(len(rows) == 3 for rows in needs["ventilator_charted"].alternatives)

    def test_a_deferral_stands_for_the_modes(self, judged: Judged) -> None:
        name = "a deferral is enough"
        assert judged.evidence[name]["ventilator_charted"].alternatives == (
            (judged.rows(name, "icu.chartevents")[0],),
        )

    def test_low_support_rests_on_two_modes_and_a_pressure(self, judged: Judged) -> None:
        needs = judged.evidence["half an hour of low support"]
        assert list(needs) == ["index_extubation", "no_trial", "low_support"]
        assert [len(rows) for rows in needs["low_support"].alternatives] == [3]

    def test_a_stopped_trial_rests_on_its_last_stop(self, judged: Judged) -> None:
        name = "stopped"
        needs = judged.evidence[name]
        assert list(needs) == ["index_extubation", "stopped_trial"]
        assert needs["stopped_trial"].alternatives == ((judged.rows(name, "icu.chartevents")[-1],),)

    def test_a_lack_rests_on_two_searches(self, judged: Judged) -> None:
        assert list(judged.evidence["nothing charted"]) == ["index_extubation", "no_trial", "few_modes"]
