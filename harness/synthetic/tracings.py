"""Diagnostic ECGs: what the cart measured and printed.

Times are in milliseconds from the beginning of the averaged beat, as MIMIC-IV-ECG documents them; 29999 is
what a cart writes where it measured nothing. The statements tell of the rhythm and of what was measured, not
always of a long QT, and never of its correction. No cardiologist's notes come with them, so the table that
links to those stays empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from random import Random

from harness.synthetic.chart import Chart, minute

MISSING = 29999
_BEDSIDE_ECG = 225402
_FLUTTERING, _LONG, _FAILED = 0.12, 0.07, 0.04
"""How often a patient's atria flutter, a patient's QT is long, and a tracing cannot be measured."""
_LONG_QTC = 470
_FILTERS = ("Baseline filter, 60 Hz", "60 Hz notch, baseline filter", "<not specified>")
_POOR = "*** Poor data quality, interpretation may be adversely affected"


@dataclass(frozen=True)
class Beat:
    """What is measured of the averaged beat, in milliseconds."""

    rr_interval: int
    qrs_onset: int
    qrs_end: int
    t_end: int

    @property
    def measured(self) -> bool:
        """Whether the cart found every part of it."""
        return MISSING not in (self.rr_interval, self.qrs_onset, self.qrs_end, self.t_end)

    @property
    def corrected_qt(self) -> float:
        """QT by Bazett's formula."""
        return (self.t_end - self.qrs_onset) / sqrt(self.rr_interval / 1000)


def add_tracings(chart: Chart) -> None:
    """Write an ECG for most emergency visits and for every one that the ICU charted as done."""
    rng, plant = chart.rng("tracings"), chart.case.plant
    fibrillates = (chart.person.condition == "cardiac" and rng.random() < 0.3) or rng.random() < _FLUTTERING
    long = rng.randint(45, 110) if rng.random() < _LONG else 0
    for time in sorted(set(_times(chart, rng))):
        beat = _beat(rng, long)
        if not (plant and plant.drops("ecg.machine_measurements", time - chart.index_time)):
            add_tracing(chart, time, beat, rng, fibrillates=fibrillates)


def _times(chart: Chart, rng: Random) -> Iterator[datetime]:
    for admission in chart.admissions:
        if admission.ed and rng.random() < 0.8:
            yield minute(admission.ed.start + timedelta(minutes=rng.randint(3, 45)))
    for row in chart.rows["icu.procedureevents"]:
        if row["itemid"] == _BEDSIDE_ECG:
            yield minute(row["starttime"])


def _beat(rng: Random, long: int) -> Beat:
    rate = min(150, max(48, rng.gauss(84, 15)))
    onset, width = 40 + rng.randint(120, 214), rng.randint(76, 128)
    qt = round(rng.gauss(405, 18) * (60 / rate) ** 0.4) + long
    t_end = MISSING if rng.random() < _FAILED else onset + qt
    return Beat(round(60_000 / rate), onset, onset + width, t_end)


def add_tracing(chart: Chart, time: datetime, beat: Beat, rng: Random, *, fibrillates: bool = False) -> None:
    """Write one ECG with its record."""
    subject, study = chart.person.subject_id, chart.ids.next("study")
    p_onset = max(10, beat.qrs_onset - rng.randint(120, 214))
    flat = fibrillates or beat.qrs_onset == MISSING or p_onset + 60 >= beat.qrs_onset
    axis = round(rng.gauss(20, 38))
    measured = {
        "rr_interval": beat.rr_interval,
        "p_onset": MISSING if flat else p_onset,
        "p_end": MISSING if flat else min(p_onset + rng.randint(88, 120), beat.qrs_onset - 2),
        "qrs_onset": beat.qrs_onset,
        "qrs_end": beat.qrs_end,
        "t_end": beat.t_end,
        "p_axis": MISSING if flat else rng.randint(-5, 80),
        "qrs_axis": axis,
        "t_axis": rng.randint(-20, 95) if beat.measured else MISSING,
    }
    pr = 0 if flat else beat.qrs_onset - p_onset
    statements = _statements(beat, pr, axis, fibrillates, rng)
    chart.add(
        "ecg.machine_measurements",
        {
            "study_id": study,
            "cart_id": rng.randrange(6_840_000, 6_860_000),
            "ecg_time": time,
            **{f"report_{place}": text for place, text in enumerate(statements)},
            "bandwidth": "0.05-150 Hz",
            "filtering": rng.choice(_FILTERS),
            **measured,
        },
    )
    chart.add(
        "ecg.record_list",
        {
            "study_id": study,
            "file_name": study,
            "ecg_time": time,
            "path": f"files/p{subject // 10_000}/p{subject}/s{study}/{study}",
        },
    )


def _statements(beat: Beat, pr: int, axis: int, fibrillates: bool, rng: Random) -> list[str]:
    rate = 80 if beat.rr_interval == MISSING else 60_000 / beat.rr_interval
    found = [] if beat.measured else [_POOR]
    if fibrillates:
        fast = " with rapid ventricular response" if rate > 100 else ""
        found.append(f"Atrial fibrillation{fast}")
    else:
        sinus = "tachycardia" if rate > 100 else "bradycardia" if rate < 60 else "rhythm"
        found.append(f"Sinus {sinus}")
        if pr > 200:
            found.append("with 1st degree A-V block")
    if axis < -30:
        found.append("Left axis deviation")
    if MISSING not in (beat.qrs_onset, beat.qrs_end) and beat.qrs_end - beat.qrs_onset > 120:
        found.append("Nonspecific intraventricular conduction delay")
    if beat.measured and beat.corrected_qt > _LONG_QTC and rng.random() < 0.7:
        found.append("Prolonged QT interval")
    plain = len(found) == 1 and not fibrillates and 60 <= rate <= 100
    return [*found, "Normal ECG" if plain else "Borderline ECG" if len(found) == 1 else "Abnormal ECG"]
