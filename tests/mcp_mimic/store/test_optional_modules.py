"""Optional modules: found under the names they are published with, typed, keyed, and told apart from absent ones."""

import datetime as dt
import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mcp_mimic.chart.slice import open_slice
from mcp_mimic.cli import run
from mcp_mimic.errors import StoreError
from mcp_mimic.store.check import check_store
from mcp_mimic.store.classification import seal_synthetic
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.integrity import verify
from mcp_mimic.store.reading import reading, typed_rows
from mcp_mimic.store.sources import SourceFile, find_sources
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import OPTIONAL_SCHEMAS, TABLES
from tests.hospital import ADA, ADA_HADM, Rows, write_hospital, write_table
from tests.mcp_mimic.chart.edges import edge_rows

LATE = dt.datetime(2161, 1, 1)

PUBLISHED = {
    "mimic-iv-note-deidentified-free-text-clinical-notes-2.2/note/discharge.csv.gz": (
        "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text\n"
        f'{ADA}-DS-4,{ADA},{ADA_HADM},DS,4,2150-03-06 00:00:00,2150-03-07 10:00:00,"Name: ___\n'
        'Sex: F\n\n""I feel fine"", she says.\n"\n'
    ),
    "mimic-iv-ed-2.2/ed/edstays.csv.gz": (
        "subject_id,hadm_id,stay_id,intime,outtime,gender,race,arrival_transport,disposition\n"
        f"{ADA},{ADA_HADM},39000001,2150-03-01 06:30:00,2150-03-01 11:00:00,F,WHITE,AMBULANCE,ADMITTED\n"
    ),
    "mimic-iv-ecg-diagnostic-electrocardiogram-matched-subset-1.0/machine_measurements.csv": (
        "subject_id,study_id,cart_id,ecg_time,"
        + ",".join(f"report_{n}" for n in range(18))
        + ",bandwidth,filtering,rr_interval,p_onset,p_end,qrs_onset,qrs_end,t_end,p_axis,qrs_axis,t_axis\n"
        f"{ADA},43000001,6848296,2150-03-01 06:44:00,Sinus rhythm,Borderline ECG{',' * 17}"
        '0.05-150 Hz,"Baseline filter, 60 Hz",659,40,128,170,258,518,81,77,75\n'
    ),
    "mimic-iv-ecg-diagnostic-electrocardiogram-matched-subset-1.0/record_list.csv": (
        "subject_id,study_id,file_name,ecg_time,path\n"
        f"{ADA},43000001,43000001,2150-03-01 06:44:00,files/p1000/p{ADA}/s43000001/43000001\n"
    ),
    "mimic-cxr-jpg-2.0.0/mimic-cxr-2.0.0-metadata.csv.gz": (
        "dicom_id,subject_id,study_id,PerformedProcedureStepDescription,ViewPosition,Rows,Columns,StudyDate,"
        "StudyTime,ProcedureCodeSequence_CodeMeaning,ViewCodeSequence_CodeMeaning,"
        "PatientOrientationCodeSequence_CodeMeaning\n"
        f"02aa804e-1,{ADA},53000001,CHEST (PA AND LAT),PA,3056,2544,21500301,70312.45300000001,"
        "CHEST (PA AND LAT),postero-anterior,Erect\n"
        f"02aa804e-2,{ADA},53000001,CHEST (PA AND LAT),LATERAL,3056,2544,21500301,70312.45300000001,"
        "CHEST (PA AND LAT),lateral,Erect\n"
    ),
    "mimic-cxr-jpg-2.0.0/mimic-cxr-2.0.0-chexpert.csv.gz": (
        "subject_id,study_id,Atelectasis,Cardiomegaly,Consolidation,Edema,Enlarged Cardiomediastinum,Fracture,"
        "Lung Lesion,Lung Opacity,No Finding,Pleural Effusion,Pleural Other,Pneumonia,Pneumothorax,"
        "Support Devices\n"
        f"{ADA},53000001,,,,,-1.0,,,,,0.0,,1.0,,\n"
    ),
    "mimic-cxr-2.0.0/cxr-study-list.csv.gz": (
        f"subject_id,study_id,path\n{ADA},53000001,files/p10/p{ADA}/s53000001.txt\n"
    ),
    "mimic-iv-echo-0.1/echo-study-list.csv": (
        "subject_id,study_id,study_datetime,note_id,note_seq,note_charttime\n"
        f"{ADA},93000001,2150-03-02 10:00:00,,,\n"
    ),
    "mimic-iv-echo-0.1/echo-record-list.csv": (
        "subject_id,study_id,acquisition_datetime,dicom_filepath\n"
        f"{ADA},93000001,2150-03-02 10:01:00,files/p10/p{ADA}/s93000001/93000001_0001.dcm\n"
    ),
    "mimic-iv-echo-1.0/structured-measurement.csv.gz": (
        "subject_id,measurement_id,measurement_datetime,test_type,measurement,measurement_description,result,unit\n"
        f"{ADA},7000001,2150-03-02 10:20:00,tte,lvef,Left ventricular ejection fraction,35,%\n"
        f"{ADA},7000001,2150-03-02 10:20:00,tte,mr_severity,Mitral regurgitation,Mild,\n"
    ),
}


