"""Notes written by hand, in the served form of MIMIC-IV-Note."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tests.mcp_mimic.charts import Rows, a_chart, hours

MODULES = ("hosp", "icu", "note")

SUMMARY = """Name:  ___                     Unit No:   ___

Service: MEDICINE

Chief Complaint:
Dyspnea

Brief Hospital Course:
Admitted with decompensated heart failure. LVEF 25-30% on echo. Diuresed with
furosemide and left in good condition.

ACTIVE ISSUES:
# Heart failure: metoprolol held for bradycardia.

Discharge Medications:
1. Furosemide 40 mg PO DAILY
2. Lisinopril 5 mg PO DAILY
"""

CHEST = """EXAMINATION:  CHEST (PORTABLE AP)

INDICATION:  ___ with dyspnea.

FINDINGS:

Heart size is enlarged. No pleural
effusion.

IMPRESSION:

No acute process.
"""

HEAD = """EXAMINATION:  CT HEAD W/O CONTRAST

IMPRESSION:

No hemorrhage.
"""


def summary(number: int, text: str, moment: datetime = datetime(2150, 2, 1), **more: Any) -> dict[str, Any]:
    """A discharge summary, dated by day as they are in the database."""
    return _note("DS", number, text, moment, moment + timedelta(days=1, hours=10)) | more


def report(number: int, text: str, moment: datetime, **more: Any) -> dict[str, Any]:
    """A radiology report, stored an hour later."""
    return _note("RR", number, text, moment, moment + timedelta(hours=1)) | more


def exam(number: int, name: str, code: str) -> list[dict[str, Any]]:
    """The detail rows of a radiology report."""
    key = {"eid": f"note:RR-{number}", "note_id": f"RR-{number}", "field_ordinal": 1}
    return [
        key | {"field_name": "exam_code", "field_value": code},
        key | {"field_name": "exam_name", "field_value": name},
    ]


def a_chart_with_notes(summaries: Iterable[dict[str, Any]] | None = None) -> Rows:
    """The usual chart with a discharge summary of an earlier stay and two radiology reports of this one."""
    return dict(a_chart()) | {
        "note.discharge": list(summaries) if summaries is not None else [summary(2, SUMMARY)],
        "note.radiology": [report(1, CHEST, hours(3)), report(2, HEAD, hours(20))],
        "note.radiology_detail": [
            *exam(1, "CHEST (PORTABLE AP)", "C11"),
            *exam(2, "CT HEAD W/O CONTRAST", "CTHEAD"),
        ],
    }


def _note(kind: str, number: int, text: str, moment: datetime, stored: datetime) -> dict[str, Any]:
    return {
        "eid": f"note:{kind}-{number}",
        "note_id": f"{kind}-{number}",
        "note_type": kind,
        "note_seq": number,
        "charttime": moment,
        "storetime": stored,
        "text": text,
    }
