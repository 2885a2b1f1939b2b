"""The form of a discharge summary: its sections, each from the chart or from phrases, and what a plant changes."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row
from harness.synthetic.codes import condition_codes
from harness.synthetic.dictionaries import read_reference
from harness.synthetic.medication_lists import list_items, medication_lists
from harness.synthetic.phrases import filled, phrases, some
from harness.synthetic.plant_parts import Summary
from harness.synthetic.prose import STUDIES, Paragraph, laid_out, lines, prose, without, woven
from harness.synthetic.stays import Admission

_SERVICES = {"CMED": "CARDIOLOGY", "SURG": "SURGERY", "TRAUM": "SURGERY", "NMED": "NEUROLOGY"}
_DISPOSITIONS = {
    "HOME": "Home",
    "HOME HEALTH CARE": "Home With Service\n \nFacility:\n___",
    "DIED": "Expired",
}
_SHORT = {
    51301: "WBC",
    51222: "Hgb",
    51221: "Hct",
    51265: "Plt",
    51237: "INR(PT)",
    50931: "Glucose",
    51006: "UreaN",
    50912: "Creat",
    50983: "Na",
    50971: "K",
    50902: "Cl",
    50882: "HCO3",
    50861: "ALT",
    50878: "AST",
    51003: "cTropnT",
    50813: "Lactate",
}
"""Laboratory items → the names that they have in pasted results."""
_CORRECTED = 0.2


class Form:
    """The summary of one admission."""

    def __init__(self, chart: Chart, admission: Admission, planted: Summary, rng: Random) -> None:
        self._chart, self._admission, self._planted, self._rng = chart, admission, planted, rng
        condition = chart.person.condition
        variant = self._variant()
        self._complaint = phrases("complaint", condition)[variant]
        self._beginning = filled(rng, phrases("history", condition)[variant])
        self._problems = [row["short"] or row["title"] for row in self._codes()]
        told = [some(rng, "course", condition), *self._chronic()]
        told += [filled(rng, text) for text in rng.sample(phrases("course"), rng.randint(2, 4))]
        self.course = [prose(text) for text in told]

    def text(self, past: list[str], allergy: str, family: str, carried: list[Paragraph]) -> str:
        """The whole form; `carried` is the hospital course of the admission before, if there was one."""
        parts = self._sections(past, allergy, family, carried)
        left_out = tuple(self._planted.without_sections)
        said = [
            f"{title}{self._body(title, paragraphs)}"
            for title, paragraphs in parts
            if not any(name in title.lower() for name in left_out)
        ]
        head = (
            " \nName:  ___                     Unit No:   ___\n \n"
            "Admission Date:  ___              Discharge Date:   ___\n \n"
            f"Date of Birth:  ___             Sex:   {self._chart.person.sex}\n \n"
        )
        return head + "\n \n".join(said) + "\n"

    def _sections(
        self, past: list[str], allergy: str, family: str, carried: list[Paragraph]
    ) -> list[tuple[str, list[Paragraph]]]:
        rng, died = self._rng, self._admission.died
        admission, discharge = self._medications()
        return [
            (f"Service: {self._service()}", []),
            ("Allergies: ", [lines([allergy], fixed=True)]),
            ("Attending: ___.", []),
            ("Chief Complaint:", [lines([self._complaint])]),
            ("Major Surgical or Invasive Procedure:", [lines(self._procedures())]),
            ("History of Present Illness:", [*self._history(), *self._copied(carried)]),
            ("Past Medical History:", [lines(f"- {item}" for item in self._past(past))]),
            ("Social History:", [lines(["___"])]),
            ("Family History:", [prose(family)]),
            ("Physical Exam:", self._exam()),
            ("Pertinent Results:", self._results()),
            ("Brief Hospital Course:", self._story()),
            ("Medications on Admission:", [lines([rng.choice(phrases("agreed")), *admission], fixed=True)]),
            ("Discharge Medications:", [lines(["Expired"] if died else discharge, fixed=True)]),
            ("Discharge Disposition:", [lines([self._disposition()])]),
            ("Discharge Diagnosis:", self._diagnoses()),
            ("Discharge Condition:", [prose("Deceased." if died else some(rng, "condition"))]),
            ("Discharge Instructions:", [prose(self._advice())]),
            ("Followup Instructions:", [lines(["___"])]),
        ]

    def _body(self, title: str, paragraphs: list[Paragraph]) -> str:
        """The section's text: what the plant does without is left out, then its sentences are woven in."""
        kept = without(paragraphs, self._planted.without_text)
        for name, sentences in self._planted.sentences.items():
            if name in title.lower():
                kept = woven(kept, sentences, self._rng)
        return f"\n{laid_out(kept)}" if kept or title.endswith(":") else ""

    def _row(self, table: str) -> Row:
        return next(row for row in self._chart.rows[table] if row["hadm_id"] == self._admission.hadm_id)

    def _codes(self) -> list[dict[str, str]]:
        known = {(row["code"], row["version"]): row for row in read_reference("codes") if row["kind"] == "dx"}
        coded = [
            row for row in self._chart.rows["hosp.diagnoses_icd"] if row["hadm_id"] == self._admission.hadm_id
        ]
        return [known[row["icd_code"], str(row["icd_version"])] for row in coded]

    def _variant(self) -> int:
        """Which of the two ways in which the condition begins: the one of its first code, or either."""
        coded = {row["code"]: place for place, row in enumerate(condition_codes(self._chart))}
        found = [coded[row["code"]] for row in self._codes()[:1] if row["code"] in coded]
        return found[0] % 2 if found and len(coded) > 1 else self._rng.randrange(2)

    def _chronic(self) -> Iterator[str]:
        """What the course says of the lasting problems among those coded."""
        for problem in self._problems:
            told = phrases("chronic", problem)
            if told and self._rng.random() < 0.6:
                yield filled(self._rng, self._rng.choice(told))

    def _past(self, past: list[str]) -> list[str]:
        lasting = [problem for problem in self._problems if phrases("chronic", problem)]
        return [*lasting, *past]

    def _service(self) -> str:
        return _SERVICES.get(self._row("hosp.services")["curr_service"], "MEDICINE")

    def _procedures(self) -> list[str]:
        """What was coded, and an operation of which the unit knows but the codes do not."""
        coded = {row["code"]: row["short"] for row in read_reference("codes") if row["kind"] == "px"}
        hadm_id = self._admission.hadm_id
        found = [
            coded[row["icd_code"]]
            for row in self._chart.rows["hosp.procedures_icd"]
            if row["hadm_id"] == hadm_id
        ]
        if any(self._chart.operation(stay) for stay in self._admission.icu):
            found.append("Operation, see operative note ___")
        return found or ["None"]

    def _history(self) -> list[Paragraph]:
        rng, person = self._rng, self._chart.person
        whom = f"___ year old {'woman' if person.sex == 'F' else 'man'}"
        denied = rng.sample(phrases("denial"), rng.randint(3, 5))
        vitals = (
            f"In the ED, initial VS: T {rng.uniform(97.2, 100.9):.1f} HR {rng.randint(62, 122)} "
            f"BP {rng.randint(92, 168)}/{rng.randint(48, 94)} RR {rng.randint(14, 26)} "
            f"SpO2 {rng.randint(91, 100)}% RA."
        )
        came = vitals if self._admission.ed else "Direct admission; VS stable on arrival to the floor."
        told = (
            f"{whom} {self._beginning}.",
            f"Denies {', '.join(denied[:-1])} or {denied[-1]}.",
            "No new medications.",
            came,
        )
        return [Paragraph(told)]

    def _copied(self, carried: list[Paragraph]) -> list[Paragraph]:
        kept = without(carried, self._planted.without_text)
        title = lines(["Prior admission (copied from discharge summary ___):"])
        return [title, *kept] if kept else []

    def _exam(self) -> list[Paragraph]:
        rng = self._rng
        found = phrases("exam")
        pairs = [found[place : place + 2] for place in range(0, len(found), 2)]
        on_arrival = [rng.choice(pair) for pair in pairs]
        later = [rng.choice((text, pair[0])) for text, pair in zip(on_arrival, pairs, strict=True)]
        return [lines(["ADMISSION EXAM:", *on_arrival]), lines(["DISCHARGE EXAM:", *later])]

    def _results(self) -> list[Paragraph]:
        """The admission's first and last round of results, its cultures and its reports, pasted."""
        labs, found = self._labs(), []
        if labs:
            found.append(lines(["ADMISSION LABS:", *labs[:2]]))
        if len(labs) > 2:
            found.append(lines(["DISCHARGE LABS:", *labs[2:][-2:]]))
        if cultures := [*self._cultures()]:
            found.append(lines(["MICRO:", *cultures]))
        found.append(lines([STUDIES, *(self._reports() or ["See OMR."])]))
        return found

    def _labs(self) -> list[str]:
        drawn: dict[datetime, dict[int, str]] = {}
        start, end = self._admission.arrived, self._admission.discharged
        for row in self._chart.rows["hosp.labevents"]:
            if row["itemid"] in _SHORT and row["valuenum"] is not None and start <= row["charttime"] <= end:
                mark = "*" if row["flag"] else ""
                drawn.setdefault(row["charttime"], {})[row["itemid"]] = f"{row['valuenum']}{mark}"
        times = sorted(drawn)
        return [
            f"___ {time:%I:%M%p} BLOOD "
            + " ".join(f"{name}-{drawn[time][item]}" for item, name in _SHORT.items() if item in drawn[time])
            for time in dict.fromkeys((*times[:2], *times[-2:]))
        ]

    def _cultures(self) -> Iterator[str]:
        start, end = self._admission.arrived, self._admission.discharged
        seen: set[tuple[object, object]] = set()
        for row in self._chart.rows["hosp.microbiologyevents"]:
            taken = row["charttime"] or row["chartdate"] + timedelta(hours=12)
            key = (row["micro_specimen_id"], row.get("org_name"))
            if not start <= taken <= end or key in seen or len(seen) > 5 or row["test_seq"] != 1:
                continue
            seen.add(key)
            result = row.get("org_name") or (row["comments"] or "___").strip()
            known = row["storetime"] <= end
            yield f"___ {row['spec_type_desc']}: {result if known else 'PENDING'}"

    def _reports(self) -> list[str]:
        hadm_id = self._admission.hadm_id
        names = {
            row["note_id"]: row["field_value"]
            for row in self._chart.rows["note.radiology_detail"]
            if row["field_name"] == "exam_name"
        }
        said = [
            f"{names[row['note_id']]} ___: {' '.join(row['text'].split('IMPRESSION:')[1].split())}"
            for row in self._chart.rows["note.radiology"]
            if row["hadm_id"] == hadm_id and row["note_type"] == "RR"
        ]
        return [*dict.fromkeys((*said[:1], *said[-1:]))]

    def _story(self) -> list[Paragraph]:
        rng = self._rng
        told = list(self.course)
        if rng.random() < _CORRECTED:
            told.append(prose(some(rng, "correction")))
        if self._admission.died:
            told.append(prose("Pt expired on ___ with family at the bedside."))
        issues = [filled(rng, text) for text in rng.sample(phrases("issue"), rng.randint(0, 2))]
        repeat = f"[ ] Repeat labs within {rng.randint(3, 14)} days of discharge"
        return [*told, lines(["TRANSITIONAL ISSUES:", repeat, *issues, "[ ] F/u with PCP ___"])]

    def _medications(self) -> tuple[list[str], list[str]]:
        lists, planted, rng = (
            medication_lists(self._chart, self._admission, self._rng),
            self._planted,
            self._rng,
        )

        def kept(items: list[str]) -> list[str]:
            patterns = [planted.without_medications, planted.without_text]
            return [item for item in items if not any(p is not None and p.search(item) for p in patterns)]

        before = list_items(kept(lists.admission), planted.admission_medications, rng)
        after = list_items(kept(lists.discharge), planted.discharge_medications, rng)
        return [item.split("\n")[0] for item in before], after

    def _disposition(self) -> str:
        place = self._row("hosp.admissions")["discharge_location"]
        return _DISPOSITIONS.get(place, "Extended Care\n \nFacility:\n___")

    def _diagnoses(self) -> list[Paragraph]:
        main, others = self._problems[:1], self._problems[1:4]
        found = [lines(["PRIMARY DIAGNOSIS:", *main])]
        return [*found, lines(["SECONDARY DIAGNOSES:", *others])] if others else found

    def _advice(self) -> str:
        if self._admission.died:
            return "N/A"
        return some(self._rng, "advice").format(complaint=self._complaint.lower())
