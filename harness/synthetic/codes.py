"""What is coded after discharge, and measurements of the clinic."""

from datetime import timedelta
from random import Random

from harness.synthetic.chart import Chart
from harness.synthetic.dictionaries import read_reference
from harness.synthetic.stays import Admission


def add_codes(chart: Chart) -> None:
    """Write diagnoses, procedures, DRGs and billed services of every admission, and the clinic's records."""
    rng = chart.rng("codes")
    for admission in chart.admissions:
        _add_diagnoses(chart, admission, rng)
        _add_procedures(chart, admission, rng)
        _add_groups(chart, admission, rng)
        _add_services(chart, admission, rng)
    _add_clinic(chart, rng)


def _codes(chart: Chart, kind: str, group: str, *, versioned: bool = True) -> list[dict[str, str]]:
    return [
        row
        for row in read_reference("codes")
        if row["kind"] == kind
        and row["archetype"] == group
        and (not versioned or row["version"] == str(chart.person.icd_version))
    ]


def condition_codes(chart: Chart) -> list[dict[str, str]]:
    """The codes of what the patient is in hospital for."""
    return _codes(chart, "dx", chart.person.condition)


def _add_diagnoses(chart: Chart, admission: Admission, rng: Random) -> None:
    main, others = condition_codes(chart), _codes(chart, "dx", "any")
    chosen = [rng.choice(main), *rng.sample(others, rng.randint(3, 6))]
    for place, row in enumerate(chosen, 1):
        codes = {"seq_num": place, "icd_code": row["code"], "icd_version": row["version"]}
        chart.add("hosp.diagnoses_icd", {"hadm_id": admission.hadm_id, **codes})


def _add_procedures(chart: Chart, admission: Admission, rng: Random) -> None:
    chosen = _codes(chart, "px", chart.person.condition)[:1]
    others = _codes(chart, "px", "any")
    chosen = chosen + rng.sample(others, rng.randint(0, len(others)))
    for place, row in enumerate(chosen, 1):
        day = (admission.admitted + (admission.discharged - admission.admitted) * rng.random()).date()
        codes = {"seq_num": place, "icd_code": row["code"], "icd_version": row["version"]}
        chart.add("hosp.procedures_icd", {"hadm_id": admission.hadm_id, "chartdate": day, **codes})


def _add_groups(chart: Chart, admission: Admission, rng: Random) -> None:
    for row in _codes(chart, "drg", chart.person.condition, versioned=False):
        refined = row["version"] == "APR"
        chart.add(
            "hosp.drgcodes",
            {
                "hadm_id": admission.hadm_id,
                "drg_type": row["version"],
                "drg_code": row["code"],
                "description": row["title"],
                "drg_severity": rng.randint(1, 4) if refined else None,
                "drg_mortality": rng.randint(1, 4) if refined else None,
            },
        )


def _add_services(chart: Chart, admission: Admission, rng: Random) -> None:
    if rng.random() < 0.25:
        row = rng.choice(_codes(chart, "hcpcs", "any", versioned=False))
        chart.add(
            "hosp.hcpcsevents",
            {
                "hadm_id": admission.hadm_id,
                "chartdate": admission.admitted.date(),
                "hcpcs_cd": row["code"],
                "seq_num": 1,
                "short_description": row["short"],
            },
        )


def _add_clinic(chart: Chart, rng: Random) -> None:
    person, first = chart.person, chart.admissions[0].arrived
    for _ in range(rng.randint(0, 5)):
        day = (first - timedelta(days=rng.randint(8, 500))).date()
        weight = person.weight_kg * rng.uniform(0.97, 1.04)
        results = {
            "Blood Pressure": f"{rng.randint(104, 158)}/{rng.randint(58, 92)}",
            "Weight (Lbs)": f"{weight * 2.2046:.1f}",
            "BMI (kg/m2)": f"{weight / (person.height_cm / 100) ** 2:.1f}",
        }
        if rng.random() < 0.45:
            inches = person.height_cm / 2.54
            results["Height (Inches)"] = f"{round(inches * 4) / 4 if rng.random() < 0.4 else round(inches):g}"
        for name, value in results.items():
            chart.add("hosp.omr", {"chartdate": day, "result_name": name, "result_value": value})
