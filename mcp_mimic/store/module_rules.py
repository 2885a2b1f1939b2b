"""When the facts of the optional modules could be known: one rule a column (see `availability`)."""

from mcp_mimic.store.moments import END_OF_DAY, STORED, dated, sums_up
from mcp_mimic.store.rules import Availability, InAdmission, Never, Until, WithRow, columns

_OWN, _ADMISSION, _NEVER = WithRow(own=True), InAdmission(), Never()

# --- note and ed --------------------------------------------------------------------------------------

_NOTE_COLUMNS = columns("note_type note_seq charttime storetime text", note_id=_OWN, hadm_id=_ADMISSION)

_ED_JOIN = "left join ed.edstays visit on visit.subject_id = r.subject_id and visit.stay_id = r.stay_id"


def _written(note: str) -> str:
    """When a discharge summary was there; its charttime is mostly the midnight that begins its day."""
    return f"greatest({note}.charttime, coalesce({note}.storetime, {dated(f'{note}.charttime')}))"


_NOTE = {
    "note.discharge": sums_up(_NOTE_COLUMNS, _written("r")),
    "note.discharge_detail": Availability(
        row="case when admission.dischtime is not null "
        f"then greatest(admission.dischtime, {_written('parent')}) end",
        joins="left join note.discharge parent on parent.subject_id = r.subject_id "
        "and parent.note_id = r.note_id left join hosp.admissions admission "
        "on admission.subject_id = parent.subject_id and admission.hadm_id = parent.hadm_id",
        needs=("note.discharge", "hosp.admissions"),
        columns=columns("field_name field_ordinal", note_id=_OWN, field_value=_OWN),
        lookup="left join {store}.note.discharge parent "
        "on parent.subject_id = r.subject_id and parent.note_id = r.note_id",
        sealed="parent.hadm_id",
    ),
    "note.radiology": Availability(
        row=STORED,
        columns=_NOTE_COLUMNS,
    ),
    "note.radiology_detail": Availability(
        # A report names its addenda, which may be written later: each name waits for its addendum.
        row="case when parent.note_id is not null "
        "then greatest(parent.charttime, parent.storetime, named.charttime, named.storetime) end",
        joins="left join note.radiology parent on parent.subject_id = r.subject_id "
        "and parent.note_id = r.note_id left join note.radiology named "
        "on named.subject_id = r.subject_id and named.note_id = r.field_value",
        needs=("note.radiology",),
        columns=columns("field_name field_ordinal", note_id=_OWN, field_value=_OWN),
    ),
}

_ED = {
    "ed.edstays": Availability(
        row="r.intime",
        columns=columns(
            "stay_id intime gender race arrival_transport",
            hadm_id=_ADMISSION,
            outtime=Until("r.outtime"),
            disposition=Until("r.outtime"),
        ),
    ),
    "ed.diagnosis": Availability(
        row="visit.outtime",
        joins=_ED_JOIN,
        needs=("ed.edstays",),
        columns=columns("stay_id seq_num icd_code icd_version icd_title"),
    ),
    "ed.medrecon": Availability(
        row="r.charttime",
        columns=columns("stay_id charttime name gsn ndc etc_rn etccode etcdescription"),
    ),
    "ed.pyxis": Availability(
        row="r.charttime",
        columns=columns("stay_id charttime med_rn name gsn_rn gsn"),
    ),
    "ed.triage": Availability(
        row="visit.intime",
        joins=_ED_JOIN,
        needs=("ed.edstays",),
        columns=columns("stay_id temperature heartrate resprate o2sat sbp dbp pain acuity chiefcomplaint"),
    ),
    "ed.vitalsign": Availability(
        row="r.charttime",
        columns=columns("stay_id charttime temperature heartrate resprate o2sat sbp dbp rhythm pain"),
    ),
}

# --- ecg ----------------------------------------------------------------------------------------------

_REPORTS = " ".join(f"report_{number}" for number in range(18))
_TRACED_JOIN = (
    "left join (select traced.subject_id, traced.study_id, max(traced.ecg_time) as ecg_time "
    "from ecg.machine_measurements traced group by all) traced "
    "on traced.subject_id = r.subject_id and traced.study_id = r.study_id"
)

_ECG = {
    # The cart measures and interprets at the bedside, while the tracing is printed.
    "ecg.machine_measurements": Availability(
        row="r.ecg_time",
        columns=columns(
            f"study_id cart_id ecg_time {_REPORTS} bandwidth filtering rr_interval p_onset p_end qrs_onset "
            "qrs_end t_end p_axis qrs_axis t_axis"
        ),
    ),
    # Paths of files hold the subject's number.
    "ecg.record_list": Availability(
        row="r.ecg_time",
        columns=columns("study_id file_name ecg_time", path=_NEVER),
    ),
    # That a cardiologist read the tracing is known when the reading is charted.
    "ecg.waveform_note_links": Availability(
        row=f"case when r.charttime is not null then greatest({dated('r.charttime')}, traced.ecg_time) end",
        joins=_TRACED_JOIN,
        needs=("ecg.machine_measurements",),
        columns=columns("study_id note_seq charttime", note_id=_OWN, waveform_path=_NEVER),
    ),
}

