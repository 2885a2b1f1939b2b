"""Provider orders that are not for drugs: admission, code status, diet, lines, tubes, tests, consults."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, minute, pick_provider
from harness.synthetic.draws import pick
from harness.synthetic.drugs import add_poe
from harness.synthetic.stays import Admission, Segment

_AT_FIRST = (
    ("General Care", "Vitals/Monitoring"),
    ("General Care", "Activity"),
    ("General Care", "Telemetry"),
    ("IV therapy", "IV access"),
    ("Nutrition", "Diet Order"),
)
_LATER: dict[tuple[str, str | None], int] = {
    ("Lab", None): 50,
    ("Radiology", "General Xray"): 25,
    ("General Care", "Other"): 16,
    ("IV therapy", "IV fluids"): 8,
    ("Nutrition", "Diet Order"): 6,
    ("General Care", "Activity"): 4,
    ("Blood Bank", "Blood tests"): 3,
    ("Cardiology", "ECG"): 2,
    ("Cardiology", "Echo"): 2,
    ("Consults", "Physical Therapy"): 3,
    ("Consults", "Social Work"): 2,
    ("Consults", "Palliative Care/Ethics Support"): 1,
    ("General Care", "Therapeutic devices/DVT/Prophylaxis"): 2,
    ("General Care", "Wound Care"): 2,
}
_REPLACED = ("Nutrition", "Activity")
FOLEY = "Indwelling urinary catheter (IUC) - Foley"
_OTHER_TUBES = ("NGT", "Chest tube", "Closed suction drain")
_FULL = {"Resuscitate (Full code)": 8, "Full code  (attempt resuscitation)": 2}
_LIMITED = {
    "Do not resuscitate (DNR/DNI)": 2,
    "DNAR (DO NOT attempt resuscitation for cardiac arrest) ": 1,
}


def add_orders(chart: Chart) -> None:
    """Write the orders of every admission."""
    rng = chart.rng("orders")
    for admission in chart.admissions:
        _Orders(chart, admission, rng).write()


class _Orders:
    """The orders of one admission."""

    def __init__(self, chart: Chart, admission: Admission, rng: Random) -> None:
        self._chart, self._admission, self._rng = chart, admission, rng
        self._in_force: dict[tuple[str, str | None], Row] = {}

    def write(self) -> None:
        """Write them all."""
        rng, admission = self._rng, self._admission
        ordered = admission.admitted + timedelta(minutes=rng.randint(5, 50), seconds=rng.randrange(60))
        self._order(ordered, "ADT orders", "Admit", ("Admit category", "Admit to inpatient"))
        self._add_code_status(ordered)
        for kind, first in _AT_FIRST:
            self._order(ordered + timedelta(minutes=rng.randint(0, 20)), kind, first)
        time = ordered + timedelta(hours=rng.uniform(4, 16))
        while time < admission.discharged:
            kind, subtype = pick(rng, _LATER)
            replaces = kind in _REPLACED or subtype in _REPLACED
            self._order(time.replace(microsecond=0), kind, subtype, change=replaces)
            time += timedelta(hours=rng.uniform(3, 13))
        for stay in admission.icu:
            self._add_ventilation(stay)
            self._add_catheter(stay)
        if not admission.died:
            leave = minute(admission.discharged) - timedelta(minutes=rng.randint(20, 90))
            if leave > admission.admitted:
                self._order(leave, "ADT orders", "Discharge", ("Discharge When", "Discharge Now"))

    def _order(
        self,
        time: datetime,
        kind: str,
        subtype: str | None,
        detail: tuple[str, str] | None = None,
        *,
        change: bool = False,
    ) -> None:
        """Write an order; a change replaces the one of its kind that is in force, if there is one."""
        before = self._in_force.get((kind, subtype)) if change else None
        hadm_id, provider = self._admission.hadm_id, pick_provider(self._rng)
        transaction = "Change" if before else "New"
        order = add_poe(self._chart, hadm_id, time, kind, subtype, provider, transaction=transaction)
        if before is not None:
            order["_discontinues"], before["_discontinued_by"] = before, order
        if detail is not None:
            name, value = detail
            self._chart.add("hosp.poe_detail", {"_order": order, "field_name": name, "field_value": value})
        self._in_force[kind, subtype] = order

    def _end(self, time: datetime, kind: str, subtype: str | None) -> None:
        before = self._in_force.pop((kind, subtype))
        hadm_id, provider = self._admission.hadm_id, pick_provider(self._rng)
        order = add_poe(self._chart, hadm_id, time, kind, subtype, provider, transaction="D/C")
        order["_discontinues"], before["_discontinued_by"] = before, order

    def _add_code_status(self, ordered: datetime) -> None:
        rng = self._rng
        self._order(ordered, "General Care", "Code status", ("Code status", pick(rng, _FULL)))
        limited = self._chart.limited_from(self._admission)
        if limited is not None:
            noted = max(ordered, limited) + timedelta(seconds=rng.randint(30, 900))
            status = ("Code status", pick(rng, _LIMITED))
            if noted < self._admission.discharged:
                self._order(noted, "General Care", "Code status", status, change=True)

    def _add_ventilation(self, stay: Segment) -> None:
        rng, span = self._rng, self._chart.ventilated(stay)
        if span is None:
            return
        self._order(
            span[0] + timedelta(seconds=rng.randint(60, 2400)), "Respiratory", "Mechanical Ventilation"
        )
        if rng.random() < 0.4:
            self._order(span[1] - timedelta(seconds=rng.randint(60, 2400)), "Respiratory", "Extubate")

    def _add_catheter(self, stay: Segment) -> None:
        """A catheter's order is renewed each day, and often nobody ends it."""
        rng, catheter, kind = self._rng, self._chart.catheter(stay), ("General Care", "Tubes/Drains")
        if catheter is None or rng.random() < 0.15:
            return
        time, detail = catheter[0] + timedelta(seconds=rng.randint(60, 5400)), ("Tubes & Drains type", FOLEY)
        if time >= catheter[1]:
            return
        self._order(time, *kind, detail)
        while (time := time + timedelta(hours=rng.uniform(20, 28))) < catheter[1]:
            if rng.random() < 0.7:
                self._order(time.replace(microsecond=0), *kind, detail, change=True)
        if catheter[1] < minute(stay.end) and rng.random() < 0.6:
            self._end(catheter[1] + timedelta(seconds=rng.randint(30, 3600)), *kind)
        if self._chart.person.condition in ("surgical", "trauma"):
            self._in_force.pop(kind, None)
            other = ("Tubes & Drains type", rng.choice(_OTHER_TUBES))
            self._order(catheter[0] + timedelta(seconds=rng.randint(600, 9000)), *kind, other)
