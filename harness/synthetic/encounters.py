"""Rows of patients, admissions, transfers, services and ICU stays."""

from datetime import timedelta
from random import Random

from harness.synthetic.chart import Chart, pick_provider
from harness.synthetic.draws import pick
from harness.synthetic.stays import Admission

_SERVICES = {
    "cardiac": "CMED",
    "heart_failure": "CMED",
    "fibrillation": "CMED",
    "surgical": "SURG",
    "trauma": "TRAUM",
    "neuro": "NMED",
}
_DESTINATIONS = {
    "HOME": 34,
    "HOME HEALTH CARE": 30,
    "SKILLED NURSING FACILITY": 20,
    "REHAB": 9,
    "CHRONIC/LONG TERM ACUTE CARE": 5,
    "ACUTE HOSPITAL": 2,
}


def add_encounters(chart: Chart) -> None:
    """Write the patient, and every admission with its units, services and ICU stays."""
    rng = chart.rng("encounters")
    _add_patient(chart, rng)
    for admission in chart.admissions:
        _add_admission(chart, admission, rng)
        _add_transfers(chart, admission)
        _add_services(chart, admission, rng)
        for stay in admission.icu:
            chart.add(
                "icu.icustays",
                {
                    "hadm_id": admission.hadm_id,
                    "stay_id": stay.stay_id,
                    "first_careunit": stay.unit,
                    "last_careunit": stay.unit,
                    "intime": stay.start,
                    "outtime": stay.end,
                    "los": (stay.end - stay.start) / timedelta(days=1),
                },
            )


def _add_patient(chart: Chart, rng: Random) -> None:
    person, last = chart.person, chart.admissions[-1]
    dod = None
    if last.died:
        dod = last.discharged.date()
    elif rng.random() < 0.12:
        dod = (last.discharged + timedelta(days=rng.randint(12, 340))).date()
    chart.add(
        "hosp.patients",
        {
            "gender": person.sex,
            "anchor_age": person.anchor_age,
            "anchor_year": person.anchor_year,
            "anchor_year_group": person.anchor_year_group,
            "dod": dod,
        },
    )


def _add_admission(chart: Chart, admission: Admission, rng: Random) -> None:
    person, ed = chart.person, admission.ed
    if ed:
        short = admission.discharged - ed.start < timedelta(hours=30)
        kind = "EU OBSERVATION" if short else rng.choice(("EW EMER.", "EW EMER.", "OBSERVATION ADMIT"))
        source = "EMERGENCY ROOM"
    elif any(segment.kind == "pacu" for segment in admission.segments):
        kind, source = "SURGICAL SAME DAY ADMISSION", "PHYSICIAN REFERRAL"
    else:
        kind, source = rng.choice((("URGENT", "TRANSFER FROM HOSPITAL"), ("DIRECT EMER.", "CLINIC REFERRAL")))
    chart.add(
        "hosp.admissions",
        {
            "hadm_id": admission.hadm_id,
            "admittime": admission.admitted,
            "dischtime": admission.discharged,
            "deathtime": admission.discharged if admission.died else None,
            "admission_type": kind,
            "admit_provider_id": pick_provider(rng),
            "admission_location": source,
            "discharge_location": "DIED" if admission.died else pick(rng, _DESTINATIONS),
            "insurance": person.insurance,
            "language": person.language,
            "marital_status": person.marital_status,
            "race": person.race,
            "edregtime": ed.start if ed else None,
            "edouttime": ed.end if ed else None,
            "hospital_expire_flag": int(admission.died),
        },
    )


def _add_transfers(chart: Chart, admission: Admission) -> None:
    event = "admit"
    for segment in admission.segments:
        in_ed = segment.kind == "ed"
        chart.add(
            "hosp.transfers",
            {
                "hadm_id": admission.hadm_id,
                "transfer_id": segment.transfer_id,
                "eventtype": "ED" if in_ed else event,
                "careunit": segment.unit,
                "intime": segment.start,
                "outtime": segment.end,
            },
        )
        event = event if in_ed else "transfer"
    chart.add(
        "hosp.transfers",
        {
            "hadm_id": admission.hadm_id,
            "transfer_id": chart.ids.next("transfer"),
            "eventtype": "discharge",
            "intime": admission.segments[-1].end,
        },
    )


def _add_services(chart: Chart, admission: Admission, rng: Random) -> None:
    service = _SERVICES.get(chart.person.condition, "MED")
    at = admission.admitted + timedelta(seconds=rng.randint(20, 400))
    chart.add("hosp.services", {"hadm_id": admission.hadm_id, "transfertime": at, "curr_service": service})
    if rng.random() < 0.2 and admission.discharged - at > timedelta(days=2):
        other = rng.choice([name for name in ("MED", "SURG", "OMED", "CMED") if name != service])
        moved = at + timedelta(hours=rng.uniform(20, 44))
        chart.add(
            "hosp.services",
            {
                "hadm_id": admission.hadm_id,
                "transfertime": moved.replace(microsecond=0),
                "prev_service": service,
                "curr_service": other,
            },
        )
