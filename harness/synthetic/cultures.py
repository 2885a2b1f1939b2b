"""Microbiology: specimens, growth and susceptibilities."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, minute, pick_provider
from harness.synthetic.dictionaries import read_reference
from harness.synthetic.stays import Admission

_CANCELLED = "90760"
_COMPARISONS = ("<=", "=>", ">=", "<", ">")


def add_cultures(chart: Chart) -> None:
    """Write the cultures of every admission: many with an infection, a few otherwise."""
    rng = chart.rng("cultures")
    infected = chart.person.condition in ("infection", "sepsis")
    for admission in chart.admissions:
        times = _blood_times(chart, admission, infected, rng)
        for time in times:
            for _ in range(rng.choice((1, 2, 2))):
                add_culture(chart, "BLOOD CULTURE", time, rng)
        if rng.random() < (0.7 if infected else 0.3):
            add_culture(chart, "URINE", _within(admission, rng), rng)
        if rng.random() < (0.4 if infected else 0.1):
            add_culture(chart, "SPUTUM", _within(admission, rng), rng)
        for stay in admission.icu:
            if rng.random() < 0.6:
                time = stay.start + timedelta(minutes=rng.randint(30, 300))
                add_culture(chart, "MRSA SCREEN", minute(time), rng)


def _blood_times(chart: Chart, admission: Admission, infected: bool, rng: Random) -> list[datetime]:
    if not infected:
        return [_within(admission, rng)] if rng.random() < 0.2 else []
    times = [minute(admission.arrived + timedelta(minutes=rng.randint(15, 90)))]
    if admission.arrived <= chart.index_time <= admission.discharged:
        times.append(minute(chart.index_time + timedelta(minutes=rng.randint(-90, 150))))
    return [time for time in times if time < admission.discharged]


def _within(admission: Admission, rng: Random) -> datetime:
    span = admission.discharged - admission.arrived
    return minute(admission.arrived + span * rng.uniform(0.02, 0.9))


def add_culture(
    chart: Chart,
    specimen: str,
    time: datetime,
    rng: Random,
    *,
    organism: str | None = None,
    test: str | None = None,
    stored: datetime | None = None,
    comment: str | None = None,
    planted: bool = False,
) -> None:
    """Write one specimen's result rows; a planted one grows what it is told, or nothing."""
    choices = [row for row in read_reference("cultures") if row["specimen"] == specimen]
    if planted:
        choices = [row for row in choices if row["organism"] == (organism or "")] or [
            {**choices[0], "organism": organism or "", "comment": ""}
        ]
    found = rng.choices(choices, [int(row["share"]) for row in choices])[0]
    grows = bool(found["organism"]) and found["org_itemid"] != _CANCELLED
    if stored is None:
        hours = rng.uniform(44, 90) if grows else rng.uniform(130, 150)
        hours = 6 if found["org_itemid"] == _CANCELLED else hours
        stored = minute(time + timedelta(hours=hours))
    admission = chart.admission_at(time)
    dated = rng.random() < 0.06 and not planted
    shared = {
        "hadm_id": admission.hadm_id if admission and rng.random() < 0.8 else None,
        "micro_specimen_id": chart.ids.next("micro_specimen"),
        "order_provider_id": pick_provider(rng) if rng.random() < 0.2 else None,
        "chartdate": time.replace(hour=0, minute=0, second=0),
        "charttime": None if dated else time,
        "spec_itemid": found["spec_itemid"],
        "spec_type_desc": specimen,
        "test_seq": 1,
        "storedate": stored.replace(hour=0, minute=0, second=0),
        "storetime": stored,
        "test_itemid": found["test_itemid"],
        "test_name": test or found["test"],
    }
    if not found["organism"]:
        chart.add("hosp.microbiologyevents", {**shared, "comments": comment or found["comment"] or None})
        return
    shared |= {
        "org_itemid": found["org_itemid"],
        "org_name": found["organism"],
        "isolate_num": 1,
        "comments": comment,
    }
    tested = [row for row in read_reference("susceptibilities") if row["org_itemid"] == found["org_itemid"]]
    for tests in [_susceptibility(row) for row in tested] or [{}]:
        chart.add("hosp.microbiologyevents", {**shared, **tests})


def _susceptibility(row: dict[str, str]) -> dict[str, object]:
    text = row["dilution"]
    sign = next((sign for sign in _COMPARISONS if text.startswith(sign)), "=")
    return {
        "ab_itemid": row["ab_itemid"],
        "ab_name": row["ab_name"],
        "dilution_text": text,
        "dilution_comparison": f"{sign:<10}",
        "dilution_value": text.lstrip("<>="),
        "interpretation": row["interpretation"],
    }