def publish(folder: Path, texts: dict[str, str] = PUBLISHED) -> list[Path]:
    """Write files as they are published; returns the folders that hold them, as they would be downloaded."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return sorted({folder / name.partition("/")[0] for name in texts})


def in_module_folder(name: str) -> str:
    """The published `name` as it is when somebody put it into a folder named like the module."""
    release, _, file = name.partition("/")
    module = next((schema for schema in ("ecg", "cxr", "echo") if f"-{schema}" in release), None)
    return f"{module}/{file}" if module else name


def stored(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        Store.open(store).attach(connection)
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, small_source: Path) -> Path:
    """The small hospital with every optional module, imported from the published files."""
    folder = tmp_path_factory.mktemp("full")
    import_store([small_source, *publish(folder)], folder / "store")
    return folder / "store"


def test_every_module_is_found_under_the_names_it_is_published_with(full: Path) -> None:
    manifest = Store.open(full).manifest
    assert manifest.modules == {"hosp", "icu", *OPTIONAL_SCHEMAS}
    sources = {name: entry.source for name, entry in manifest.tables.items()}
    assert sources["cxr.metadata"] == "cxr/mimic-cxr-2.0.0-metadata.csv.gz"
    assert sources["ecg.machine_measurements"] == "ecg/machine_measurements.csv"
    assert sources["echo.structured_measurement"] == "echo/structured-measurement.csv.gz"
    assert sources["ecg.waveform_note_links"] is None
    assert check_store(Store.open(full)).ok


def test_keys_of_studies_are_theirs_and_measurements_have_numbers_of_their_own(full: Path) -> None:
    found = {
        name: [eid for (eid,) in stored(full, f"select eid from store.{name} order by rowid")]
        for name, table in TABLES.items()
        if table.schema in OPTIONAL_SCHEMAS
    }
    assert {name: eids for name, eids in found.items() if eids} == {
        "note.discharge": ["note:DS-4"],
        "ed.edstays": ["edstay:39000001"],
        "ecg.machine_measurements": ["ecg:43000001"],
        "ecg.record_list": ["ecg:43000001"],
        "cxr.metadata": ["cxr:53000001", "cxr:53000001"],
        "cxr.chexpert": ["cxr:53000001"],
        "cxr.study_list": ["cxr:53000001"],
        "echo.study_list": ["echo:93000001"],
        "echo.record_list": ["echo:93000001"],
        "echo.structured_measurement": ["echo:m1", "echo:m2"],
    }


def test_dates_and_times_of_radiographs_are_dates_and_times(full: Path) -> None:
    assert stored(full, "select distinct studydate, studytime, available_at from store.cxr.metadata") == [
        (
            dt.date(2150, 3, 1),
            dt.time(7, 3, 12, 453000),
            dt.datetime(2150, 3, 1, 7, 3, 12, 453000),
        )
    ]


def test_labels_have_names_without_blanks(full: Path) -> None:
    labels = "enlarged_cardiomediastinum, pleural_effusion, pneumonia, no_finding"
    assert stored(full, f"select {labels} from store.cxr.chexpert") == [(-1.0, 0.0, 1.0, None)]


def test_a_link_that_a_release_does_not_have_is_null(full: Path) -> None:
    links = "note_id, measurement_id, measurement_datetime"
    assert stored(full, f"select {links} from store.echo.study_list") == [(None, None, None)]


def test_no_path_of_a_file_reaches_a_slice(full: Path) -> None:
    with open_slice(Store.open(full), ADA, LATE) as chart:
        for schema in OPTIONAL_SCHEMAS:
            for name in (name for name in TABLES if name.startswith(f"{schema}.")):
                rows = chart.cursor().execute(f"from {name}").fetchall()
                assert str(ADA) not in str(rows), name
        assert chart.cursor().execute("select viewposition from cxr.metadata order by 1").fetchall() == [
            ("LATERAL",),
            ("PA",),
        ]


def test_a_slice_knows_which_modules_its_store_has(full: Path, small_store: Store) -> None:
    with open_slice(Store.open(full), ADA, LATE) as chart, open_slice(small_store, ADA, LATE) as bare:
        assert chart.modules == {"hosp", "icu", *OPTIONAL_SCHEMAS}
        assert bare.modules == {"hosp", "icu"}
        for name in (name for name, table in TABLES.items() if table.schema in OPTIONAL_SCHEMAS):
            assert bare.cursor().execute(f"from {name}").fetchall() == []


def test_a_folder_may_also_be_named_like_its_module(tmp_path: Path, small_source: Path, full: Path) -> None:
    texts = {in_module_folder(name): text for name, text in PUBLISHED.items()}
    found = find_sources([small_source, *publish(tmp_path, texts)])
    sources = {name: entry.source for name, entry in Store.open(full).manifest.tables.items() if entry.source}
    assert {name: source.label for name, source in found.items()} == sources


@pytest.mark.slow
def test_a_column_that_a_later_release_adds_is_left_unread_and_said_once(
    tmp_path: Path, small_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "mimic-iv-echo-0.1/echo-record-list.csv"
    text = (
        PUBLISHED[name]
        .replace("dicom_filepath", "dicom_filepath,Reader Name,")
        .replace(".dcm", ".dcm,Dr X,1")
    )
    folders = publish(tmp_path, {name: text})
    store = tmp_path / "store"
    assert run(["import", str(small_source), *map(str, folders), "--store", str(store)]) == 0
    assert (
        capsys.readouterr().err == "echo/echo-record-list.csv: not served, no rule: reader_name, (unnamed)\n"
    )
    assert Store.open(store).manifest.tables["echo.record_list"].unread == ["reader_name", ""]
    described = {row[0] for row in stored(store, "describe store.echo.record_list")}
    assert described == {*TABLES["echo.record_list"].column_names, "eid", "available_at"}


def test_a_column_that_a_module_always_had_may_not_be_missing(tmp_path: Path, small_source: Path) -> None:
    name = "mimic-iv-echo-0.1/echo-study-list.csv"
    folders = publish(tmp_path, {name: PUBLISHED[name].replace("study_datetime", "date")})
    with pytest.raises(StoreError, match=r"echo-study-list\.csv: lacks column study_datetime"):
        import_store([small_source, *folders], tmp_path / "store")


def images(tmp_path: Path, suffix: str, times: Iterable[str]) -> list[Any]:
    rows = [
        {"subject_id": ADA, "study_id": n, "studydate": "21500301", "studytime": time}
        for n, time in enumerate(times)
    ]
    file = write_table(tmp_path, "cxr.metadata", rows, suffix=suffix)
    source = SourceFile(TABLES["cxr.metadata"], file)
    with duckdb.connect() as connection, reading(source):
        sql = typed_rows(connection, source, verify(source).columns)
        return [row[0] for row in connection.execute(f"select studytime from ({sql})").fetchall()]


def test_a_time_of_dicom_has_lost_its_leading_zeros(tmp_path: Path) -> None:
    assert images(tmp_path, ".csv", ["213014.53100000002", "80556.875", "512", "0.0", "", "08:05:56"]) == [
        dt.time(21, 30, 14, 531000),
        dt.time(8, 5, 56, 875000),
        dt.time(0, 5, 12),
        dt.time(0),
        None,
        dt.time(8, 5, 56),
    ]


@pytest.mark.parametrize("time", ["246000", "1e5", "-12", "1234567", "noon"])
def test_a_number_that_is_no_time_of_day_is_named(tmp_path: Path, time: str) -> None:
    with pytest.raises(StoreError, match=r"column studytime: '.*' is not a time of day"):
        images(tmp_path, ".csv.gz", [time])


@pytest.mark.slow
def test_every_format_of_every_module_gives_the_same_fingerprint(tmp_path: Path) -> None:
    def rows() -> Rows:
        found = edge_rows()
        for image in found["cxr.metadata"]:
            day, clock = image["studydate"], image["studytime"]
            image["studydate"] = f"{day[:4]}-{day[4:6]}-{day[6:]}"
            image["studytime"] = clock and f"0{clock[0]}:{clock[1:3]}:{clock[3:]}"
        return found

    # sealing reads every file as an import does, and gives the fingerprint
    prints = {
        seal_synthetic(write_hospital(tmp_path / suffix, rows(), suffix=suffix))
        for suffix in (".csv", ".parquet")
    }
    assert prints == {seal_synthetic(write_hospital(tmp_path / "published.gz", edge_rows()))}
