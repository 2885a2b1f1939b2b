"""Diagnostic ECGs: what the cart measured and printed.

Times are in milliseconds from the beginning of the averaged beat, as MIMIC-IV-ECG documents them. The
statements tell of the rhythm and of what was measured, and of nothing that a scenario asks about. No
cardiologist's notes come with them, so the table that links to those stays empty.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, minute

_BEDSIDE_ECG = 225402
_FLUTTERING = 0.12
_FILTERS = ("Baseline filter, 60 Hz", "60 Hz notch, baseline filter", "<not specified>")


def add_tracings(chart: Chart) -> None:
    """Write an ECG for most emergency visits and for every one that the ICU charted as done."""
    rng = chart.rng("tracings")
    fibrillates = (chart.person.condition == "cardiac" and rng.random() < 0.3) or rng.random() < _FLUTTERING
    for time in sorted(set(_times(chart, rng))):
        _add_tracing(chart, time, fibrillates, rng)


def _times(chart: Chart, rng: Random) -> Iterator[datetime]:
    for admission in chart.admissions:
        if admission.ed and rng.random() < 0.8:
            yield minute(admission.ed.start + timedelta(minutes=rng.randint(3, 45)))
    for row in chart.rows["icu.procedureevents"]:
        if row["itemid"] == _BEDSIDE_ECG:
            yield minute(row["starttime"])


def _add_tracing(chart: Chart, time: datetime, fibrillates: bool, rng: Random) -> None:
    subject, study = chart.person.subject_id, chart.ids.next("study")
    rate = min(150, max(48, rng.gauss(84, 15)))
    p_onset, pr, qrs = 40, rng.randint(120, 214), rng.randint(76, 128)
    qrs_onset = p_onset + pr
    qt = round(rng.gauss(405, 18) * (60 / rate) ** 0.4)
    axis = round(rng.gauss(20, 38))
    measured = {
        "rr_interval": round(60_000 / rate),
        "p_onset": None if fibrillates else p_onset,
        "p_end": None if fibrillates else p_onset + rng.randint(88, 120),
        "qrs_onset": qrs_onset,
        "qrs_end": qrs_onset + qrs,
        "t_end": qrs_onset + qt,
        "p_axis": None if fibrillates else rng.randint(-5, 80),
        "qrs_axis": axis,
        "t_axis": rng.randint(-20, 95),
    }
    statements = _statements(rate, pr, qrs, axis, fibrillates)
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


def _statements(rate: float, pr: int, qrs: int, axis: int, fibrillates: bool) -> list[str]:
    if fibrillates:
        fast = " with rapid ventricular response" if rate > 100 else ""
        found = [f"Atrial fibrillation{fast}"]
    else:
        sinus = "tachycardia" if rate > 100 else "bradycardia" if rate < 60 else "rhythm"
        found = [f"Sinus {sinus}"]
        if pr > 200:
            found.append("with 1st degree A-V block")
    if axis < -30:
        found.append("Left axis deviation")
    if qrs > 120:
        found.append("Nonspecific intraventricular conduction delay")
    plain = len(found) == 1 and not fibrillates and 60 <= rate <= 100
    return [*found, "Normal ECG" if plain else "Borderline ECG" if len(found) == 1 else "Abnormal ECG"]
