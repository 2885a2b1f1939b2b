"""Radiology reports, as radiologists dictate them: one for every imaging order and bedside film of the chart.

Reports of one patient repeat what has not changed, as reports do, and compare with the study before. Some
get an addendum, which the report names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, minute
from harness.synthetic.phrases import filled, phrases, some
from harness.synthetic.plant_parts import Radiology
from harness.synthetic.stays import Admission

_BEDSIDE_FILM, _BEDSIDE_CT = 225459, 221214
_PORTABLE, _TWO_VIEWS = "CHEST (PORTABLE AP)", "CHEST (PA AND LAT)"
_CT = {
    "neuro": ("CT HEAD W/O CONTRAST", "head", "No acute intracranial process."),
    "trauma": ("CT HEAD W/O CONTRAST", "head", "No acute intracranial process."),
}
_OTHER_CT = ("CT ABD & PELVIS WITH CONTRAST", "abdomen", "No acute intra-abdominal process.")
_CORRECTIONS = (
    "On further review, a {length} mm nodule is noted in the right upper lobe.",
    "The findings were discussed with ___ by telephone, {hours} minutes after discovery.",
    "There is a typographical error in the report: the side should read left.",
)


@dataclass(frozen=True)
class _Exam:
    time: datetime
    hadm_id: int | None
    name: str
    planted: Radiology | None = None


@dataclass(eq=False)
class _Report:
    exam: _Exam
    stored: datetime
    text: str
    amends: "_Report | None" = None
    note_id: str = ""

    @property
    def kind(self) -> str:
        return "AR" if self.amends else "RR"


@dataclass
class _Unchanged:
    """What a patient's films show again and again."""

    heart: str
    bones: str
    line: str


def add_imaging(chart: Chart) -> None:
    """Write a report for every radiology order and every film or CT charted in the ICU."""
    rng = chart.rng("imaging")
    unchanged = _Unchanged(some(rng, "heart"), some(rng, "bones"), some(rng, "line"))
    reports: list[_Report] = []
    exams = [*_kept(chart, _exams(chart, rng)), *_planted(chart)]
    for exam in sorted(exams, key=lambda exam: (exam.time, exam.name)):
        stored = exam.time + timedelta(minutes=rng.randint(12, 700))
        report = _Report(exam, stored, _dictated(chart, exam, unchanged, first=not reports, rng=rng))
        reports.append(report)
        if rng.random() < 0.04:
            correction = filled(rng, rng.choice(_CORRECTIONS))
            text = f"ADDENDUM:  {correction}\n \n{report.text}"
            reports.append(_Report(exam, stored + timedelta(hours=rng.randint(2, 60)), text, report))
    _write(chart, sorted(reports, key=lambda report: (report.stored, report.text)))


def _kept(chart: Chart, exams: Iterator[_Exam]) -> Iterator[_Exam]:
    """The examinations that the patient's plant does not suppress."""
    plant = chart.case.plant
    for exam in exams:
        offset = exam.time - chart.index_time
        if plant is None or not plant.drops("note.radiology", offset, None, exam.name):
            yield exam


def _planted(chart: Chart) -> Iterator[_Exam]:
    for report in chart.case.plant.radiology if chart.case.plant else ():
        time = minute(chart.index_time + report.at)
        admission = next((a for a in chart.admissions if a.arrived <= time <= a.discharged), None)
        usual = _PORTABLE if chart.icu_at(time) else _TWO_VIEWS
        yield _Exam(time, admission.hadm_id if admission else None, report.exam or usual, report)


def _exams(chart: Chart, rng: Random) -> Iterator[_Exam]:
    for row in chart.rows["hosp.poe"]:
        if row["order_type"] == "Radiology":
            time = minute(row["ordertime"] + timedelta(minutes=rng.randint(20, 190)))
            name = _PORTABLE if chart.icu_at(time) or rng.random() < 0.4 else _TWO_VIEWS
            yield _Exam(time, row["hadm_id"], name)
    for row in chart.rows["icu.procedureevents"]:
        if row["itemid"] == _BEDSIDE_FILM:
            yield _Exam(minute(row["starttime"]), row["hadm_id"], _PORTABLE)
        elif row["itemid"] == _BEDSIDE_CT:
            yield _Exam(minute(row["starttime"]), row["hadm_id"], _ct(chart)[0])
    for admission in chart.admissions:
        if admission.ed and rng.random() < 0.6:
            yield _Exam(_early(admission, rng), admission.hadm_id, _TWO_VIEWS)


