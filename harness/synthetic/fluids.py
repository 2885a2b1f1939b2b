"""Intake and output in the ICU: urine and drains, infusions and boluses with their ingredients."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, minute, pick_caregiver
from harness.synthetic.dictionaries import chart_items
from harness.synthetic.physiology import urine_factor
from harness.synthetic.stays import Admission, Segment

_FOLEY, _VOID = 226559, 226560
_WATER, _FLUID_INGREDIENT = 220490, 227074
MISSED_HOURS = 0.06
"""How often the urine of an hour is not noted and joins the next."""
_KINDS = {
    "fluid": ("02-Fluids (Crystalloids)", None, "Main order parameter", "Continuous IV"),
    "drip": ("01-Drips", "02-Fluids (Crystalloids)", "Main order parameter", "Continuous Med"),
    "blood": ("07-Blood Products", None, "Main order parameter", "Continuous IV"),
    "push": ("05-Med Bolus", None, "Main order parameter", "Drug Push"),
    "additive": (
        "02-Fluids (Crystalloids)",
        "Additive (Crystalloid)",
        "Additives                                         Ampoule                                           ",
        "Continuous IV",
    ),
    "antibiotic": ("08-Antibiotics (IV)", "02-Fluids (Crystalloids)", "Main order parameter", "Drug Push"),
    "insulin": ("06-Insulin (Non IV)", None, "Main order parameter", "Drug Push"),
    "oral": ("14-Oral/Gastric Intake", None, "Main order parameter", "Bolus"),
}


def add_fluids(chart: Chart) -> None:
    """Write outputs and inputs of every ICU stay."""
    for admission, stay in chart.icu_stays():
        rng = chart.rng(f"fluids {stay.stay_id}")
        _add_urine(chart, admission, stay, rng)
        _add_drains(chart, admission, stay, rng)
        _add_inputs(chart, admission, stay, rng)


def add_output(
    chart: Chart,
    admission: Admission,
    stay: Segment,
    itemid: int,
    time: datetime,
    value: float,
    rng: Random,
    stored: datetime | None = None,
) -> None:
    """Write one outputevents row."""
    late = rng.randint(-8, -1) if rng.random() < 0.04 else rng.randint(0, 50)
    chart.add(
        "icu.outputevents",
        {
            "hadm_id": admission.hadm_id,
            "stay_id": stay.stay_id,
            "caregiver_id": pick_caregiver(rng),
            "charttime": time,
            "storetime": stored or time + timedelta(minutes=late),
            "itemid": itemid,
            "value": f"{value:g}",
            "valueuom": "ml",
        },
    )


def in_steps(volume: float) -> int:
    """The volume as it is read off a bag: in steps of 5 ml."""
    return 5 * round(max(5.0, volume) / 5)


def _add_urine(chart: Chart, admission: Admission, stay: Segment, rng: Random) -> None:
    catheter, flow = chart.catheter(stay), rng.uniform(0.75, 1.5)
    time = stay.start.replace(minute=0, second=0) + timedelta(hours=1)
    last = stay.start
    while time < stay.end:
        foley = catheter is not None and time < catheter[1]
        hours = (time - last) / timedelta(hours=1)
        usual = chart.person.weight_kg * flow * min(hours, 8) * urine_factor(chart, time)
        volume = in_steps(usual * rng.uniform(0.65, 1.35))
        if not foley or rng.random() > MISSED_HOURS:
            add_output(chart, admission, stay, _FOLEY if foley else _VOID, time, volume, rng)
            last = time
        step = timedelta(hours=1) if foley else timedelta(minutes=rng.randint(150, 330))
        time = minute(time + step)


def _add_drains(chart: Chart, admission: Admission, stay: Segment, rng: Random) -> None:
    surgical = chart.person.condition in ("surgical", "trauma")
    itemid = rng.choice((226588, 226599)) if surgical else 226579
    time = stay.start.replace(minute=0, second=0) + timedelta(hours=rng.randint(2, 9))
    while time < stay.end:
        if surgical or rng.random() < 0.4:
            add_output(chart, admission, stay, itemid, time, 10 * rng.randint(1, 20), rng)
        time += timedelta(hours=4 if surgical else 9)


def add_input(
    chart: Chart,
    place: tuple[Admission, Segment],
    itemid: int,
    span: tuple[datetime, datetime],
    kind: str,
    rng: Random,
    *,
    amount: float,
    rate: tuple[float, str] | None = None,
    stored: datetime | None = None,
    status: str = "FinishedRunning",
    unit: str | None = None,
    link: int | None = None,
) -> int:
    """Write one inputevents row, with its ingredients where it is a fluid; its order id."""
    admission, stay = place
    order = chart.ids.next("order")
    category, secondary, component, description = _KINDS[kind]
    shared = {
        "hadm_id": admission.hadm_id,
        "stay_id": stay.stay_id,
        "caregiver_id": pick_caregiver(rng),
        "starttime": span[0],
        "endtime": span[1],
        "storetime": stored or span[0] + timedelta(minutes=rng.randint(-3, 40)),
        "orderid": order,
        "linkorderid": link or order,
        "statusdescription": status,
    }
    row = chart.add(
        "icu.inputevents",
        {
            **shared,
            "itemid": itemid,
            "amount": f"{amount:.10g}",
            "amountuom": unit or chart_items()[itemid].unit,
            "rate": f"{rate[0]:.10g}" if rate else None,
            "rateuom": rate[1] if rate else None,
            "ordercategoryname": category,
            "secondaryordercategoryname": secondary,
            "ordercomponenttypedescription": component,
            "ordercategorydescription": description,
            "patientweight": chart.person.weight_kg,
            "totalamount": _bag(chart, stay, itemid) if kind != "oral" else None,
            "totalamountuom": "ml" if kind != "oral" else None,
            "isopenbag": 0,
            "continueinnextdept": 0,
            "originalamount": f"{amount * rng.choice((1, 1, 1.5)):.10g}",
            "originalrate": f"{rate[0] if rate else 1:.10g}",
        },
    )
    if kind == "fluid":
        _add_ingredients(chart, row, shared)
    return order


def _bag(chart: Chart, stay: Segment, itemid: int) -> int:
    """The volume in ml that a drug comes in: the same for all its rows of a stay."""
    return chart.rng(f"bag {itemid} {stay.stay_id}").choice((50, 100, 250, 500))


def _add_ingredients(chart: Chart, row: Row, shared: Row) -> None:
    for itemid in (_WATER, _FLUID_INGREDIENT):
        chart.add(
            "icu.ingredientevents",
            {
                **shared,
                "itemid": itemid,
                "amount": row["amount"],
                "amountuom": "ml",
                "rate": row["rate"],
                "rateuom": row["rateuom"],
                "originalamount": 0,
                "originalrate": row["originalrate"],
                "_input": row,
            },
        )


def _add_inputs(chart: Chart, admission: Admission, stay: Segment, rng: Random) -> None:
    place = (admission, stay)
    _add_maintenance(chart, place, rng)
    ventilation = chart.ventilated(stay)
    if ventilation:
        for itemid, usual in ((222168, (30, "mcg/kg/min")), (225942, (75, "mcg/hour"))):
            _add_drip(chart, place, itemid, _after_planted(chart, itemid, ventilation), usual, rng)
    if chart.person.condition == "sepsis" or rng.random() < 0.2:
        start = minute(stay.start + timedelta(minutes=rng.randint(20, 240)))
        end = min(start + timedelta(hours=rng.uniform(6, 40)), stay.end)
        if start < end:
            _add_drip(chart, place, 221906, (start, minute(end)), (0.12, "mcg/kg/min"), rng)
    time = minute(stay.start + timedelta(minutes=rng.randint(30, 300)))
    while time < stay.end:
        _add_small(chart, place, time, rng)
        time = minute(time + timedelta(minutes=rng.randint(100, 360)))


def _after_planted(chart: Chart, itemid: int, span: tuple[datetime, datetime]) -> tuple[datetime, datetime]:
    """The part of the span that comes half an hour after the plant's rows of that drip."""
    events = chart.case.plant.event if chart.case.plant else ()
    ends = [
        chart.index_time + event.ends + timedelta(minutes=30 + event.jitter_minutes)
        for event in events
        if event.item == itemid and event.ends is not None
    ]
    return minute(max([span[0], *ends])), span[1]