# --- cxr ----------------------------------------------------------------------------------------------

_IMAGED = f"coalesce(r.studydate + r.studytime, r.studydate + {END_OF_DAY})"
_STUDIES = (
    "(select image.subject_id, image.study_id, "
    f"max({_IMAGED.replace('r.', 'image.')}) as imaged from cxr.metadata image group by all)"
)
_STUDY_JOIN = f"left join {_STUDIES} study on study.subject_id = r.subject_id and study.study_id = r.study_id"

# The labels were taken from the radiologist's report, which MIMIC-CXR gives without a time. The reports
# of MIMIC-IV-Note are charted at the time of the examination: a report on the chest within an hour of
# the study is taken for its report, the last one to be stored where there are several.
_READ_JOIN = f"""{_STUDY_JOIN} left join (
    select study.subject_id, study.study_id,
        max(greatest(report.charttime, coalesce(report.storetime, report.charttime))) as known
    from {_STUDIES} study
    join note.radiology report on report.subject_id = study.subject_id
        and report.charttime between study.imaged - interval 1 hour and study.imaged + interval 1 hour
    where exists (from note.radiology_detail exam where exam.subject_id = report.subject_id
        and exam.note_id = report.note_id and exam.field_name = 'exam_name' and exam.field_value ilike '%chest%')
    group by all
) read on read.subject_id = r.subject_id and read.study_id = r.study_id"""
_UNREAD_FOR = "interval 1 day"

_FINDINGS = (
    "atelectasis cardiomegaly consolidation edema enlarged_cardiomediastinum fracture lung_lesion "
    "lung_opacity no_finding pleural_effusion pleural_other pneumonia pneumothorax support_devices"
)

_CXR = {
    "cxr.metadata": Availability(
        row=_IMAGED,
        columns=columns(
            "dicom_id study_id performedprocedurestepdescription viewposition rows columns studydate "
            "studytime procedurecodesequence_codemeaning viewcodesequence_codemeaning "
            "patientorientationcodesequence_codemeaning"
        ),
    ),
    "cxr.chexpert": Availability(
        row=f"greatest(study.imaged, coalesce(read.known, date_trunc('day', study.imaged) + {_UNREAD_FOR} "
        f"+ {END_OF_DAY}))",
        joins=_READ_JOIN,
        needs=("cxr.metadata", "note.radiology", "note.radiology_detail"),
        columns=columns(f"study_id {_FINDINGS}"),
    ),
    "cxr.record_list": Availability(
        row="study.imaged",
        joins=_STUDY_JOIN,
        needs=("cxr.metadata",),
        columns=columns("study_id dicom_id", path=_NEVER),
    ),
    "cxr.study_list": Availability(
        row="study.imaged",
        joins=_STUDY_JOIN,
        needs=("cxr.metadata",),
        columns=columns("study_id", path=_NEVER),
    ),
}

# --- echo ---------------------------------------------------------------------------------------------

# A measurement is the cardiologist's: it is known no sooner than the report it went into.
_MEASURED_JOIN = f"""left join (
    select study.subject_id, study.measurement_id, max({dated("study.note_charttime")}) as reported
    from echo.study_list study where study.measurement_id is not null group by all
) study on study.subject_id = r.subject_id and study.measurement_id = r.measurement_id"""

_REPORTED = dated("r.note_charttime")
_MEASURED = f"greatest({dated('r.measurement_datetime')}, {_REPORTED})"

_ECHO = {
    "echo.study_list": Availability(
        row="r.study_datetime",
        columns=columns(
            "study_id study_datetime",
            note_id=Until(_REPORTED, own=True),
            note_seq=Until(_REPORTED),
            note_charttime=Until(_REPORTED),
            measurement_id=Until(_MEASURED),
            measurement_datetime=Until(_MEASURED),
        ),
    ),
    "echo.record_list": Availability(
        row="r.acquisition_datetime",
        columns=columns("study_id acquisition_datetime", dicom_filepath=_NEVER),
    ),
    "echo.structured_measurement": Availability(
        row="case when r.measurement_datetime is not null "
        f"then greatest({dated('r.measurement_datetime')}, study.reported) end",
        joins=_MEASURED_JOIN,
        needs=("echo.study_list",),
        columns=columns(
            "measurement_id measurement_datetime test_type measurement measurement_description result unit"
        ),
    ),
}

MODULE_RULES: dict[str, Availability] = _NOTE | _ED | _ECG | _CXR | _ECHO
"""The rules of every table of an optional module, by qualified name."""
