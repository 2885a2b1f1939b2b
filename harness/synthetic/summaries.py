"""Discharge summaries on the form that MIMIC-IV-Note has: what the chart says, in a house officer's shorthand.

What identifies anybody is `___`. History and medications are carried from one admission's summary into the
next, as people do; results, drugs and diagnoses are those of the chart, and of what a scenario asks a summary
says what its plant says. A summary is dated by the day of discharge and stored days later. Some admissions of
patients who carry no plant have none.
"""

from datetime import timedelta
from random import Random

from harness.synthetic.chart import Chart, minute
from harness.synthetic.eventful import usual_summary
from harness.synthetic.phrases import phrases, some
from harness.synthetic.plant_parts import Summary
from harness.synthetic.prose import Paragraph
from harness.synthetic.stays import Admission
from harness.synthetic.summary_form import Form

_UNWRITTEN = 0.1


def add_summaries(chart: Chart) -> None:
    """Write the summary of every admission that has one."""
    rng, sex = chart.rng("summaries"), chart.person.sex
    known = (*phrases("past"), *phrases("past", sex))
    past = rng.sample(known, rng.randint(3, 6))
    allergy, family = some(rng, "allergy"), some(rng, "family")
    carried: list[Paragraph] = []
    for number, admission in enumerate(chart.admissions, rng.randint(2, 20)):
        planted = _planted(chart, admission)
        form = Form(chart, admission, planted, rng)
        said = planted.allergies if planted.allergies is not None else _allergies(chart, allergy)
        text = form.text(past, said, family, carried)
        unwritten = chart.case.plant is None and rng.random() < _UNWRITTEN
        if not unwritten and not _left_out(chart, admission, planted):
            _add(chart, admission, number, text, rng)
            carried = form.course


def _planted(chart: Chart, admission: Admission) -> Summary:
    plant = chart.case.plant
    if plant and admission is chart.index_admission:
        return plant.summary
    if plant and plant.earlier and admission is chart.admissions[0]:
        return plant.earlier_summary
    return usual_summary(chart)


def _allergies(chart: Chart, drawn: str) -> str:
    """A patient has the same allergies in every summary, unless a plant says otherwise of one."""
    planted = chart.case.plant.summary.allergies if chart.case.plant else None
    return drawn if planted is None else planted


def _left_out(chart: Chart, admission: Admission, planted: Summary) -> bool:
    plant, offset = chart.case.plant, admission.discharged - chart.index_time
    return planted.absent or (plant is not None and plant.drops("note.discharge", offset))


def _add(chart: Chart, admission: Admission, number: int, text: str, rng: Random) -> None:
    note_id, day = f"{chart.person.subject_id}-DS-{number}", admission.discharged.replace(hour=0, minute=0)
    written = admission.discharged + timedelta(hours=rng.uniform(-3, 120))
    chart.add(
        "note.discharge",
        {
            "note_id": note_id,
            "hadm_id": admission.hadm_id,
            "note_type": "DS",
            "note_seq": number,
            "charttime": day,
            "storetime": minute(written),
            "text": text,
        },
    )
    chart.add(
        "note.discharge_detail",
        {"note_id": note_id, "field_name": "author", "field_value": "___", "field_ordinal": 1},
    )
