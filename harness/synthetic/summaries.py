"""Discharge summaries on the form that MIMIC-IV-Note has: what the chart says, in a house officer's shorthand.

What identifies anybody is `___`. History and medications are carried from one admission's summary into the
next, as people do; results and drugs are those of the chart, and nothing is said of what a scenario asks.
A summary is dated by the day of discharge and stored days later.
"""

from datetime import datetime, timedelta
from random import Random
from textwrap import fill

from harness.synthetic.chart import Chart, Row, minute
from harness.synthetic.phrases import filled, phrases, some
from harness.synthetic.stays import Admission

_SERVICES = {"CMED": "CARDIOLOGY", "SURG": "SURGERY", "TRAUM": "SURGERY", "NMED": "NEUROLOGY"}
_DISPOSITIONS = {
    "HOME": "Home",
    "HOME HEALTH CARE": "Home With Service\n \nFacility:\n___",
    "DIED": "Expired",
}
_SHORT = {
    50912: "Creat",
    51006: "UreaN",
    50983: "Na",
    50971: "K",
    50902: "Cl",
    50882: "HCO3",
    51301: "WBC",
    51222: "Hgb",
    51265: "Plt",
}
"""Laboratory items → the names that they have in pasted results."""
_WIDTH = 72


def add_summaries(chart: Chart) -> None:
    """Write the summary of every admission that was long enough to have one."""
    rng = chart.rng("summaries")
    past = rng.sample(phrases("past"), rng.randint(3, 6))
    allergy, family = some(rng, "allergy"), some(rng, "family")
    carried = ""
    for number, admission in enumerate(chart.admissions, rng.randint(2, 20)):
        form = _Form(chart, admission, rng)
        text = form.text(past, allergy, family, carried)
        carried = form.course
        _add(chart, admission, number, text, rng)


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


