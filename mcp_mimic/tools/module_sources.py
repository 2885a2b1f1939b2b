"""The tables of the optional modules as the tools read them: note, ed, ecg, cxr, echo."""

from mcp_mimic.tools.source import LAST_SECOND, Detail, Source

_IMAGED = "coalesce({row}.studydate + {row}.studytime, {row}.studydate::timestamp)"

_ECG_UNITS = dict.fromkeys(
    ("rr_interval", "p_onset", "p_end", "qrs_onset", "qrs_end", "t_end"), "ms"
) | dict.fromkeys(("p_axis", "qrs_axis", "t_axis"), "°")
"""Units as the data dictionary of MIMIC-IV-ECG gives them."""

_ED_VITALS = {
    "temperature": "°F",
    "heartrate": "/min",
    "resprate": "/min",
    "o2sat": "%",
    "sbp": "mmHg",
    "dbp": "mmHg",
}
"""Units as the documentation of MIMIC-IV-ED gives them; the tables have no unit columns."""


def _ed(
    table: str,
    record: str,
    what: str,
    time: str,
    *,
    name: str | None = None,
    label: str | None = None,
    free: tuple[str, ...] = (),
) -> Source:
    return Source(
        table=f"ed.{table}",
        tool=f"get_ed_records(record='{record}')",
        what=f"{what}, in the emergency department",
        time=time,
        name=name,
        label=label or name,
        joins="left join ed.edstays v on v.stay_id = r.stay_id" if time.startswith("v.") else "",
        known_units=_ED_VITALS if table in {"triage", "vitalsign"} else {},
        quiet=("gsn", "gsn_rn", "ndc", "etc_rn", "etccode", "med_rn"),
        free=free,
    )


MODULE_SOURCES = (
    Source(
        table="note.discharge",
        tool="list_notes(kind='discharge')",
        what="discharge summaries (one dated at midnight is dated by day)",
        time="r.charttime",
        latest=(
            "case when r.charttime = date_trunc('day', r.charttime) "
            f"then r.charttime + {LAST_SECOND} else r.charttime end"
        ),
        label="r.note_type",
        hidden=("note_id", "note_seq"),
        unread=("text",),
        day_at_midnight=True,
    ),
    Source(
        table="note.radiology",
        tool="list_notes(kind='radiology')",
        what="radiology reports",
        time="r.charttime",
        name="x.exams",
        label="x.exams",
        joins=(
            "left join (select eid, string_agg(field_value, '; ' order by field_ordinal, field_name desc, "
            "field_value) as exams from note.radiology_detail "
            "where field_name in ('exam_name', 'exam_code', 'cpt_code') group by eid) x on x.eid = r.eid"
        ),
        hidden=("note_id", "note_seq"),
        unread=("text",),
        detail=Detail(
            "note.radiology_detail",
            "r.field_ordinal, r.field_name",
            hidden=("note_id",),
            pairs=True,
        ),
    ),
    Source(
        table="ed.edstays",
        tool="list_ed_visits",
        what="visits to the emergency department",
        time="r.intime",
        label="r.arrival_transport",
        quiet=("gender", "race"),
    ),
    _ed(
        "triage",
        "triage",
        "triage on arrival",
        "v.intime",
        name="r.chiefcomplaint",
        free=("chiefcomplaint", "pain"),
    ),
    _ed("vitalsign", "vitals", "vital signs", "r.charttime", free=("pain",)),
    _ed(
        "pyxis",
        "dispensing",
        "drugs taken from the cabinet (not doses given)",
        "r.charttime",
        name="r.name",
        free=("name",),
    ),
    _ed(
        "medrecon",
        "home_medications",
        "medications taken before the visit, as told",
        "r.charttime",
        name="concat_ws(' ', r.name, r.etcdescription)",
        label="r.name",
        free=("name",),
    ),
    _ed(
        "diagnosis",
        "diagnoses",
        "diagnoses coded for the visit, by its end",
        "v.outtime",
        name="concat_ws(' ', r.icd_code, r.icd_title)",
        label="r.icd_title",
    ),
    Source(
        table="ecg.machine_measurements",
        tool="get_ecgs",
        what="electrocardiograms as the machine measured and read them",
        time="r.ecg_time",
        name=f"concat_ws('; ', {', '.join(f'r.report_{number}' for number in range(18))})",
        known_units=_ECG_UNITS,
        hidden=("study_id",),
        quiet=("cart_id", "bandwidth", "filtering"),
        free=("report",),
    ),
    Source(
        table="cxr.metadata",
        tool="get_imaging(record='images')",
        what="images of chest radiographs; those of one study share its evidence id",
        time=_IMAGED.format(row="r"),
        latest=f"coalesce(r.studydate + r.studytime, r.studydate + {LAST_SECOND})",
        name=(
            "concat_ws(' ', r.performedprocedurestepdescription, r.viewposition, "
            "r.procedurecodesequence_codemeaning, r.viewcodesequence_codemeaning)"
        ),
        label="r.performedprocedurestepdescription",
        hidden=("study_id",),
        quiet=("rows", "columns", "studydate", "studytime", "dicom_id"),
        then_by=", r.dicom_id",
    ),
    Source(
        table="cxr.chexpert",
        tool="get_imaging(record='labels')",
        what="findings that a program read from the reports of chest radiographs, by the time of the study",
        time="m.imaged",
        joins=(
            f"left join (select study_id, min({_IMAGED.format(row='image')}) as imaged "
            "from cxr.metadata image group by study_id) m on m.study_id = r.study_id"
        ),
        hidden=("study_id",),
    ),
    Source(
        table="echo.study_list",
        tool="get_echos(record='studies')",
        what="echocardiographic studies",
        time="r.study_datetime",
        hidden=("study_id",),
        quiet=(),
    ),
    Source(
        table="echo.structured_measurement",
        tool="get_echos(record='measurements')",
        what="measurements and findings of echocardiograms",
        time="r.measurement_datetime",
        latest=(
            "case when r.measurement_datetime = date_trunc('day', r.measurement_datetime) "
            f"then r.measurement_datetime + {LAST_SECOND} else r.measurement_datetime end"
        ),
        name="concat_ws(' ', r.measurement, r.measurement_description)",
        label="r.measurement",
        unit="r.unit",
        units={"result": "unit"},
        quiet=(),
        day_at_midnight=True,
        free=("result",),
    ),
)
"""Every table of an optional module that a read tool covers."""
