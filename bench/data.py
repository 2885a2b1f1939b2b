"""A made-up MIMIC-IV of any size in the official layout, for measuring: csv.gz, the same bytes at every run.

    uv run python -m bench.data FOLDER --scale 0.02

At scale 1 it has 50 million lab and 100 million chart rows, and of every other table as many as its patients
have by the demo's counts (`bench.shape`). It goes on where it was stopped. Rows stand in the files by subject:
those of the demo's lab file do not, and of the whole releases it was not looked up. Four patients are planted: see `PLANTED`.
"""

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from bench.machine import ShortageError, require_disk
from bench.shape import COUNTS, Population, rows_at
from bench.tables import DICTIONARIES, GENERATED, PATIENTS, rows_sql
from mcp_mimic.store.classification import SYNTHETIC_SEAL_FILE, seal_synthetic

VERSION = 1
FACTS_FILE = "bench.json"
BYTES_AT_FULL = 5_000_000_000
"""Roughly what the files of scale 1 take."""

PLANTED = {"median": 0.5, "heaviest": 1.0, "fourfold": 1.0, "noted": 0.5}
"""Patients with the rows of a quantile of the demo: its median patient and its heaviest one, in every table;
one with four times the heaviest, as the demo is small; and a median one with 300 notes."""

_NOTES = {"note.discharge": 50, "note.radiology": 250}


@dataclass(frozen=True)
class Person:
    """One patient: its number, its quantile, and the rows it has in each table."""

    i: int
    rows: dict[str, int]

    @property
    def subject_id(self) -> int:
        """Numbers that look like the official ones."""
        return 10_000_000 + 37 * self.i

    @property
    def born(self) -> datetime:
        """Midnight of the day of birth."""
        return datetime(2100, 1, 1) + timedelta(days=self.i * 7919 % 18000)

    @property
    def over(self) -> datetime:
        """A moment at which all of the record is available."""
        return self.born + timedelta(days=8000 + 60 * self.rows["hosp.admissions"] + 30)


@dataclass(frozen=True)
class Facts:
    """What a folder of made-up files holds; written once they are whole."""

    version: int
    scale: float
    patients: int
    subjects: dict[str, int]
    as_of: dict[str, str]
    rows: dict[str, int]
    patient_rows: dict[str, int]
    bytes: int

    @classmethod
    def read(cls, folder: Path) -> "Facts":
        """The facts of the files in `folder`."""
        return cls(**json.loads((folder / FACTS_FILE).read_text()))


