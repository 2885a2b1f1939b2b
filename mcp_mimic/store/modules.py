"""The official tables of the modules that go with MIMIC-IV, each of them optional.

Sources of the columns:

- note, ed: documentation and PostgreSQL schemas of MIMIC-IV-Note 2.2 and MIMIC-IV-ED 2.2.
- ecg: documentation of MIMIC-IV-ECG 1.0 (record list, machine measurements, waveform note links).
- cxr: MIMIC-CXR 2.0.0 (record and study list) and MIMIC-CXR-JPG 2.0.0 (metadata, CheXpert labels), as
  public loading scripts declare them. The reports of MIMIC-CXR are a zip of text files without a time,
  and are not read; the radiology reports of MIMIC-IV-Note are. Splits, NegBio labels and providers are
  not read either.
- echo: MIMIC-IV-ECHO 0.1 and 1.0, as public loading scripts declare them. 0.1 links a study to its note
  only, 1.0 to its measurements too, so the columns of both links may be missing. Whether
  measurement_datetime always has a time of day is not documented: one at midnight counts as a day.
"""

from mcp_mimic.store.layout import official

_REPORTS = " ".join(f"report_{number}:s" for number in range(18))
_FINDINGS = (
    "atelectasis cardiomegaly consolidation edema enlarged_cardiomediastinum fracture lung_lesion "
    "lung_opacity no_finding pleural_effusion pleural_other pneumonia pneumothorax support_devices"
)
_LABELS = " ".join(f"{finding}:f" for finding in _FINDINGS.split())

MODULE_TABLES = (
    # --- note ---
    official(
        "note.discharge",
        "note_id:s subject_id:I hadm_id:I note_type:s note_seq:i charttime:t storetime:t text:s",
        kind="note",
        key="note_id",
        time="charttime",
    ),
    official(
        "note.discharge_detail",
        "note_id:s subject_id:I field_name:s field_value:s field_ordinal:i",
        kind="note",
        key="note_id",
        shares="note.discharge",
    ),
    official(
        "note.radiology",
        "note_id:s subject_id:I hadm_id:I note_type:s note_seq:i charttime:t storetime:t text:s",
        kind="note",
        key="note_id",
        time="charttime",
    ),
    official(
        "note.radiology_detail",
        "note_id:s subject_id:I field_name:s field_value:s field_ordinal:i",
        kind="note",
        key="note_id",
        shares="note.radiology",
    ),
    # --- ed ---
    official(
        "ed.edstays",
        "subject_id:I hadm_id:I stay_id:I intime:t outtime:t gender:s race:s arrival_transport:s "
        "disposition:s",
        kind="edstay",
        key="stay_id",
        time="intime",
    ),
    official(
        "ed.diagnosis",
        "subject_id:I stay_id:I seq_num:i icd_code:s icd_version:i icd_title:s",
        kind="eddx",
    ),
    official(
        "ed.medrecon",
        "subject_id:I stay_id:I charttime:t name:s gsn:s ndc:s etc_rn:i etccode:s etcdescription:s",
        kind="medrec",
        time="charttime",
    ),
    official(
        "ed.pyxis",
        "subject_id:I stay_id:I charttime:t med_rn:i name:s gsn_rn:i gsn:s",
        kind="pyxis",
        time="charttime",
    ),
    official(
        "ed.triage",
        "subject_id:I stay_id:I temperature:f heartrate:f resprate:f o2sat:f sbp:f dbp:f pain:s acuity:f "
        "chiefcomplaint:s",
        kind="triage",
    ),
    official(
        "ed.vitalsign",
        "subject_id:I stay_id:I charttime:t temperature:f heartrate:f resprate:f o2sat:f sbp:f dbp:f "
        "rhythm:s pain:s",
        kind="edvital",
        time="charttime",
    ),
    # --- ecg ---
    official(
        "ecg.machine_measurements",
        f"subject_id:I study_id:I cart_id:I ecg_time:t {_REPORTS} bandwidth:s filtering:s rr_interval:i "
        "p_onset:i p_end:i qrs_onset:i qrs_end:i t_end:i p_axis:i qrs_axis:i t_axis:i",
        kind="ecg",
        key="study_id",
        time="ecg_time",
    ),
    official(
        "ecg.record_list",
        "subject_id:I study_id:I file_name:s ecg_time:t path:s",
        kind="ecg",
        key="study_id",
        time="ecg_time",
        shares="ecg.machine_measurements",
    ),
    official(
        "ecg.waveform_note_links",
        "subject_id:I study_id:I waveform_path:s note_id:s note_seq:i charttime:t",
        kind="ecg",
        key="study_id",
        time="charttime",
        shares="ecg.machine_measurements",
    ),
    # --- cxr ---
    official(
        "cxr.metadata",
        "dicom_id:s subject_id:I study_id:I performedprocedurestepdescription:s viewposition:s rows:i "
        "columns:i studydate:D studytime:T procedurecodesequence_codemeaning:s "
        "viewcodesequence_codemeaning:s patientorientationcodesequence_codemeaning:s",
        kind="cxr",
        key="study_id",
        time="studydate",
        repeats=True,
        files=("mimic-cxr-2.0.0-metadata",),
    ),
    official(
        "cxr.chexpert",
        f"subject_id:I study_id:I {_LABELS}",
        kind="cxr",
        key="study_id",
        shares="cxr.metadata",
        files=("mimic-cxr-2.0.0-chexpert",),
    ),
    official(
        "cxr.record_list",
        "subject_id:I study_id:I dicom_id:s path:s",
        kind="cxr",
        key="study_id",
        shares="cxr.metadata",
        files=("cxr-record-list",),
    ),
    official(
        "cxr.study_list",
        "subject_id:I study_id:I path:s",
        kind="cxr",
        key="study_id",
        shares="cxr.metadata",
        files=("cxr-study-list",),
    ),
    # --- echo ---
    official(
        "echo.study_list",
        "subject_id:I study_id:I study_datetime:t note_id:s? note_seq:i? note_charttime:t? "
        "measurement_id:I? measurement_datetime:t?",
        kind="echo",
        key="study_id",
        time="study_datetime",
        files=("echo-study-list",),
    ),
    official(
        "echo.record_list",
        "subject_id:I study_id:I acquisition_datetime:t dicom_filepath:s",
        kind="echo",
        key="study_id",
        time="acquisition_datetime",
        shares="echo.study_list",
        files=("echo-record-list",),
    ),
    official(
        "echo.structured_measurement",
        "subject_id:I measurement_id:I measurement_datetime:t test_type:s measurement:s "
        "measurement_description:s result:s unit:s",
        kind="echo",
        mark="m",
        time="measurement_datetime",
        files=("structured-measurement",),
    ),
)
"""Tables of note, ed, ecg, cxr and echo."""
