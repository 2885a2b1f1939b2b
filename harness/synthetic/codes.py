"""What is coded after discharge, and measurements of the clinic."""

from datetime import timedelta
from functools import cache
from random import Random

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from harness.synthetic.dictionaries import read_reference
from harness.synthetic.plant_parts import Diagnosis
from harness.synthetic.stays import Admission

_UNVERSIONED = ("", "APR", "HCFA")
"""What groups and billed services have in place of a version."""
_VENTILATION = ("5A1935Z", "9671")


def add_codes(chart: Chart) -> None:
    """Write diagnoses, procedures, DRGs and billed services of every admission, and the clinic's records."""
    rng = chart.rng("codes")
    for admission in chart.admissions:
        _add_diagnoses(chart, admission, rng)
        _add_procedures(chart, admission, rng)
        _add_groups(chart, admission, rng)
        _add_services(chart, admission, rng)
    _add_clinic(chart, rng)


def _codes(chart: Chart, kind: str, group: str, version: str | None = None) -> list[dict[str, str]]:
    version = version or str(chart.person.icd_version)
    return [
        row
        for row in read_reference("codes")
        if (row["kind"], row["archetype"]) == (kind, group) and row["version"] in (version, *_UNVERSIONED)
    ]


def condition_codes(chart: Chart, version: str | None = None) -> list[dict[str, str]]:
    """The codes of what the patient is in hospital for, of the patient's version if none is named."""
    return _codes(chart, "dx", chart.person.condition, version)


@cache
def diagnosis_titles() -> dict[tuple[str, str], str]:
    """Code and version → title, of every diagnosis that the hospital knows."""
    rows = read_reference("codes")
    return {(row["code"], row["version"]): row["title"] for row in rows if row["kind"] == "dx"}


def _add_diagnoses(chart: Chart, admission: Admission, rng: Random) -> None:
    planted = _planted_codes(chart, admission)
    version = str(planted[0].version if planted else chart.person.icd_version)
    main, others = condition_codes(chart, version), _codes(chart, "dx", "any", version)
    given = {code.code for code in planted}
    drawn = [rng.choice(main), *rng.sample(others, len(others))]
    kept = [
        row["code"] for row in drawn if row["code"] not in given and not _suppressed(chart, admission, row)
    ]
    furthest = max((code.seq or 0 for code in planted), default=0)
    codes = kept[: max(rng.randint(4, 7), furthest - len(planted))]
    for code in planted:
        place = code.seq or rng.randint(2, 6)
        codes.insert(place - 1, code.code)
    for place, found in enumerate(codes, 1):
        row = {"seq_num": place, "icd_code": found, "icd_version": version}
        chart.add("hosp.diagnoses_icd", {"hadm_id": admission.hadm_id, **row})


def _planted_codes(chart: Chart, admission: Admission) -> list[Diagnosis]:
    """What the plant gives that admission, by place; ScenarioError for a code that has no title."""
    plant = chart.case.plant
    if plant is None:
        return []
    here = {chart.index_admission.hadm_id: "index"}
    if plant.earlier:
        here[chart.admissions[0].hadm_id] = "earlier"
    codes = [code for code in plant.diagnosis if code.admission == here.get(admission.hadm_id)]
    for code in codes:
        if (code.code, str(code.version)) not in diagnosis_titles():
            raise ScenarioError(
                f"{chart.case.scenario}, plant {plant.id!r}: the hospital has no diagnosis {code.code} of "
                f"version {code.version}",
                "add it to harness/synthetic/reference/codes.csv",
            )
    return sorted(codes, key=lambda code: code.seq or 99)


def _suppressed(chart: Chart, admission: Admission, row: dict[str, str]) -> bool:
    plant, offset = chart.case.plant, admission.discharged - chart.index_time
    named = f"{row['code']} {row['title']}"
    return plant is not None and plant.drops("hosp.diagnoses_icd", offset, None, named)


def _add_procedures(chart: Chart, admission: Admission, rng: Random) -> None:
    chosen = _codes(chart, "px", chart.person.condition)[:1]
    ventilated = any(chart.ventilated(stay) for stay in admission.icu)
    others = [row for row in _codes(chart, "px", "any") if ventilated or row["code"] not in _VENTILATION]
    chosen = chosen + rng.sample(others, rng.randint(0, len(others)))
    for place, row in enumerate(chosen, 1):
        day = (admission.admitted + (admission.discharged - admission.admitted) * rng.random()).date()
        codes = {"seq_num": place, "icd_code": row["code"], "icd_version": row["version"]}
        chart.add("hosp.procedures_icd", {"hadm_id": admission.hadm_id, "chartdate": day, **codes})


def _add_groups(chart: Chart, admission: Admission, rng: Random) -> None:
    for row in _codes(chart, "drg", chart.person.condition):
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
        row = rng.choice(_codes(chart, "hcpcs", "any"))
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