class _Form:
    """The summary of one admission."""

    def __init__(self, chart: Chart, admission: Admission, rng: Random) -> None:
        self._chart, self._admission, self._rng = chart, admission, rng
        condition = chart.person.condition
        self._complaint = rng.choice(phrases("complaint", condition))
        others = rng.sample(phrases("course"), rng.randint(2, 4))
        self.course = "\n\n".join(
            _wrapped(filled(rng, text)) for text in (some(rng, "course", condition), *others)
        )

    def text(self, past: list[str], allergy: str, family: str, carried: str) -> str:
        """The whole form; `carried` is the hospital course of the admission before, if there was one."""
        rng, person = self._rng, self._chart.person
        home, new = self._drugs()
        results = "\n".join(self._results()) or "See OMR."
        admitted, left = (_lines(rng.sample(names, len(names))) for names in (home, home + new))
        previous = f"\n\nPrior admission (copied from discharge summary ___):\n{carried}" if carried else ""
        parts = (
            (f"Service: {self._service()}", ""),
            ("Allergies: ", allergy),
            ("Attending: ___.", ""),
            ("Chief Complaint:", self._complaint),
            ("Major Surgical or Invasive Procedure:", self._procedure()),
            ("History of Present Illness:", f"{self._history()}{previous}"),
            ("Past Medical History:", "\n".join(f"- {item}" for item in past)),
            ("Social History:", "___"),
            ("Family History:", family),
            ("Physical Exam:", self._exam()),
            ("Pertinent Results:", results),
            ("Brief Hospital Course:", self._story()),
            ("Medications on Admission:", admitted),
            ("Discharge Medications:", "Expired" if self._admission.died else left),
            ("Discharge Disposition:", self._disposition()),
            ("Discharge Diagnosis:", self._complaint.capitalize()),
            ("Discharge Condition:", "Deceased." if self._admission.died else some(rng, "condition")),
            ("Discharge Instructions:", self._advice()),
            ("Followup Instructions:", "___"),
        )
        head = (
            " \nName:  ___                     Unit No:   ___\n \n"
            "Admission Date:  ___              Discharge Date:   ___\n \n"
            f"Date of Birth:  ___             Sex:   {person.sex}\n \n"
        )
        return head + "\n \n".join(f"{title}\n{body}" if body else title for title, body in parts) + "\n"

    def _row(self, table: str) -> Row:
        return next(row for row in self._chart.rows[table] if row["hadm_id"] == self._admission.hadm_id)

    def _service(self) -> str:
        return _SERVICES.get(self._row("hosp.services")["curr_service"], "MEDICINE")

    def _procedure(self) -> str:
        operated = any(self._chart.operation(stay) for stay in self._admission.icu)
        return "Operation, see operative note ___" if operated else "None"

    def _history(self) -> str:
        rng, person = self._rng, self._chart.person
        whom = f"___ year old {'woman' if person.sex == 'F' else 'man'}"
        denied = rng.sample(phrases("denial"), rng.randint(3, 5))
        story = some(rng, "history", person.condition)
        vitals = (
            f"In the ED, initial VS: T {rng.uniform(97.2, 100.9):.1f} HR {rng.randint(62, 122)} "
            f"BP {rng.randint(92, 168)}/{rng.randint(48, 94)} RR {rng.randint(14, 26)} "
            f"SpO2 {rng.randint(91, 100)}% RA."
        )
        came = vitals if self._admission.ed else "Direct admission; VS stable on arrival to the floor."
        return _wrapped(
            f"{whom} {story}. Denies {', '.join(denied[:-1])} or {denied[-1]}. No new medications. {came}"
        )

    def _exam(self) -> str:
        rng = self._rng
        found = phrases("exam")
        pairs = [found[place : place + 2] for place in range(0, len(found), 2)]
        on_arrival = [rng.choice(pair) for pair in pairs]
        later = [rng.choice((text, pair[0])) for text, pair in zip(on_arrival, pairs, strict=True)]
        return "ADMISSION EXAM:\n{}\n\nDISCHARGE EXAM:\n{}".format("\n".join(on_arrival), "\n".join(later))

    def _results(self) -> list[str]:
        """The admission's first and last round of results, pasted."""
        drawn: dict[datetime, list[str]] = {}
        start, end = self._admission.arrived, self._admission.discharged
        for row in self._chart.rows["hosp.labevents"]:
            name = _SHORT.get(row["itemid"])
            if name and row["valuenum"] is not None and start <= row["charttime"] <= end:
                drawn.setdefault(row["charttime"], []).append(f"{name}-{row['valuenum']}")
        times = sorted(drawn)
        return [
            f"___ {time:%I:%M%p} BLOOD {' '.join(drawn[time])}"
            for time in dict.fromkeys((*times[:2], *times[-2:]))
        ]

    def _story(self) -> str:
        ending = "Pt expired on ___ with family at the bedside.\n\n" if self._admission.died else ""
        return (
            f"{self.course}\n\n{ending}TRANSITIONAL ISSUES:\n"
            f"[ ] Repeat labs within {self._rng.randint(3, 14)} days of discharge\n[ ] F/u with PCP ___"
        )

    def _drugs(self) -> tuple[list[str], list[str]]:
        """What the patient takes at home, and what else was ordered by mouth, from the orders of the chart."""
        start, end = self._admission.arrived, self._admission.discharged
        orders = [
            row
            for row in self._chart.rows["hosp.prescriptions"]
            if row["drug_type"] == "MAIN" and row["starttime"] and start <= row["starttime"] <= end
        ]
        oral: dict[str, str] = {}
        for row in orders:
            if str(row["route"]).startswith("PO"):
                oral.setdefault(row["drug"].strip(), f"{row['dose_val_rx']} {row['dose_unit_rx']} PO")
        names = [f"{name} {dose}" for name, dose in oral.items()]
        kept = max(1, len(names) * 2 // 3)
        return names[:kept], names[kept:]

    def _disposition(self) -> str:
        place = self._row("hosp.admissions")["discharge_location"]
        return _DISPOSITIONS.get(place, "Extended Care\n \nFacility:\n___")

    def _advice(self) -> str:
        if self._admission.died:
            return "N/A"
        return _wrapped(some(self._rng, "advice").format(complaint=self._complaint.lower()))


def _wrapped(text: str) -> str:
    return fill(text, _WIDTH)


def _lines(names: list[str]) -> str:
    return "\n".join(f"{place}. {name}" for place, name in enumerate(names, 1)) or "None"
