"""The KDIGO rules at their boundaries: a minute and a unit either side of each."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness.adjudication import adjudicate
from harness.data import data_folder
from harness.scenario import load_scenario
from mcp_mimic.chart.tasks import open_tasks
from tests.scenarios.kdigo_charts import (
    AMPLE,
    AS_OF,
    STEADY,
    Chart,
    Draw,
    Entry,
    T,
    after,
    draws,
    hourly,
    kdigo_task,
    write_charts,
)

CR, UO, RRT = ("yes", "high_creatinine"), ("yes", "low_urine"), ("yes", "renal_replacement")
NO = ("no", "below_stage_two")
ONE, NO_URINE, NO_WEIGHT = (
    ("lack_of_data", rule) for rule in ("one_creatinine", "uncharted_urine", "no_weight")
)
AMBIGUOUS = ("medical_ambiguity", "estimated_baseline")

MINUTE = timedelta(minutes=1)
WEEK, TWO_DAYS = timedelta(days=7), timedelta(hours=48)
LONG_AGO = after(-24 * 40)
DRAW = after(30)


def creatinine(*pairs: tuple[datetime, float]) -> Chart:
    return Chart(creatinine=draws(*pairs))


def oliguria(value: float, last: int = 30) -> list[Entry]:
    return [*hourly(70, 1, 16), *hourly(value, 17, last), *hourly(70, last + 1)]


def every(hours: float, times: int, first: datetime, value: float = 100) -> list[Entry]:
    return [Entry(first + timedelta(hours=hours * n), 226559, value) for n in range(times)]


# fmt: off
CASES = {
    "a steady chart is below stage two": (Chart(), NO),
    # --- creatinine: twice the baseline
    "exactly twice the baseline is stage two": (creatinine((after(-30), 0.9), (DRAW, 1.8)), CR),
    "one unit short of twice is not": (creatinine((after(-30), 0.9), (DRAW, 1.7)), NO),
    "the lowest of the week is the baseline, not the latest": (
        creatinine((after(-90), 0.9), (after(-30), 1.5), (DRAW, 1.8)), CR),
    "a value exactly seven days older is a baseline": (creatinine((DRAW - WEEK, 1.0), (DRAW, 2.0)), CR),
    "a value a minute older than seven days is none": (creatinine((DRAW - WEEK - MINUTE, 1.0), (DRAW, 2.0)), ONE),
    "a later value is no baseline": (creatinine((after(-30), 1.9), (DRAW, 2.0), (after(40), 1.0)), NO),
    "a draw at ICU admission counts": (creatinine((after(-30), 1.0), (T, 2.0)), CR),
    "a draw a minute before ICU admission does not": (
        creatinine((after(-30), 1.0), (T - MINUTE, 2.0), (after(10), 1.0)), NO),
    "two draws of one minute are averaged, below": (
        creatinine((after(-30), 1.0), (DRAW, 2.2), (DRAW, 1.7)), NO),
    "two draws of one minute are averaged, above": (
        creatinine((after(-30), 1.0), (DRAW, 2.2), (DRAW, 1.8)), CR),
    "a lost specimen's value does not count": (
        Chart(creatinine=[*STEADY, Draw(DRAW, 2.0, comment="SPECIMEN LOST")]), NO),
    "a row without a number does not count": (Chart(creatinine=[STEADY[0], Draw(DRAW, None)]), ONE),
    "whole-blood creatinine is another item": (Chart(creatinine=[*STEADY, Draw(DRAW, 2.0, itemid=52024)]), NO),
    "the chart's copy alone is not the laboratory's value": (
        Chart(observations=[Entry(DRAW, 220615, 2.0)]), NO),
    # --- creatinine: 4.0 and a rise
    "4.0 with a rise of 0.3 in two days is stage three": (
        creatinine((LONG_AGO, 3.6), (DRAW - TWO_DAYS, 3.7), (DRAW, 4.0)), CR),
    "4.0 with a rise of 0.2 is not": (creatinine((LONG_AGO, 3.6), (DRAW - TWO_DAYS, 3.8), (DRAW, 4.0)), NO),
    "3.9 with a rise of 0.3 is not": (creatinine((LONG_AGO, 3.6), (DRAW - TWO_DAYS, 3.6), (DRAW, 3.9)), NO),
    "a rise of 0.3 over two days and a minute is not": (
        creatinine((LONG_AGO, 3.6), (DRAW - TWO_DAYS - MINUTE, 3.7), (DRAW, 4.0)), NO),
    "4.2 at one and a half times the baseline is stage three": (
        creatinine((LONG_AGO, 2.8), (DRAW - TWO_DAYS - MINUTE, 2.8), (DRAW, 4.2)), CR),
    "4.2 short of one and a half times is not": (
        creatinine((LONG_AGO, 2.9), (DRAW - TWO_DAYS - MINUTE, 2.9), (DRAW, 4.2)), NO),
    # --- creatinine: what is available
    "a result of the as-of minute counts": (
        Chart(creatinine=[*STEADY, Draw(after(71), 2.0, stored=AS_OF)]), CR),
    "a result a minute after the as-of time does not": (
        Chart(creatinine=[*STEADY, Draw(after(71), 2.0, stored=AS_OF + MINUTE)]), NO),
    "a draw of the as-of minute counts": (Chart(creatinine=[*STEADY, Draw(AS_OF, 2.0)]), CR),
    "a baseline that is reported late is none": (
        Chart(creatinine=[Draw(after(-30), 1.0, stored=AS_OF + MINUTE), Draw(DRAW, 2.0)]), ONE),
    # --- urine: rate and time
    "thirteen hours below 0.5 mL/kg/h are stage two": (Chart(urine=oliguria(39, 29)), UO),
    "exactly 0.5 mL/kg/h is not": (Chart(urine=oliguria(40, 29)), NO),
    "twelve entries with one ample hour are not": (Chart(urine=oliguria(39, 28)), NO),
    "twelve charted hours are enough": (Chart(urine=hourly(20, 1, 12)), UO),
    "eleven charted hours are not": (Chart(urine=hourly(20, 1, 11)), NO_URINE),
    "twelve charted hours less a minute are not": (
        Chart(urine=[*hourly(20, 1, 11), Entry(after(12) - MINUTE, 226559, 20)]), NO_URINE),
    "a gap of six hours is charted time": (Chart(urine=every(6, 3, after(6))), UO),
    "a gap of a minute more is not": (Chart(urine=every(6 + 1 / 60, 4, after(6))), NO_URINE),
    "no urine after the catheter is out is not oliguria": (
        Chart(urine=[*hourly(70, 1, 24), Entry(after(40), 226559, 50)]), NO),
    "oliguria that ends six hours after admission is too early": (Chart(urine=hourly(20, -6, 6)), NO),
    "oliguria that ends a minute later counts": (
        Chart(urine=[*hourly(20, -6, 5), Entry(after(6) + MINUTE, 226559, 20)]), UO),
    "urine charted after the as-of time does not exist": (
        Chart(urine=[*hourly(20, 1, 11), Entry(after(12), 226559, 20, stored=AS_OF + MINUTE)]), NO_URINE),
    "several kinds of urine add up": (
        Chart(urine=[*oliguria(39, 29), *hourly(20, 17, 29, itemid=226560)]), NO),
    "irrigant that went in is taken off": (
        Chart(urine=[*AMPLE, *hourly(32, 17, 29, itemid=227488)]), UO),
    "other output is not urine": (
        Chart(urine=[*oliguria(39, 29), *hourly(100, 17, 29, itemid=226588)]), UO),
    # --- urine: weight
    "the latest weight before the entry counts": (
        Chart(urine=oliguria(39, 29), weight=[Entry(after(1), 226512, 90), Entry(after(17), 224639, 78)]), NO),
    "a weight charted after the entry does not count": (
        Chart(urine=oliguria(39, 29), weight=[Entry(after(1), 226512, 78), Entry(after(45), 224639, 90)]), NO),
    "the first weight of the stay serves the entries before it": (
        Chart(urine=oliguria(39, 29), weight=[Entry(after(60), 224639, 80)]), UO),
    "pounds are converted": (Chart(urine=oliguria(39, 29), weight=[Entry(after(1), 226531, 176.4)]), UO),
    "an impossible weight is none": (Chart(weight=[Entry(after(1), 226512, 12)]), NO_WEIGHT),
    # --- renal replacement
    "dialysis that starts at ICU admission counts": (Chart(procedures=[Entry(T, 225441)]), RRT),
    "dialysis that starts a minute before does not": (Chart(procedures=[Entry(T - MINUTE, 225441)]), NO),
    "dialysis that starts at the as-of time counts": (Chart(procedures=[Entry(AS_OF, 225802)]), RRT),
    "dialysis charted after the as-of time does not exist": (
        Chart(procedures=[Entry(after(71), 225802, stored=AS_OF + MINUTE)]), NO),
    "another procedure is no dialysis": (Chart(procedures=[Entry(after(5), 225402)]), NO),
    # --- lack of data
    "a creatinine alone has nothing to be compared with": (creatinine((after(3), 1.4)), ONE),
    "no creatinine of the window leaves its arm open": (creatinine((after(-30), 1.0), (after(-9), 1.0)), ONE),
    "no weight leaves urine unjudged": (Chart(weight=()), NO_WEIGHT),
    "no charted urine leaves it open": (Chart(urine=()), NO_URINE),
    "a doubled creatinine settles a chart without weight and urine": (
        Chart(creatinine=draws((after(-30), 1.0), (DRAW, 2.0)), urine=(), weight=()), CR),
    "oliguria settles a chart with one creatinine": (
        Chart(creatinine=draws((after(3), 1.0)), urine=oliguria(30, 29)), UO),
    "dialysis settles an empty chart": (
        Chart(creatinine=(), urine=(), weight=(), procedures=[Entry(after(5), 225802)]), RRT),
    # --- ambiguity: for a woman of 50 twice the estimated baseline is 1.705 mg/dL
    "a peak above twice the estimate without earlier values is ambiguous": (
        Chart(creatinine=draws((after(1), 1.8), (after(24), 1.5)), gender="F", age=50), AMBIGUOUS),
    "a peak a unit lower is not": (
        Chart(creatinine=draws((after(1), 1.7), (after(24), 1.5)), gender="F", age=50), NO),
    "the estimate depends on sex": (
        Chart(creatinine=draws((after(1), 1.8), (after(24), 1.5)), gender="M", age=50), NO),
    "a value exactly a day before ICU admission is not an earlier one": (
        Chart(creatinine=draws((after(-24), 1.8), (after(1), 1.8)), gender="F", age=50), AMBIGUOUS),
    "a value a minute older is": (
        Chart(creatinine=draws((after(-24) - MINUTE, 1.8), (after(1), 1.8)), gender="F", age=50), NO),
    "a value of a year ago is an earlier one": (
        Chart(creatinine=draws((T - timedelta(days=365), 1.8), (after(-3), 1.8), (after(1), 1.8)),
              gender="F", age=50), NO),
    "a value of a year and a minute ago is not": (
        Chart(creatinine=draws((T - timedelta(days=365) - MINUTE, 1.8), (after(-3), 1.8), (after(1), 1.8)),
              gender="F", age=50), AMBIGUOUS),
    "lack of data comes before ambiguity": (
        Chart(creatinine=draws((after(1), 1.8), (after(24), 1.5)), gender="F", age=50, weight=()), NO_WEIGHT),
}
NEAR_THE_THRESHOLD = {
    "urine at 0.46 mL/kg/h is too close to call": (Chart(urine=hourly(36.8)), False),
    "urine at 0.44 mL/kg/h is not": (Chart(urine=hourly(35.2)), True),
    "urine at 0.54 mL/kg/h is too close to call": (Chart(urine=hourly(43.2)), False),
    "urine at 0.55 mL/kg/h is not": (Chart(urine=hourly(44)), True),
    "an oliguria that fixed windows dilute is too close to call": (Chart(urine=oliguria(30, 30)), False),
    "a doubled creatinine needs no margin": (
        Chart(creatinine=draws((after(-30), 1.0), (DRAW, 2.0)), urine=hourly(40)), True),
    "dialysis needs no margin": (Chart(procedures=[Entry(after(5), 225802)], urine=hourly(40)), True),
    "nor does a chart whose urine cannot be judged": (Chart(weight=(), urine=hourly(40)), True),
}
# fmt: on


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, bool]]:
    """Verdict, rule and eligibility of every case, by its name."""
    charts = {name: chart for name, (chart, _) in (*CASES.items(), *NEAR_THE_THRESHOLD.items())}
    store = write_charts(tmp_path_factory.mktemp("kdigo"), charts.values())
    scenario = load_scenario(kdigo_folder())
    tasks = [kdigo_task(name, number) for number, name in enumerate(charts, start=1)]
    with open_tasks(store, tasks) as connection:
        adjudicate(connection, scenario)
        rows = connection.execute("select task_id, verdict, rule, eligible from adjudicated").fetchall()
    return {name: (verdict, rule, eligible) for name, verdict, rule, eligible in rows}


def kdigo_folder() -> Path:
    return data_folder("scenarios") / "determination" / "01-kdigo-stage-two-in-icu"


@pytest.mark.parametrize("claim", CASES)
def test_the_verdict_follows_the_rules(claim: str, judged: dict[str, tuple[str, str, bool]]) -> None:
    assert judged[claim][:2] == CASES[claim][1]


@pytest.mark.parametrize("claim", NEAR_THE_THRESHOLD)
def test_cases_near_the_urine_threshold_are_not_eligible(
    claim: str, judged: dict[str, tuple[str, str, bool]]
) -> None:
    assert judged[claim][2] is NEAR_THE_THRESHOLD[claim][1]
