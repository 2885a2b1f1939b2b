"""What a slice must hold, said a second time in plain Python over the raw rows of one subject.

It shares nothing with the product's SQL but the list of chart items that copy a laboratory item.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from mcp_mimic.store.copies import CHART_COPIES
from mcp_mimic.store.tables import TABLES

Row = Mapping[str, Any]
Rows = Mapping[str, list[dict[str, Any]]]

NEVER = {
    "subject_id",
    "dod",
    "order_status",
    "order_provider_id",
    "admit_provider_id",
    "enter_provider_id",
    "caregiver_id",
    # paths of files hold the subject's number
    "path",
    "waveform_path",
    "dicom_filepath",
}
UNSERVED = ("hosp.provider", "icu.caregiver")
SUBJECT_TABLES = tuple(name for name, table in TABLES.items() if table.has_subject)
CODED = ("hosp.diagnoses_icd", "hosp.procedures_icd", "hosp.drgcodes", "hosp.hcpcsevents", "note.discharge")
PENDING = ("micro_specimen_id", "chartdate", "charttime", "spec_itemid", "spec_type_desc", "hadm_id")

_INPUTS = ("icu.inputevents", "icu.ingredientevents", "icu.procedureevents")
_OVER = {
    "endtime",
    "amount",
    "totalamount",
    "statusdescription",
    "originalamount",
    "originalrate",
    "isopenbag",
    "continueinnextdept",
    # of procedures
    "value",
    "valueuom",
}
_DISPENSED = {("hosp.pharmacy", "dispensation"), ("hosp.pharmacy", "fill_quantity")}
_AT = {
    ("hosp.admissions", "dischtime"): "dischtime",
    ("hosp.admissions", "deathtime"): "deathtime",
    ("hosp.admissions", "edregtime"): "edregtime",
    ("hosp.admissions", "edouttime"): "edouttime",
    ("hosp.admissions", "discharge_location"): "dischtime",
    ("hosp.admissions", "hospital_expire_flag"): "dischtime",
    ("hosp.admissions", "admission_type"): "dischtime",
    ("hosp.transfers", "outtime"): "outtime",
    ("icu.icustays", "outtime"): "outtime",
    ("icu.icustays", "los"): "outtime",
    ("icu.icustays", "last_careunit"): "outtime",
    ("ed.edstays", "outtime"): "outtime",
    ("ed.edstays", "disposition"): "outtime",
    ("hosp.prescriptions", "stoptime"): "stoptime",
    ("hosp.pharmacy", "stoptime"): "stoptime",
    ("hosp.pharmacy", "status"): "stoptime",
    ("hosp.pharmacy", "duration"): "stoptime",
    ("hosp.pharmacy", "entertime"): "entertime",
    ("hosp.pharmacy", "verifiedtime"): "verifiedtime",
    ("hosp.pharmacy", "expirationdate"): "expirationdate",
}
"""Column of a table → the column of the same row whose moment it waits for."""

DAY_END = timedelta(hours=23, minutes=59)
HOUR = timedelta(hours=1)
ALWAYS = datetime.min


def latest(*moments: datetime | None) -> datetime | None:
    known = [moment for moment in moments if moment is not None]
    return max(known) if known else None


def day_end(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day) + DAY_END


def dated(time: datetime | None) -> datetime | None:
    """A time that is a day when it is midnight."""
    return day_end(time) if time and time.time() == datetime.min.time() else time


def _on_the_chest(row: Row) -> bool:
    return row["field_name"] == "exam_name" and "chest" in row["field_value"].lower()


class Truth:
    """One subject's raw rows by table, and when each of their facts could be known."""

    def __init__(self, subject_id: int, rows: Rows) -> None:
        self.subject_id = subject_id
        self.rows = rows
        self.admission = {row["hadm_id"]: row for row in rows["hosp.admissions"]}
        self.order = {row["poe_id"]: row for row in rows["hosp.poe"]}
        self.pharmacy = {row["pharmacy_id"]: row for row in rows["hosp.pharmacy"]}
        self.emar = {row["emar_id"]: row for row in rows["hosp.emar"]}
        self.visit = {row["stay_id"]: row for row in rows["ed.edstays"]}
        self.note = {
            row["note_id"]: row for name in ("discharge", "radiology") for row in rows[f"note.{name}"]
        }
        self.labs: dict[tuple[int, datetime], list[datetime]] = defaultdict(list)
        for lab in rows["hosp.labevents"]:
            self.labs[lab["itemid"], lab["charttime"]].append(self._stored(lab))
        self.exams = {row["note_id"] for row in rows["note.radiology_detail"] if _on_the_chest(row)}
        self.traced = {row["study_id"]: row["ecg_time"] for row in rows["ecg.machine_measurements"]}
        self.imaged: dict[int, datetime] = {}
        for image in rows["cxr.metadata"]:
            study, taken = image["study_id"], self._imaged(image)
            self.imaged[study] = max(taken, self.imaged.get(study, taken))
        self.consult = {
            row["poe_id"]: datetime.fromisoformat(row["field_value"])
            for row in rows["hosp.poe_detail"]
            if row["field_name"] == "Consult Status Time"
        }

    # --- when a row is known --------------------------------------------------------------------------

    def known(self, table: str, row: Row) -> datetime | None:
        """When the row could first be known; None: never."""
        special: dict[str, Callable[[Row], datetime | None]] = {
            "hosp.patients": lambda _: ALWAYS,
            "hosp.microbiologyevents": self._culture,
            "hosp.emar_detail": lambda r: self._stored(self.emar[r["emar_id"]]),
            "hosp.prescriptions": self._ordered,
            "hosp.pharmacy": self._ordered,
            "hosp.poe_detail": self._order_detail,
            "hosp.omr": lambda r: day_end(r["chartdate"]),
            "icu.chartevents": self._charted,
            "note.discharge": lambda r: self._left(r) and latest(self._left(r), self._summarised(r)),
            "note.radiology": self._stored,
            "note.discharge_detail": lambda r: self.known("note.discharge", self.note[r["note_id"]]),
            "note.radiology_detail": self._addendum,
            "ed.diagnosis": lambda r: self.visit[r["stay_id"]]["outtime"],
            "ed.triage": lambda r: self.visit[r["stay_id"]]["intime"],
            "ecg.machine_measurements": lambda r: r["ecg_time"],
            "ecg.record_list": lambda r: r["ecg_time"],
            "ecg.waveform_note_links": lambda r: latest(
                dated(r["charttime"]), self.traced.get(r["study_id"])
            ),
            "cxr.metadata": self._imaged,
            "cxr.chexpert": self._labelled,
            "cxr.record_list": lambda r: self.imaged.get(r["study_id"]),
            "cxr.study_list": lambda r: self.imaged.get(r["study_id"]),
            "echo.study_list": lambda r: r["study_datetime"],
            "echo.record_list": lambda r: r["acquisition_datetime"],
            "echo.structured_measurement": self._measured,
        }
        if table in special:
            return special[table](row)
        if table in CODED:
            return self._left(row)
        for event in ("charttime", "starttime"):
            if event in row:
                return latest(row[event], row.get("storetime"))
        return next(row[name] for name in ("admittime", "intime", "transfertime", "ordertime") if name in row)

    def _left(self, row: Row) -> datetime | None:
        admission = self.admission.get(row["hadm_id"])
        return admission["dischtime"] if admission else None

    def _stored(self, row: Row) -> datetime:
        return max(row["charttime"], row["storetime"] or row["charttime"])

    def _summarised(self, row: Row) -> datetime | None:
        return latest(row["charttime"], row["storetime"] or dated(row["charttime"]))

    def _imaged(self, row: Row) -> datetime:
        if row["studytime"] is None:
            return datetime.combine(row["studydate"], datetime.min.time()) + DAY_END
        return datetime.combine(row["studydate"], row["studytime"])

    def _labelled(self, row: Row) -> datetime | None:
        imaged = self.imaged.get(row["study_id"])
        if imaged is None:
            return None
        reports = [
            self._stored(report)
            for report in self.rows["note.radiology"]
            if report["note_id"] in self.exams and abs(report["charttime"] - imaged) <= HOUR
        ]
        return latest(imaged, *(reports or [day_end(imaged + timedelta(days=1))]))

    def _measured(self, row: Row) -> datetime | None:
        reports = [
            dated(study["note_charttime"])
            for study in self.rows["echo.study_list"]
            if study["measurement_id"] == row["measurement_id"]
        ]
        return latest(dated(row["measurement_datetime"]), *reports)

    def _culture(self, row: Row) -> datetime | None:
        drawn = row["charttime"] or row["chartdate"]
        result = (
            row["storetime"] or day_end(row["storedate"]) or row["charttime"] or day_end(row["chartdate"])
        )
        return latest(drawn, result)

    def _ordered(self, row: Row) -> datetime | None:
        order = self.order.get(row["poe_id"])
        filled = self.pharmacy.get(row["pharmacy_id"])
        if order:
            return order["ordertime"]
        return (filled and filled["entertime"]) or row["starttime"]

    def _order_detail(self, row: Row) -> datetime | None:
        placed = self.order[row["poe_id"]]["ordertime"]
        answered = self.consult.get(row["poe_id"]) if row["field_name"].startswith("Consult Status") else None
        return latest(placed, answered)

    def _charted(self, row: Row) -> datetime | None:
        labs = (self.labs.get((lab, row["charttime"]), []) for lab in CHART_COPIES.get(row["itemid"], ()))
        return latest(row["charttime"], row["storetime"], *(moment for found in labs for moment in found))

    def _addendum(self, row: Row) -> datetime | None:
        named = self.note.get(row["field_value"])
        return latest(self._stored(self.note[row["note_id"]]), self._stored(named) if named else None)

    # --- when a column is known -----------------------------------------------------------------------

    def hidden_until(self, table: str, column: str, row: Row) -> datetime | None:
        """The later moment at which a column of a known row is known; ALWAYS: with the row."""
        if column == "hadm_id" and table != "hosp.admissions":
            admission = self.admission.get(row["hadm_id"])
            return admission["admittime"] if admission else None
        if table in _INPUTS and column in _OVER:
            return latest(row["endtime"], row["storetime"], row["starttime"]) if row["endtime"] else None
        if (table, column) == ("hosp.poe", "discontinued_by_poe_id"):
            successor = self.order.get(row[column])
            return successor["ordertime"] if successor else None
        if table == "echo.study_list" and column.startswith("note_"):
            return dated(row["note_charttime"])
        if table == "echo.study_list" and column.startswith("measurement_"):
            return latest(dated(row["measurement_datetime"]), dated(row["note_charttime"]))
        if (table, column) in _DISPENSED:
            return latest(row["stoptime"], row["verifiedtime"]) if row["stoptime"] else None
        own = _AT.get((table, column))
        return row[own] if own else ALWAYS

    # --- the slice ------------------------------------------------------------------------------------

    def slice(self, as_of: datetime, sealed: int | None = None) -> dict[str, list[dict[str, Any]]]:
        """The rows of every table as of one moment, with `available_at`, without evidence ids."""
        served = {}
        for table in SUBJECT_TABLES:
            found = []
            for row in self.rows[table]:
                known = self.known(table, row)
                if known is not None and known <= as_of and not self._sealed(table, row, sealed):
                    found.append({"available_at": known} | self._visible(table, row, as_of))
            served[table] = found
        served["hosp.microbiologyevents"] += self._pending(served["hosp.microbiologyevents"], as_of)
        return served

    def _sealed(self, table: str, row: Row, sealed: int | None) -> bool:
        if table == "note.discharge_detail":
            row = self.note[row["note_id"]]
        return sealed is not None and table in (*CODED, "note.discharge_detail") and row["hadm_id"] == sealed

    def _visible(self, table: str, row: Row, as_of: datetime) -> dict[str, Any]:
        visible = {}
        for column in TABLES[table].column_names:
            if column not in NEVER:
                until = self.hidden_until(table, column, row)
                shown = until is not None and until <= as_of
                visible[column] = self._without_subject(row[column]) if shown else None
        return visible

    def _without_subject(self, value: Any) -> Any:
        prefix = f"{self.subject_id}-"
        return value.removeprefix(prefix) if isinstance(value, str) else value

    def _pending(self, reported: list[dict[str, Any]], as_of: datetime) -> list[dict[str, Any]]:
        seen = {row["micro_specimen_id"] for row in reported}
        found = {}
        for row in self.rows["hosp.microbiologyevents"]:
            drawn = row["charttime"] or day_end(row["chartdate"])
            if drawn <= as_of and row["micro_specimen_id"] not in seen:
                visible = self._visible("hosp.microbiologyevents", row, as_of)
                blank = {name: value if name in PENDING else None for name, value in visible.items()}
                found[row["micro_specimen_id"]] = {"available_at": drawn} | blank
        return list(found.values())