def _early(admission: Admission, rng: Random) -> datetime:
    return minute(admission.arrived + timedelta(minutes=rng.randint(25, 120)))


def _ct(chart: Chart) -> tuple[str, str, str]:
    return _CT.get(chart.person.condition, _OTHER_CT)


def _region(name: str) -> str:
    """The part of the body that an examination other than a chest film is of, as phrases.csv names it."""
    words = name.upper()
    if "HEAD" in words or "BRAIN" in words:
        return "head"
    if "CARDIAC" in words or "HEART" in words or "ECHO" in words:
        return "heart"
    return "abdomen" if any(part in words for part in ("ABD", "PELVIS", "RENAL", "LIVER")) else "elsewhere"


def _dictated(chart: Chart, exam: _Exam, unchanged: _Unchanged, *, first: bool, rng: Random) -> str:
    whom = f"___ year old {'woman' if chart.person.sex == 'F' else 'man'}"
    chest = exam.name in (_PORTABLE, _TWO_VIEWS) or "CHEST" in exam.name.upper()
    reason = some(rng, "reason", chart.person.condition) if chest else some(rng, "reason", _region(exam.name))
    if exam.name in (_PORTABLE, _TWO_VIEWS):
        findings, impression = _chest(exam, unchanged, rng)
    elif exam.planted:
        findings, impression = "", "Findings as above."
    else:
        _, slot, impression = _ct(chart)
        findings = " ".join(filled(rng, text) for text in rng.sample(phrases(slot), 3))
    if exam.planted:
        findings = f"{findings} {exam.planted.text}".strip()
        impression = exam.planted.impression or impression
    compared = (
        "None."
        if first
        else rng.choice(("Multiple prior films, most recently ___.", "___.", "Study of ___."))
    )
    return (
        f"EXAMINATION:  {exam.name}\n \nINDICATION:  {whom} with {reason}\n \n"
        f"TECHNIQUE:  {_technique(exam.name, rng)}\n \nCOMPARISON:  {compared}\n \n"
        f"FINDINGS: \n \n{findings}\n \nIMPRESSION: \n \n{impression}\n"
    )


def _technique(name: str, rng: Random) -> str:
    if name == _PORTABLE:
        return rng.choice(
            ("Single portable AP view of the chest.", "Portable semi-upright radiograph of the chest.")
        )
    if name == _TWO_VIEWS:
        return rng.choice(("Chest PA and lateral.", "Frontal and lateral views of the chest."))
    return f"Contiguous axial images, DLP {rng.randint(380, 1250)} mGy-cm."


def _chest(exam: _Exam, unchanged: _Unchanged, rng: Random) -> tuple[str, str]:
    again = rng.choice((unchanged.heart, f"{unchanged.heart.rstrip('.')}, unchanged."))
    parts = [some(rng, "lungs"), some(rng, "pleura"), again]
    parts += rng.sample(phrases("absent"), rng.randint(1, 3))
    if exam.name == _PORTABLE:
        parts.append(unchanged.line if rng.random() < 0.5 else some(rng, "line"))
    if rng.random() < 0.6:
        parts.append(unchanged.bones)
    rng.shuffle(parts)
    return " ".join(parts), some(rng, "summary")


def _write(chart: Chart, reports: list[_Report]) -> None:
    """Write the notes, numbered in the order in which they were stored, and the exam and links of each."""
    for number, report in enumerate(reports, 2):
        report.note_id = f"{chart.person.subject_id}-{report.kind}-{number}"
        chart.add(
            "note.radiology",
            {
                "note_id": report.note_id,
                "hadm_id": report.exam.hadm_id,
                "note_type": report.kind,
                "note_seq": number,
                "charttime": report.exam.time,
                "storetime": report.stored,
                "text": report.text,
            },
        )
    for report in reports:
        _add_detail(chart, report, "exam_name", report.exam.name)
        if report.amends:
            _add_detail(chart, report, "parent_note_id", report.amends.note_id)
            _add_detail(chart, report.amends, "addendum_note_id", report.note_id)


def _add_detail(chart: Chart, report: _Report, name: str, value: str) -> None:
    detail = {"note_id": report.note_id, "field_name": name, "field_value": value, "field_ordinal": 1}
    chart.add("note.radiology_detail", detail)
