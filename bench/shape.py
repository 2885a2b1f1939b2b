"""How many rows a patient has: the shape of the counts per patient in the open demo, MIMIC-IV demo 2.2.

Only counts were taken from it: ten quantiles a table over its hundred patients. No row of it is here, nor in
what is made from these numbers. All of its patients were in intensive care; in a made-up hospital only so
many are that labs and chart rows come to what was asked for.
"""

from dataclasses import dataclass
from math import exp, log

PROBABILITIES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)

COUNTS: dict[str, tuple[int, ...]] = {
    "hosp.admissions": (1, 1, 1, 1, 1, 3, 7, 10, 13, 20),
    "hosp.transfers": (2, 3, 4, 4, 7, 12, 29, 38, 49, 81),
    "hosp.services": (1, 1, 1, 1, 2, 3, 9, 10, 15, 25),
    "hosp.labevents": (66, 90, 139, 248, 452, 973, 2372, 3249, 9711, 10263),
    "hosp.microbiologyevents": (0, 1, 1, 3, 9, 35, 67, 97, 210, 215),
    "hosp.emar": (0, 0, 0, 0, 106, 322, 968, 1480, 3074, 3903),
    "hosp.emar_detail": (0, 0, 0, 0, 216, 669, 2025, 2860, 6407, 8017),
    "hosp.prescriptions": (18, 37, 45, 63, 108, 184, 435, 615, 786, 1180),
    "hosp.pharmacy": (14, 32, 38, 53, 93, 152, 343, 499, 675, 1138),
    "hosp.poe": (53, 94, 105, 149, 270, 527, 1106, 1519, 1910, 2763),
    "hosp.poe_detail": (6, 9, 10, 13, 22, 43, 100, 119, 193, 251),
    "hosp.omr": (0, 0, 0, 1, 5, 24, 59, 194, 365, 391),
    "hosp.diagnoses_icd": (3, 5, 7, 11, 22, 48, 109, 169, 259, 447),
    "hosp.procedures_icd": (0, 0, 1, 2, 4, 10, 17, 24, 33, 34),
    "hosp.drgcodes": (1, 2, 2, 2, 2, 4, 12, 15, 20, 27),
    "hosp.hcpcsevents": (0, 0, 0, 0, 0, 0, 3, 5, 6, 7),
    "icu.icustays": (1, 1, 1, 1, 1, 2, 2, 3, 4, 5),
    "icu.chartevents": (245, 736, 940, 1654, 2932, 7928, 19890, 26330, 37061, 42681),
    "icu.datetimeevents": (1, 5, 6, 17, 56, 147, 429, 710, 1134, 1155),
    "icu.inputevents": (0, 8, 13, 34, 86, 210, 679, 843, 1036, 1105),
    "icu.ingredientevents": (0, 10, 16, 41, 110, 276, 805, 1164, 1351, 1390),
    "icu.outputevents": (1, 4, 6, 18, 51, 104, 201, 382, 506, 665),
    "icu.procedureevents": (2, 2, 3, 5, 11, 18, 33, 43, 57, 70),
}
"""Rows per patient at `PROBABILITIES`, from the demo's files of each table."""

PER_ADMISSION: dict[str, float] = {
    "note.discharge": 331_793 / 431_231,
    "note.radiology": 2_321_355 / 431_231,
    "ed.edstays": 425_087 / 431_231,
    "ed.triage": 425_087 / 431_231,
    "ed.vitalsign": 1_564_610 / 431_231,
    "ed.pyxis": 1_586_053 / 431_231,
    "ed.medrecon": 2_987_342 / 431_231,
    "ed.diagnosis": 899_050 / 431_231,
}
"""Rows per admission of the modules that the demo has not, by the published counts of the whole release 2.2."""

FULL_LABS, FULL_CHART = 50_000_000, 100_000_000


def rows_at(table: str, probability: float) -> int:
    """Rows of `table` of the patient at that quantile, by log-linear interpolation."""
    if table in PER_ADMISSION:
        return round(PER_ADMISSION[table] * rows_at("hosp.admissions", probability))
    counts = COUNTS[table]
    for left, right, low, high in zip(PROBABILITIES, PROBABILITIES[1:], counts, counts[1:], strict=False):
        if probability <= right:
            part = (probability - left) / (right - left)
            return round(exp(log(low + 1) * (1 - part) + log(high + 1) * part) - 1)
    return counts[-1]


@dataclass(frozen=True)
class Population:
    """How many patients, and what share of them was in intensive care."""

    patients: int
    in_icu: float

    @classmethod
    def of(cls, scale: float) -> "Population":
        """The population whose labs and chart rows come to about `scale` of the full size."""
        patients = max(round(FULL_LABS * scale / _mean("hosp.labevents")), 60)
        return cls(patients, min(FULL_CHART * scale / (patients * _mean("icu.chartevents")), 1.0))


def _mean(table: str, steps: int = 2000) -> float:
    return sum(rows_at(table, (step + 0.5) / steps) for step in range(steps)) / steps
