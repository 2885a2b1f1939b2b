import csv
import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from harness.errors import HarnessError, ScenarioError
from harness.synthetic import Hospital, write_hospital
from harness.synthetic.dictionaries import chart_items, lab_items
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.tables import TABLES
from tests.harness.synthetic.conftest import SyntheticWorld, single
from tests.harness.synthetic.toy_plants import PLANTS, SEED, ToyScenario, write_plants

PATIENTS = "(select count(*) from hosp.patients)"


def generate(
    folder: Path,
    *,
    seed: int = SEED,
    patients: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Hospital:
    """A small hospital with the toy plants."""
    folder.mkdir(exist_ok=True)
    scenario = ToyScenario(write_plants(folder))
    return write_hospital(
        folder / "hospital", seed=seed, patients=patients, scenarios=[scenario], progress=progress
    )


def digests(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def lines_by_subject(root: Path) -> dict[str, dict[str, list[str]]]:
    """Table → subject → rows, each as one text."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(root.rglob("*.csv*")):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            table = found.setdefault(path.name, {})
            for row in rows:
                if "subject_id" in row:
                    table.setdefault(row["subject_id"], []).append(str(row))
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Hospital:
    return generate(tmp_path_factory.mktemp("small"))


def test_every_official_table_is_written_with_its_official_header(small: Hospital) -> None:
    tables = {name: table for name, table in TABLES.items() if table.schema not in ("cxr", "echo")}
    assert set(small.rows) == set(tables)
    for name, table in tables.items():
        # ECGs are published as plain csv, everything else packed
        suffix, unpack = (".csv", open) if table.schema == "ecg" else (".csv.gz", gzip.open)
        with unpack(small.path / table.schema / f"{table.name}{suffix}", "rt", encoding="utf-8") as file:
            assert tuple(next(csv.reader(file))) == table.column_names, name


def test_the_same_seed_gives_the_same_bytes_and_progress_counts_the_patients(
    small: Hospital, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    again = generate(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert digests(again.path) == digests(small.path)
    assert again.plants == small.plants
    assert seen == [(done, small.patients) for done in range(1, small.patients + 1)]


@pytest.mark.slow
def test_another_seed_gives_another_hospital(small: Hospital, tmp_path: Path) -> None:
    other = generate(tmp_path, seed=SEED + 1)
    assert {case.subject_id for case in other}.isdisjoint(case.subject_id for case in small)


@pytest.mark.slow
def test_more_neighbours_change_no_chart_that_was_there(small: Hospital, tmp_path: Path) -> None:
    larger = generate(tmp_path, patients=small.patients + 6)
    assert larger.patients == small.patients + 6
    before, after = lines_by_subject(small.path), lines_by_subject(larger.path)
    for table, subjects in before.items():
        for subject, lines in subjects.items():
            assert after[table][subject] == lines, table


@pytest.mark.slow
def test_the_files_import_as_a_synthetic_release_3_1(small: Hospital, tmp_path: Path) -> None:
    manifest = import_store([small.path], tmp_path / "store")
    assert (manifest.classification, manifest.release) == ("synthetic", "3.1")
    assert {name: table.rows for name, table in manifest.tables.items() if name in small.rows} == small.rows


def test_no_file_names_a_plant_a_scenario_or_a_verdict(small: Hospital) -> None:
    plants = {case.plant_id for case in small}
    words = {*plants, "91-toy", "planted", "lack_of_data", "medical_ambiguity", "neighbour"}
    for path in small.path.rglob("*.csv.gz"):
        text = gzip.decompress(path.read_bytes()).decode().lower()
        assert not [word for word in words if word in text], path.name


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "hospital").mkdir()
    (tmp_path / "hospital" / "thesis.txt").write_text("three years of work")
    with pytest.raises(HarnessError, match="is not empty"):
        generate(tmp_path)
    assert (tmp_path / "hospital" / "thesis.txt").exists()


def test_a_plant_that_cannot_be_realised_leaves_nothing_behind(tmp_path: Path) -> None:
    impossible = PLANTS.replace('item = 226559, at = "+1h"', 'item = 226559, at = "-90d"')
    scenario = ToyScenario(write_plants(tmp_path, impossible.replace('until = "+5h"', 'until = "-89d"')))
    with pytest.raises(ScenarioError, match="outside every ICU stay"):
        write_hospital(tmp_path / "hospital", seed=SEED, scenarios=[scenario])
    assert [path.name for path in tmp_path.iterdir()] == ["plants.toml"]


def test_two_at_once_do_not_write_into_each_other(tmp_path: Path) -> None:
    told: list[str] = []

    def second(done: int, patients: int) -> None:
        if done == 1:
            with pytest.raises(HarnessError, match="is being made by another process") as refused:
                generate(tmp_path)
            told.append(refused.value.remedy)

    written = generate(tmp_path, progress=second)
    assert told == ["wait for it, or name another folder with --out"]
    assert digests(written.path) == digests(generate(tmp_path / "alone").path)
    assert not list(tmp_path.glob(".*"))


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".hospital.partial" / "hospital" / "hosp"
    left.mkdir(parents=True)
    (left / "thesis.csv").write_text("half")
    (tmp_path / ".hospital.partial" / "lock").touch()
    written = generate(tmp_path)
    assert not (written.path / "hosp" / "thesis.csv").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_by_default_every_two_carriers_of_a_plant_have_one_neighbour(world: SyntheticWorld) -> None:
    carriers = len(world.planted)
    assert world.store.manifest.tables["hosp.patients"].rows == carriers + carriers // 2


@pytest.mark.slow
def test_units_follow_the_item(database: duckdb.DuckDBPyConnection) -> None:
    for table, items in (("hosp.labevents", lab_items()), ("icu.chartevents", chart_items())):
        units = database.execute(
            f"select distinct itemid, valueuom from {table} where valuenum is not null"
        ).fetchall()
        assert units
        for itemid, unit in units:
            assert unit == items[itemid].unit, (table, itemid)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "dictionary"),
    [
        ("hosp.labevents", "hosp.d_labitems"),
        ("icu.chartevents", "icu.d_items"),
        ("icu.datetimeevents", "icu.d_items"),
        ("icu.inputevents", "icu.d_items"),
        ("icu.ingredientevents", "icu.d_items"),
        ("icu.outputevents", "icu.d_items"),
        ("icu.procedureevents", "icu.d_items"),
    ],
)
def test_every_item_is_in_its_dictionary(
    database: duckdb.DuckDBPyConnection, table: str, dictionary: str
) -> None:
    links = "" if dictionary == "hosp.d_labitems" else f"and d.linksto = '{table.split('.')[1]}'"
    sql = f"select count(*) from {table} r where not exists (from {dictionary} d where d.itemid = r.itemid {links})"
    assert single(database, sql) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "sql", "low", "high"),
    [
        ("labs without an admission", "avg((hadm_id is null)::int) from hosp.labevents", 0.15, 0.35),
        ("labs stored before drawn", "avg((storetime < charttime)::int) from hosp.labevents", 0.001, 0.05),
        ("eMAR stored before given", "avg((storetime < charttime)::int) from hosp.emar", 0.01, 0.06),
        ("prescriptions off the hour", "sum((starttime <> date_trunc('hour', starttime))::int) from hosp.prescriptions", 0, 0),
        ("eMAR rows that are no dose", "avg((event_txt like 'Not %' or event_txt = 'Flushed')::int) from hosp.emar", 0.1, 0.4),
        ("verbs lost a patient", f"count(*) / {PATIENTS} from hosp.emar where trim(event_txt) in ('in Other Location', 'Delayed')", 0.02, 3),
        ("names with trailing blanks a patient", f"count(*) / {PATIENTS} from hosp.emar where medication like '% '", 0.02, 60),
        ("cancelled specimens a patient", f"count(*) / {PATIENTS} from hosp.labevents where valuenum is null and comments ilike '%cancelled%'", 0.08, 10),
        ("masked comments a patient", f"count(*) / {PATIENTS} from hosp.labevents where comments = '___'", 2, 100),
        ("cultures with a date only", "avg((charttime is null)::int) from hosp.microbiologyevents", 0.01, 0.15),
        ("cancelled cultures a patient", f"count(*) / {PATIENTS} from hosp.microbiologyevents where org_itemid = 90760", 0.003, 0.4),
        ("ED to inpatient", "avg((edregtime is not null)::int) from hosp.admissions", 0.4, 0.95),
        ("patients with several admissions a patient", f"count(*) / {PATIENTS} from (select 1 from hosp.admissions group by subject_id having count(*) > 1)", 0.12, 0.7),
        ("patients without eMAR a patient", f"count(*) / {PATIENTS} from hosp.patients p where not exists (from hosp.emar e where e.subject_id = p.subject_id)", 0.01, 0.3),
        ("operating room returns a patient", f"count(*) / {PATIENTS} from icu.procedureevents where itemid = 225469", 0.003, 0.4),
        ("dialysis sessions a patient", f"count(*) / {PATIENTS} from icu.procedureevents where itemid = 225441", 0.01, 1),
        ("ICU stays of a day or more", "quantile_cont(los, 0.1) from icu.icustays", 0.9, 3),
        ("ICU stays of at most ten days", "max(los) from icu.icustays", 3, 10),
        ("chart copies of creatinine a patient", f"count(*) / {PATIENTS} from icu.chartevents where itemid = 220615", 1.5, 25),
        ("hours between heart rates", "quantile_cont(gap, 0.5) from (select date_diff('minute', lag(charttime) over (partition by stay_id order by charttime), charttime) / 60 as gap from icu.chartevents where itemid = 220045)", 1, 1),
        ("years", "min(year(admittime)) from hosp.admissions", 2110, 2200),
        ("results before death only", "count(*) from hosp.labevents l join hosp.patients p using (subject_id) where l.charttime::date > p.dod", 0, 0),
    ],
    ids=lambda argument: argument.replace(" ", "_") if isinstance(argument, str) and " from " not in argument else "",
)  # fmt: skip
def test_the_record_has_the_habits_of_the_real_one(
    database: duckdb.DuckDBPyConnection, what: str, sql: str, low: float, high: float
) -> None:
    assert low <= single(database, f"select {sql}") <= high, what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("child", "parent", "key"),
    [
        ("hosp.emar_detail", "hosp.emar", "emar_id"),
        ("hosp.poe_detail", "hosp.poe", "poe_id"),
        ("hosp.emar", "hosp.poe", "poe_id"),
        ("hosp.emar", "hosp.pharmacy", "pharmacy_id"),
        ("hosp.pharmacy", "hosp.poe", "poe_id"),
        ("hosp.prescriptions", "hosp.pharmacy", "pharmacy_id"),
        ("hosp.prescriptions", "hosp.poe", "poe_id"),
        ("hosp.transfers", "hosp.admissions", "hadm_id"),
        ("hosp.diagnoses_icd", "hosp.admissions", "hadm_id"),
        ("icu.icustays", "hosp.admissions", "hadm_id"),
        ("icu.chartevents", "icu.icustays", "stay_id"),
        ("icu.datetimeevents", "icu.icustays", "stay_id"),
        ("icu.ingredientevents", "icu.inputevents", "orderid"),
    ],
)
def test_rows_refer_to_rows_that_are_there(
    database: duckdb.DuckDBPyConnection, child: str, parent: str, key: str
) -> None:
    orphans = (
        f"select count(*) from {child} c where {key} is not null and not exists "
        f"(from {parent} p where p.{key} = c.{key} and p.subject_id = c.subject_id)"
    )
    assert single(database, orphans) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["diagnoses", "procedures"])
def test_every_code_has_its_title(database: duckdb.DuckDBPyConnection, kind: str) -> None:
    untitled = f"""select count(*) from hosp.{kind}_icd c where not exists (
        from hosp.d_icd_{kind} d where d.icd_code = c.icd_code and d.icd_version = c.icd_version)"""
    assert single(database, untitled) == 0
    twice = f"select count(*) from (from hosp.d_icd_{kind} select 1 group by icd_code, icd_version having count(*) > 1)"
    assert single(database, twice) == 0


@pytest.mark.slow
def test_what_ends_or_changes_an_order_names_it(database: duckdb.DuckDBPyConnection) -> None:
    loose = """select count(*) from hosp.poe o left join hosp.poe b on b.poe_id = o.discontinue_of_poe_id
        where o.transaction_type <> 'New' and (
            b.poe_id is null or b.subject_id <> o.subject_id or b.ordertime > o.ordertime
            or b.discontinued_by_poe_id is distinct from o.poe_id)"""
    assert single(database, loose) == 0
    kinds = "select count(distinct transaction_type) from hosp.poe where order_subtype = 'Tubes/Drains'"
    assert single(database, kinds) == 3


@pytest.mark.parametrize("step", ["open_chart", "fill_chart"])
def test_whatever_goes_wrong_with_a_plant_names_it(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StopIteration

    monkeypatch.setattr(f"harness.synthetic.hospital.{step}", fail)
    with pytest.raises(ScenarioError, match=r"plant '\w+': no chart can be written for it \(StopIteration\)"):
        generate(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plants.toml"]
