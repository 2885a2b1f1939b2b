"""What nobody would have done or charted, given what else is in the chart, is taken out at the end."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache

from harness.synthetic.chart import Chart, Row
from harness.synthetic.dictionaries import drugs
from harness.synthetic.stays import Segment

_OR_SENT, _OR_RECEIVED = 225470, 225469
_POTASSIUM, _POTASSIUM_CHLORIDE = 50971, 225166
_HIGH, _WHILE = 5.5, timedelta(hours=12)


def clear_operations(chart: Chart) -> None:
    """Take out what nobody charts on the unit while the patient is in the operating room."""
    away = [span for _, stay in chart.icu_stays() for span in _operations(chart, stay)]

    def elsewhere(row: Row) -> bool:
        return any(sent < row["charttime"] < received for sent, received in away)

    for table in ("icu.chartevents", "icu.outputevents", "hosp.emar"):
        _take_out(chart, table, elsewhere)
    planted = {row["specimen_id"] for row in chart.rows["hosp.labevents"] if row.get("_planted")}
    _take_out(chart, "hosp.labevents", lambda row: row["specimen_id"] not in planted and elsewhere(row))


def feed_by_tube(chart: Chart) -> None:
    """While a tube is in the throat nothing is swallowed: what is not given through a stomach tube is not given."""
    spans = [span for _, stay in chart.icu_stays() if (span := chart.ventilated(stay))]
    events = chart.case.plant.event if chart.case.plant else ()
    planted = {(event.name or "").strip().lower() for event in events}

    def tubed(row: Row) -> bool:
        name = row["medication"].strip().lower()
        return name not in planted and any(begins <= row["charttime"] < ends for begins, ends in spans)

    _take_out(chart, "hosp.emar", lambda row: row["medication"] in _swallowed() and tubed(row))
    for detail in chart.rows["hosp.emar_detail"]:
        if detail.get("route") == "PO/NG" and tubed(detail["_emar"]):
            detail["route"] = "NG"


@cache
def _swallowed() -> frozenset[str]:
    """Drugs that the hospital gives by mouth only, and tablets that a patient asks for."""
    otherwise = {drug.name for drug in drugs() if not drug.route.startswith("PO")}
    found = {drug.name for drug in drugs() if drug.route == "PO"}
    found |= {drug.name for drug in drugs() if drug.route == "PO/NG" and drug.use == "prn"}
    return frozenset(found - otherwise - {"Acetaminophen"})


def limit_record(chart: Chart) -> None:
    """Take out the eMAR rows of times at which the patient's unit had no such record."""
    _take_out(chart, "hosp.emar", lambda row: not chart.records_doses(row["charttime"]))


def withhold_potassium(chart: Chart) -> None:
    """Take out potassium that was given although the last hours' results were high."""
    known = [
        max(row["charttime"], row["storetime"])
        for row in chart.rows["hosp.labevents"]
        if row["itemid"] == _POTASSIUM and float(row["valuenum"] or 0) >= _HIGH
    ]

    def unwise(time: datetime) -> bool:
        return any(moment <= time <= moment + _WHILE for moment in known)

    _take_out(
        chart,
        "icu.inputevents",
        lambda row: row["itemid"] == _POTASSIUM_CHLORIDE and unwise(row["starttime"]),
    )
    _take_out(
        chart,
        "hosp.emar",
        lambda row: row["medication"].startswith("Potassium Chloride") and unwise(row["charttime"]),
    )


def _operations(chart: Chart, stay: Segment) -> Iterator[tuple[datetime, datetime]]:
    rows = [row for row in chart.rows["icu.procedureevents"] if row["stay_id"] == stay.stay_id]
    sent = [row["starttime"] for row in rows if row["itemid"] == _OR_SENT]
    operation = chart.operation(stay)
    for received in (row["starttime"] for row in rows if row["itemid"] == _OR_RECEIVED):
        if operation and received == operation[1]:
            yield operation
        elif before := [time for time in sent if time < received]:
            yield max(before), received


def _take_out(chart: Chart, table: str, unlikely: Callable[[Row], bool]) -> None:
    gone = {id(row) for row in chart.rows[table] if unlikely(row)}
    chart.rows[table] = [row for row in chart.rows[table] if id(row) not in gone]
    for dependant, tie in (("hosp.emar_detail", "_emar"), ("icu.ingredientevents", "_input")):
        chart.rows[dependant] = [row for row in chart.rows[dependant] if id(row[tie]) not in gone]