def _add_maintenance(chart: Chart, place: tuple[Admission, Segment], rng: Random) -> None:
    stay = place[1]
    itemid, time, link = rng.choice((225158, 225828, 220949)), minute(stay.start), None
    while time < stay.end:
        end = minute(min(time + timedelta(hours=rng.choice((4, 6, 8))), stay.end))
        if end <= time:
            break
        rate = rng.choice((10, 20, 50, 75, 100))
        amount = rate * ((end - time) / timedelta(hours=1))
        order = add_input(
            chart, place, itemid, (time, end), "fluid", rng, amount=amount, rate=(rate, "mL/hour"), link=link
        )
        link = link or order
        time = end


def _add_drip(
    chart: Chart,
    place: tuple[Admission, Segment],
    itemid: int,
    span: tuple[datetime, datetime],
    usual: tuple[float, str],
    rng: Random,
) -> None:
    time, link = span[0], None
    while time < span[1]:
        end = min(minute(time + timedelta(minutes=rng.randint(90, 420))), span[1])
        rate = usual[0] * rng.uniform(0.5, 1.6)
        by_weight = chart.person.weight_kg * 60 if "kg" in usual[1] else 1
        amount = rate * by_weight * ((end - time) / timedelta(hours=1)) / 1000
        status = "FinishedRunning" if end == span[1] else "ChangeDose/Rate"
        order = add_input(
            chart,
            place,
            itemid,
            (time, end),
            "drip",
            rng,
            amount=amount,
            rate=(rate, usual[1]),
            status=status,
            link=link,
        )
        link = link or order
        time = end


def _add_small(chart: Chart, place: tuple[Admission, Segment], time: datetime, rng: Random) -> None:
    choices = [
        (226452, "oral", 10.0 * rng.randint(6, 36), 1, 5),
        (222011, "additive", 2.0, 60, 2),
        (225166, "additive", 20.0, 60, 2),
        (221794, "push", 20.0, 1, 1),
        (221744, "push", 50.0, 1, 1),
    ]
    if chart.person.diabetic:
        choices.append((223262, "insulin", float(rng.choice((2, 4, 6, 8))), 1, 4))
    if chart.person.condition in ("sepsis", "infection"):
        choices.append((rng.choice((225798, 225851, 225893)), "antibiotic", 1.0, 1, 3))
    if chart.person.condition in ("kidney", "potassium", "surgical", "bleeding"):
        choices.append((221456, "additive", 2.0, 60, 1))
    itemid, kind, amount, minutes, _ = rng.choices(choices, [choice[4] for choice in choices])[0]
    end = min(time + timedelta(minutes=minutes), place[1].end)
    add_input(chart, place, itemid, (time, end), kind, rng, amount=amount)
