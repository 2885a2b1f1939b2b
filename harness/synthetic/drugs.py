"""Drug orders and what became of them: order entry, pharmacy, prescription, administrations."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.administrations import add_administration
from harness.synthetic.chart import Chart, Row, minute, pick_provider
from harness.synthetic.dictionaries import Drug, drugs
from harness.synthetic.draws import pick
from harness.synthetic.stays import Admission

_POTASSIUM = (50971, 50822)
_LOWERS_POTASSIUM = (
    "Calcium Chloride",
    "Insulin Regular",
    "Insulin (Regular) for Hyperkalemia",
    "Dextrose 50%",
    "Sodium Bicarbonate",
    "Albuterol 0.083% Neb Soln",
    "Sodium Polystyrene Sulfonate",
)
_OF_MEN = ("Tamsulosin",)
_STATUSES = {
    "Discontinued via patient discharge": 45,
    "Discontinued": 38,
    "Expired": 9,
    "Inactive (Due to a change order)": 8,
}
_FLUSH: dict[str | None, int] = {"Flushed": 70, "Not Flushed": 28, "Delayed Flushed": 2}
_SLIDING: dict[str | None, int] = {"Administered": 52, "Not Given per Sliding Scale": 44, "Not Given": 4}
_DRIP: dict[str | None, int] = {
    "Started": 20,
    "Confirmed": 40,
    "Infusion Reconciliation": 20,
    "Stopped": 10,
    "Restarted": 10,
}
_USUAL: dict[str | None, int] = {
    "Administered": 870,
    "Not Given": 80,
    "Delayed Administered": 14,
    "Hold Dose": 14,
    "Partial Administered": 4,
    " in Other Location": 3,
    "Delayed ": 2,
    "Assessed": 8,
    None: 5,
}


def add_drugs(chart: Chart) -> None:
    """Write the regimen of every admission, and the doses in the emergency department."""
    for admission in chart.admissions:
        rng = chart.rng(f"drugs {admission.hadm_id}")
        if chart.person.emar and admission.ed:
            _add_emergency_doses(chart, admission, rng)
        for drug in _regimen(chart, admission, rng):
            _add_course(chart, admission, drug, rng)
    if chart.person.condition in ("potassium", "dialysis"):
        _treat_potassium(chart, chart.rng("treatment"))


def _regimen(chart: Chart, admission: Admission, rng: Random) -> list[Drug]:
    by_use: dict[str, list[Drug]] = {}
    for drug in drugs():
        by_use.setdefault(drug.use, []).append(drug)
    condition = chart.person.condition
    chosen = by_use["always"] + [drug for drug in by_use["often"] if rng.random() < 0.7]
    home = [drug for drug in by_use["home"] if chart.person.sex == "M" or drug.name not in _OF_MEN]
    chosen += rng.sample(home, rng.randint(3, 5)) + rng.sample(by_use["prn"], rng.randint(2, 3))
    if condition in ("infection", "sepsis", "staph"):
        chosen += rng.sample(by_use["antibiotic"], 2)
    if condition in ("cardiac", "surgical", "airway", "dialysis"):
        uses = by_use[condition]
        chosen += rng.sample(uses, min(2, len(uses)))
    if chart.person.diabetic:
        chosen += by_use["diabetic"]
    ventilations = [chart.ventilated(stay) for stay in admission.icu]
    if any(ventilations):
        chosen += by_use["ventilated"] + by_use["drip"][:1]
    return chosen + [drug for drug in by_use["replacement"][:2] if rng.random() < 0.4]


def _add_course(chart: Chart, admission: Admission, drug: Drug, rng: Random) -> None:
    first = next(
        segment
        for segment in admission.segments
        if segment.kind != "ed" or segment.end >= admission.discharged
    )
    begins = max(first.start, admission.admitted) + timedelta(minutes=rng.randint(15, 170))
    if drug.use == "replacement":
        begins += timedelta(hours=rng.randint(0, 30))
    ends = admission.discharged
    if drug.use in ("antibiotic", "surgical", "airway") and rng.random() < 0.5:
        ends = min(ends, begins + timedelta(hours=rng.randint(30, 96)))
    if drug.use == "replacement":
        ends = min(ends, begins + timedelta(hours=rng.randint(4, 20)))
    if drug.use == "drip":
        begins, ends = next(span for stay in admission.icu if (span := chart.ventilated(stay)))
    if begins >= ends:
        return
    order = add_order(chart, admission, drug, begins, ends, rng)
    if chart.person.emar:
        for time, events in _times(drug, begins, ends, rng):
            add_administration(chart, admission, drug, time, pick(rng, events), rng, order=order)


def _treat_potassium(chart: Chart, rng: Random) -> None:
    """Often, but not always, treat the first very high potassium soon after its result."""
    high = [
        row
        for row in chart.rows["hosp.labevents"]
        if row["itemid"] in _POTASSIUM and row["valuenum"] is not None and float(row["valuenum"]) >= 6.5
    ]
    if not high or rng.random() < 0.35:
        return
    known = min(max(row["charttime"], row["storetime"]) for row in high)
    time = known + timedelta(minutes=rng.randint(4, 75))
    admission = chart.admission_at(time)
    if not any(visit.arrived <= time <= visit.discharged for visit in chart.admissions):
        return
    lowering = [drug for drug in drugs() if drug.use == "acute" and drug.name in _LOWERS_POTASSIUM]
    for drug in [drug for drug in lowering if rng.random() < 0.5]:
        order = add_order(chart, admission, drug, time, time + timedelta(hours=1), rng)
        if chart.person.emar:
            add_administration(chart, admission, drug, time, "Administered", rng, order=order)
        time += timedelta(minutes=rng.randint(1, 9))


def _times(
    drug: Drug, begins: datetime, ends: datetime, rng: Random
) -> Iterator[tuple[datetime, dict[str | None, int]]]:
    events = _USUAL
    if "Flush" in drug.name:
        events = _FLUSH
    elif drug.unit == "UNIT" and drug.use == "diabetic" and drug.dose == 0:
        events = _SLIDING
    elif drug.use == "drip":
        events = _DRIP
    if not drug.hours:
        time = begins + timedelta(minutes=rng.randint(30, 600))
        while time < ends:
            yield minute(time), events
            time += timedelta(minutes=rng.randint(180, 1500))
        return
    day = begins.replace(hour=0, minute=0, second=0)
    while day < ends:
        for hour in sorted(drug.hours):
            time = day + timedelta(hours=hour, minutes=rng.randint(-25, 50))
            if begins < time < ends:
                yield time, events
        day += timedelta(days=1)


def _add_emergency_doses(chart: Chart, admission: Admission, rng: Random) -> None:
    ed = admission.ed
    if ed is None:
        return
    given = [
        drug for drug in drugs() if drug.name in ("Acetaminophen", "Ondansetron", "HYDROmorphone (Dilaudid)")
    ]
    flush = drugs()[0]
    time = minute(ed.start + timedelta(minutes=rng.randint(12, 35)))
    while time < ed.end:
        drug = flush if rng.random() < 0.35 else rng.choice(given)
        events = _FLUSH if drug is flush else _USUAL
        add_administration(chart, None, drug, time, pick(rng, events), rng, order=None)
        time = minute(time + timedelta(minutes=rng.randint(35, 110)))


def add_order(
    chart: Chart,
    admission: Admission | None,
    drug: Drug,
    begins: datetime,
    ends: datetime,
    rng: Random,
    *,
    route: str | None = None,
    dose: float | None = None,
    unit: str | None = None,
    ordered: datetime | None = None,
    written: str | None = None,
) -> Row:
    """Write the order, its pharmacy record and its prescription; the order's row.

    Prescription times are whole hours; the order is written some minutes before `begins` unless `ordered`
    says when. `written` is the dose where it is no number.
    """
    hadm_id = admission.hadm_id if admission else None
    provider, pharmacy_id = pick_provider(rng), chart.ids.next("pharmacy")
    before = timedelta(minutes=rng.randint(3, 14), seconds=rng.randrange(60))
    ordered = begins - before if ordered is None else ordered
    starts, stops = begins.replace(minute=0, second=0), ends.replace(minute=0, second=0)
    order = add_poe(chart, hadm_id, ordered, "Medications", None, provider)
    order["_pharmacy_id"] = pharmacy_id
    route = route or drug.route
    shared: Row = {"hadm_id": hadm_id, "pharmacy_id": pharmacy_id, "_order": order}
    _add_pharmacy(chart, {**shared, "starttime": starts, "stoptime": stops}, drug, ordered, route, rng)
    given = written or f"{drug.dose if dose is None else dose:g}"
    shared |= {"order_provider_id": provider, "starttime": starts, "stoptime": stops, "route": route}
    chart.add(
        "hosp.prescriptions",
        {
            **shared,
            "drug_type": "MAIN",
            "drug": drug.name,
            "formulary_drug_cd": drug.code,
            "gsn": f"{rng.randrange(1000, 75000):06d}",
            "ndc": f"{rng.randrange(10**8, 10**10):011d}",
            "prod_strength": drug.strength,
            "dose_val_rx": given,
            "dose_unit_rx": unit or drug.unit,
            "form_val_disp": "1",
            "form_unit_disp": drug.product,
            "doses_per_24_hrs": drug.per_day or None,
        },
    )
    if drug.process == "IV Piggyback":
        base = {"drug_type": "BASE", "drug": "0.9% Sodium Chloride", "prod_strength": "100 mL Bag"}
        amounts = {"dose_val_rx": "100", "dose_unit_rx": "mL", "form_val_disp": "1", "form_unit_disp": "BAG"}
        chart.add("hosp.prescriptions", {**shared, **base, **amounts})
    if rng.random() < 0.25 and admission and ends < admission.discharged:
        stop = add_poe(chart, hadm_id, ends, "Medications", None, provider, transaction="D/C")
        stop["_discontinues"] = order
        order["_discontinued_by"] = stop
    return order


def _add_pharmacy(chart: Chart, row: Row, drug: Drug, ordered: datetime, route: str, rng: Random) -> None:
    row |= {
        "medication": drug.name,
        "proc_type": drug.process,
        "status": pick(rng, _STATUSES),
        "entertime": ordered,
        "verifiedtime": ordered + timedelta(minutes=rng.randint(1, 40)),
        "route": route,
        "frequency": {1: "DAILY", 2: "BID", 3: "TID", 4: "QID"}.get(drug.per_day, "ASDIR"),
        "disp_sched": ", ".join(f"{hour:02d}" for hour in sorted(drug.hours)) or None,
        "doses_per_24_hrs": drug.per_day or None,
        "duration_interval": "Ongoing",
        "expiration_value": 365,
        "expiration_unit": "Days",
        "dispensation": "Omnicell",
    }
    chart.add("hosp.pharmacy", row)


def add_poe(
    chart: Chart,
    hadm_id: int | None,
    time: datetime,
    kind: str,
    subtype: str | None,
    provider: str,
    *,
    transaction: str = "New",
) -> Row:
    """Write one provider order."""
    return chart.add(
        "hosp.poe",
        {
            "hadm_id": hadm_id,
            "ordertime": time,
            "order_type": kind,
            "order_subtype": subtype,
            "transaction_type": transaction,
            "order_provider_id": provider,
            "order_status": "Inactive",
        },
    )
