"""The emergency department's own records of the visits that led to an admission.

Arrivals and dispositions are worded as MIMIC-IV-ED documents them. Drugs that treat a high potassium are
not dispensed: what a plant says of its treatment is all that there is. Visits that ended without an
admission are not written.
"""

from datetime import timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, minute
from harness.synthetic.codes import condition_codes
from harness.synthetic.dictionaries import drugs
from harness.synthetic.draws import pick
from harness.synthetic.phrases import phrases
from harness.synthetic.stays import Admission, Segment

_ARRIVALS = {"AMBULANCE": 46, "WALK IN": 44, "UNKNOWN": 8, "OTHER": 2}
_PAINS = {"0": 40, "3": 8, "5": 12, "7": 12, "8": 10, "10": 6, "unable": 6, "Critical": 2, "ok": 2, "": 2}
_URGENT = ("sepsis", "cardiac", "neuro", "bleeding", "trauma")
_MEASURES = {
    "temperature": (98.2, 0.7, 95.0, 104.0),
    "heartrate": (88, 14, 46, 148),
    "resprate": (18, 2.2, 10, 36),
    "o2sat": (97, 1.8, 86, 100),
    "sbp": (132, 20, 74, 210),
    "dbp": (74, 12, 38, 120),
}
"""Mean, spread and limits of what is measured; temperatures in °F."""
_SHIFTS: dict[str, dict[str, float]] = {
    "sepsis": {"temperature": 2.6, "heartrate": 22, "resprate": 5, "sbp": -30, "dbp": -14},
    "infection": {"temperature": 1.9, "heartrate": 12},
    "bleeding": {"heartrate": 16, "sbp": -16},
    "airway": {"resprate": 6, "o2sat": -5},
    "cardiac": {"resprate": 3, "o2sat": -2},
}
_DISPENSED = (
    "Acetaminophen", "Ondansetron", "Morphine", "Ketorolac", "Aspirin", "Furosemide", "CeftriaXONE",
    "Vancomycin", "Piperacillin-Tazobactam", "Azithromycin", "LORazepam", "Pantoprazole", "Heparin",
    "OxycoDONE", "Metoprolol Tartrate", "PredniSONE",
)  # fmt: skip


def add_emergency(chart: Chart) -> None:
    """Write the stay, triage, vital signs, home medications, dispensed drugs and diagnoses of every visit."""
    rng = chart.rng("emergency")
    for admission in chart.admissions:
        if admission.ed:
            _Visit(chart, admission, admission.ed, rng).write()


class _Visit:
    """One visit in the making."""

    def __init__(self, chart: Chart, admission: Admission, segment: Segment, rng: Random) -> None:
        self._chart, self._admission, self._segment, self._rng = chart, admission, segment, rng
        self._stay_id = chart.ids.next("stay")
        self._shifts = _SHIFTS.get(chart.person.condition, {})

    def write(self) -> None:
        person, rng = self._chart.person, self._rng
        self._add(
            "edstays",
            hadm_id=self._admission.hadm_id,
            intime=self._segment.start,
            outtime=self._segment.end,
            gender=person.sex,
            race=person.race,
            arrival_transport=pick(rng, _ARRIVALS),
            disposition="ADMITTED",
        )
        urgent = person.condition in _URGENT
        self._add(
            "triage",
            **self._measures(1.0),
            pain=pick(rng, _PAINS),
            acuity=rng.choice((1, 2, 2) if urgent else (2, 3, 3)),
            chiefcomplaint=rng.choice(phrases("complaint", person.condition)),
        )
        self._add_vital_signs()
        self._add_drugs()
        for place, code in enumerate(condition_codes(self._chart)[: rng.randint(1, 2)], 1):
            self._add(
                "diagnosis",
                seq_num=place,
                icd_code=code["code"],
                icd_version=code["version"],
                icd_title=code["title"].upper(),
            )

    def _add(self, table: str, **row: object) -> Row:
        return self._chart.add(f"ed.{table}", {"stay_id": self._stay_id, **row})

    def _measures(self, severity: float) -> dict[str, float | None]:
        """One set of vital signs; some are now and then not taken."""
        found: dict[str, float | None] = {}
        for name, (mean, spread, low, high) in _MEASURES.items():
            value = self._rng.gauss(mean + severity * self._shifts.get(name, 0), spread)
            value = min(high, max(low, value))
            missing = self._rng.random() < (0.25 if name == "temperature" and severity < 1 else 0.02)
            found[name] = None if missing else round(value, 1 if name == "temperature" else 0)
        if found["sbp"] is None or found["dbp"] is None:
            return found | {"sbp": None, "dbp": None}
        return found | {"dbp": min(found["dbp"], found["sbp"] - 20)}

    def _add_vital_signs(self) -> None:
        rng = self._rng
        time, severity = self._segment.start + timedelta(minutes=rng.randint(4, 40)), 0.9
        while time < self._segment.end:
            measures = self._measures(severity)
            rate = measures["heartrate"]
            rhythm = "Sinus Tachycardia" if rate is not None and rate > 100 else "Sinus Rhythm"
            self._add(
                "vitalsign",
                charttime=minute(time),
                **measures,
                rhythm=rhythm if rng.random() < 0.2 else None,
                pain=pick(rng, _PAINS),
            )
            time += timedelta(minutes=rng.randint(45, 170))
            severity *= 0.85

    def _add_drugs(self) -> None:
        rng, start, end = self._rng, self._segment.start, self._segment.end
        told = minute(start + timedelta(minutes=rng.randint(15, 90)))
        home = [drug for drug in drugs() if drug.use == "home"]
        for drug in rng.sample(home, rng.randint(2, min(6, len(home)))):
            self._add("medrecon", charttime=min(told, end), name=drug.name.strip().lower(), etc_rn=1)
        for name in rng.sample(_DISPENSED, rng.randint(2, 5)):
            time = minute(start + (end - start) * rng.uniform(0.1, 0.95))
            self._add("pyxis", charttime=time, name=name, gsn_rn=1)