def people(scale: float) -> dict[int, Person]:
    """The patients by their number; the planted ones stand evenly among them."""
    population = Population.of(scale)
    size = population.patients
    places = {size * (n + 1) // (len(PLANTED) + 1): name for n, name in enumerate(PLANTED)}
    found = {}
    for i in range(size):
        name = places.get(i)
        at = PLANTED[name] if name else ((i * 0.6180339887498949) % 1.0)
        in_icu = name is not None or (i * 0.7548776662466927) % 1.0 < population.in_icu
        found[i] = Person(i, _rows(at, in_icu, times=4 if name == "fourfold" else 1))
        if name == "noted":
            found[i].rows.update(_NOTES)
    return found


def planted(scale: float) -> dict[str, Person]:
    size = Population.of(scale).patients
    found = people(scale)
    return {name: found[size * (n + 1) // (len(PLANTED) + 1)] for n, name in enumerate(PLANTED)}


def _rows(at: float, in_icu: bool, *, times: int) -> dict[str, int]:
    rows = {name: times * rows_at(name, at) for name in GENERATED if in_icu or not name.startswith("icu.")}
    rows["hosp.emar_detail"] = min(rows["hosp.emar_detail"], 2 * rows["hosp.emar"])
    rows["hosp.poe_detail"] = min(rows["hosp.poe_detail"], rows["hosp.poe"] // 10)
    return rows


def make(folder: Path, scale: float, *, seal: bool = True) -> Facts:
    """Write the files of `scale` into `folder`, or find them there; ValueError: it holds others."""
    if (folder / FACTS_FILE).is_file():
        facts = Facts.read(folder)
        if (facts.version, facts.scale) != (VERSION, scale):
            raise ValueError(f"{folder} holds other data: scale {facts.scale}, version {facts.version}")
        return facts
    require_disk(folder, round(BYTES_AT_FULL * scale) + 50_000_000)
    for schema in ("hosp", "icu", "note", "ed"):
        (folder / schema).mkdir(parents=True, exist_ok=True)
    persons = people(scale)
    # Several threads would keep the order of the rows by holding a whole file in memory.
    settings = {"temp_directory": str(folder / "spill"), "threads": 1}
    with duckdb.connect(config=settings) as connection:
        _prepare(connection, folder, persons)
        names = (*sorted(GENERATED, key=_size, reverse=True), *DICTIONARIES, "hosp.patients")
        with ThreadPoolExecutor(2) as writers:  # gzip takes one thread a file
            list(writers.map(lambda name: _write(connection, folder, name), names))
    if seal and not (folder / SYNTHETIC_SEAL_FILE).is_file():
        _say("sealing: every file is read once")
        seal_synthetic(folder)
    chosen = planted(scale)
    facts = Facts(
        VERSION,
        scale,
        len(persons),
        {name: person.subject_id for name, person in chosen.items()},
        {name: person.over.isoformat() for name, person in chosen.items()},
        {name: sum(person.rows.get(name, 0) for person in persons.values()) for name in GENERATED},
        {name: sum(person.rows.values()) for name, person in chosen.items()},
        sum(file.stat().st_size for file in folder.glob("*/*.csv.gz")),
    )
    (folder / FACTS_FILE).write_text(json.dumps(asdict(facts), indent=2) + "\n")
    (folder / "person.csv").unlink()
    return facts


def _size(table: str) -> int:
    return COUNTS.get(table, (0,))[-1]


def _prepare(connection: duckdb.DuckDBPyConnection, folder: Path, persons: dict[int, Person]) -> None:
    """The tables `person`, with a column of rows for each official table, and `paragraph`."""
    with (folder / "person.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("i", "subject_id", "born", *GENERATED))
        for person in persons.values():
            table.writerow(
                (person.i, person.subject_id, person.born, *(person.rows.get(n, 0) for n in GENERATED))
            )
    connection.execute(f"create table person as from read_csv('{folder}/person.csv')").fetchall()
    syllables = "['an', 'cor', 'di', 'em', 'fer', 'gas', 'hy', 'is', 'lo', 'men', 'ne', 'os', 'per', 're', 'sta', 'tum']"
    connection.execute(
        f"""create table paragraph as
        select n, array_to_string(list_transform(range(70), lambda x:
            {syllables}[(hash(n * 70 + x) >> 1)::bigint % 16 + 1] || {syllables}[((hash(n * 70 + x) >> 1)::bigint >> 8) % 16 + 1]
            || case when (hash(n * 70 + x) >> 1)::bigint % 3 = 0 then {syllables}[((hash(n * 70 + x) >> 1)::bigint >> 16) % 16 + 1] else '' end), ' ')
            || case n % 40 when 0 then ' lvef 55%' when 1 then ' no pneumonia' else '.' end as text
        from range(2000) t(n)"""
    ).fetchall()


def _write(connection: duckdb.DuckDBPyConnection, folder: Path, table: str) -> None:
    """One file, whole or absent."""
    file = folder / f"{table.replace('.', '/')}.csv.gz"
    if file.is_file():
        return
    started = time.perf_counter()
    part = file.with_suffix(".part")
    connection = connection.cursor()
    if table in DICTIONARIES:
        select = DICTIONARIES[table]
    elif table == "hosp.patients":
        select = PATIENTS
    else:
        groups = "icu.icustays" if table.startswith("icu.") else "hosp.admissions"
        connection.execute(
            f'create temp table counted as select i, subject_id, born, "{groups}" as adms, "{table}" as n, '
            f'(sum("{table}") over (order by i) - "{table}")::bigint as o from person where n > 0 order by i'
        ).fetchall()
        select = rows_sql(table)
    connection.execute(f"copy ({select}) to '{part}' (format csv, header, compression gzip)").fetchall()
    part.rename(file)
    _say(f"{table}: {file.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.data", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args(arguments)
    try:
        facts = make(asked.folder, asked.scale)
    except (ShortageError, ValueError) as error:
        _say(f"error: {error}")
        return 1
    print(
        f"{facts.patients:,} patients, {facts.rows['hosp.labevents']:,} labs, {facts.rows['icu.chartevents']:,} "
        f"chart rows, {sum(facts.rows.values()):,} rows in all, {facts.bytes / 1e9:.2f} GB of csv.gz"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
