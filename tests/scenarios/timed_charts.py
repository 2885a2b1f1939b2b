"""Charts of made-up inpatients, written in minutes around the index time, in the official layout."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from harness.adjudication import Requirement, adjudicate, gather_evidence
from harness.data import data_folder
from harness.definitions import define_for_cohort
from harness.scenario import Scenario, load_scenario
from mcp_mimic.chart.served import SERVED_TABLES
from mcp_mimic.chart.tasks import TaskRow, open_tasks
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from tests.hospital import Rows, write_hospital

T = datetime(2150, 3, 10, 12)
HOUR = 60
DAY = 24 * HOUR


def after(minutes: float) -> datetime:
    """A moment so many minutes after the index time (before it, if negative)."""
    return T + timedelta(minutes=minutes)


@dataclass(frozen=True)
class Row:
    """One row of an official table; its keys that belong to the patient are filled in."""

    table: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """One patient on a ward from two days before T to three days after, with these further rows.

    `ed` is the stay in the emergency room; the admission's registered times are the same unless given.
    `goes` is where to (discharge_location). `earlier` is an earlier admission, from and to; rows made for it
    say so.
    """

    rows: Sequence[Row] = ()
    leaves: float = 3 * DAY
    died: float | None = None
    ed: tuple[float, float] | None = None
    registered: tuple[float, float] | None = None
    icu: tuple[float, float] | None = None
    age: int = 60
    sex: str = "F"
    goes: str | None = None
    earlier: tuple[float, float] | None = None


_PARENTS = {
    "hosp.emar": "hosp.emar",
    "hosp.emar_detail": "hosp.emar",
    "hosp.poe": "hosp.poe",
    "hosp.poe_detail": "hosp.poe",
}
"""Rows of these tables are numbered; those of a detail as the row before them."""

EARLIER = -1
"""The hadm_id of a row that belongs to the earlier admission."""


def lab(
    itemid: int,
    at: float,
    value: float | None,
    *,
    stored: float | None = None,
    specimen: int | None = None,
    comment: str | None = None,
) -> Row:
    """A laboratory row; each has a specimen of its own unless it names one."""
    values = {
        "itemid": itemid,
        "charttime": after(at),
        "storetime": after(at if stored is None else stored),
        "value": value,
        "valuenum": value,
        "comments": comment,
        "specimen_id": specimen,
    }
    return Row("hosp.labevents", values)


def culture(at: float, *, specimen: int, kind: str = "BLOOD CULTURE", stored: float = 5 * DAY) -> Row:
    """A culture, reported days later."""
    values = {
        "micro_specimen_id": specimen,
        "chartdate": after(at).date(),
        "charttime": after(at),
        "spec_type_desc": kind,
        "test_name": "Blood Culture, Routine",
        "storetime": after(stored),
    }
    return Row("hosp.microbiologyevents", values)


def order(at: float, drug: str, route: str = "IV", *, pharmacy_id: int | None = None) -> Row:
    """A prescription."""
    values = {
        "drug": drug, "drug_type": "MAIN", "route": route, "starttime": after(at), "stoptime": after(at + DAY),
        "pharmacy_id": pharmacy_id,
    }  # fmt: skip
    return Row("hosp.prescriptions", values)


def given(at: float, name: str, event: str | None = "Administered", *, pharmacy_id: int | None = None) -> Row:
    """An eMAR row."""
    values = {
        "charttime": after(at), "storetime": after(at), "medication": name, "event_txt": event,
        "pharmacy_id": pharmacy_id,
    }  # fmt: skip
    return Row("hosp.emar", values)


def detail(route: str | None, kind: str | None = "Standard Maintenance Medication") -> Row:
    """A detail row of the eMAR row before it."""
    return Row("hosp.emar_detail", {"route": route, "administration_type": kind})


def ordered(at: float, kind: str, **values: Any) -> Row:
    """A provider's order; a row of hosp.poe_detail after it belongs to it."""
    return Row("hosp.poe", {"ordertime": after(at), "order_type": kind, **values})


def coded(code: str, version: int = 10, *, hadm_id: int | None = EARLIER) -> Row:
    """A coded diagnosis, of the earlier admission unless it is said that it is the index one's (None)."""
    return Row("hosp.diagnoses_icd", {"icd_code": code, "icd_version": version, "hadm_id": hadm_id})


def summary(at: float, text: str, *, hadm_id: int | None = EARLIER) -> Row:
    """A discharge summary, of the earlier admission unless it is said that it is the index one's (None)."""
    return Row(
        "note.discharge",
        {"charttime": after(at), "storetime": after(at), "text": text, "note_type": "DS", "hadm_id": hadm_id},
    )


def report(at: float, text: str, *, stored: float | None = None) -> Row:
    """A report of imaging, stored at once unless it is said when."""
    written = after(at if stored is None else stored)
    return Row(
        "note.radiology", {"charttime": after(at), "storetime": written, "text": text, "note_type": "RR"}
    )


def charted(itemid: int, at: float, value: float = 80) -> Row:
    """A bedside observation."""
    values = {
        "itemid": itemid, "charttime": after(at), "storetime": after(at), "value": value, "valuenum": value,
    }  # fmt: skip
    return Row("icu.chartevents", values)


def infused(itemid: int, at: float, amount: float, **values: Any) -> Row:
    """An infusion or push of ten minutes."""
    fixed = {
        "itemid": itemid, "starttime": after(at), "endtime": after(at + 10), "storetime": after(at),
        "amount": amount, "ordercategorydescription": "Drug Push",
    }  # fmt: skip
    return Row("icu.inputevents", fixed | values)


def procedure(itemid: int, at: float, ends: float) -> Row:
    """A bedside procedure."""
    values = {
        "itemid": itemid, "starttime": after(at), "endtime": after(ends), "storetime": after(at),
        "statusdescription": "FinishedRunning",
    }  # fmt: skip
    return Row("icu.procedureevents", values)


def write_charts(folder: Path, charts: Iterable[Chart]) -> Store:
    """Import the charts; the n-th patient (from 1) is subject 1000 + n, admission 2000 + n, stay 3000 + n."""
    rows: Rows = {}
    for number, chart in enumerate(charts, start=1):
        for table, row in _rows(number, chart):
            rows.setdefault(table, []).append(row)
    for table, key in (("hosp.labevents", "labevent_id"), ("hosp.microbiologyevents", "microevent_id")):
        for place, row in enumerate(rows.get(table, ()), start=1):
            row[key] = place
            if table == "hosp.labevents" and row["specimen_id"] is None:
                row["specimen_id"] = 500_000 + place
    for place, row in enumerate(rows.get("icu.procedureevents", ()), start=1):
        row["orderid"] = row["linkorderid"] = place
    import_store([write_hospital(folder / "source", rows)], folder / "store", release="3.1")
    return Store.open(folder / "store")


def _rows(number: int, chart: Chart) -> Iterable[tuple[str, dict[str, Any]]]:
    person = {"subject_id": 1000 + number}
    admission = person | {"hadm_id": 2000 + number}
    admitted = chart.ed[1] if chart.ed else -2 * DAY
    yield "hosp.patients", person | {"gender": chart.sex, "anchor_age": chart.age, "anchor_year": T.year}
    stay = {"admittime": after(admitted), "dischtime": after(chart.leaves), "hospital_expire_flag": 0}
    if chart.goes is not None:
        stay |= {"discharge_location": chart.goes}
    if chart.died is not None:
        stay |= {"deathtime": after(chart.died), "hospital_expire_flag": 1}
    if registered := chart.registered or chart.ed:
        stay |= {"edregtime": after(registered[0]), "edouttime": after(registered[1])}
    yield "hosp.admissions", admission | stay
    yield from _places(number, chart, admission, admitted)
    if chart.earlier:
        came, went = chart.earlier
        past = {"hadm_id": 7000 + number, "admittime": after(came), "dischtime": after(went)}
        yield "hosp.admissions", person | past | {"hospital_expire_flag": 0}
    counted: Counter[str] = Counter()
    for row in chart.rows:
        counted[row.table] += 1
        yield row.table, _keyed(row, admission, counted) | person


def _keyed(row: Row, admission: dict[str, Any], counted: Mapping[str, int]) -> dict[str, Any]:
    """A row with the keys that say whose it is, and which of its table."""
    own, number, subject = dict(row.values), counted[row.table], admission["subject_id"]
    if row.table.startswith("icu."):
        own |= admission | {"stay_id": 2000 + subject}
    elif row.table in ("hosp.prescriptions", "hosp.emar", "hosp.services"):
        own |= admission
    elif row.table in ("hosp.diagnoses_icd", "note.discharge", "note.radiology"):
        own["hadm_id"] = 6000 + subject if own.get("hadm_id") == EARLIER else admission["hadm_id"]
    if row.table == "hosp.diagnoses_icd":
        own["seq_num"] = number
    elif row.table.startswith("note."):
        own |= {"note_seq": number, "note_id": f"{subject}-{own['note_type']}-{number}"}
    elif parent := _PARENTS.get(row.table):
        key, number = parent.removeprefix("hosp."), counted[parent]
        own |= {f"{key}_seq": number, f"{key}_id": f"{subject}-{number}"}
    return own


def _places(
    number: int, chart: Chart, admission: Mapping[str, Any], admitted: float
) -> Iterable[tuple[str, dict[str, Any]]]:
    stretches = [("admit", "Medicine", admitted, chart.leaves), ("discharge", None, chart.leaves, None)]
    if chart.ed:
        stretches.append(("ED", "Emergency Department", *chart.ed))
    if chart.icu:
        begins, ends = chart.icu
        yield (
            "icu.icustays",
            {
                **admission,
                "stay_id": 3000 + number,
                "intime": after(begins),
                "outtime": after(ends),
                "los": 1.0,
            },
        )
    for place, (event, unit, begins, ends) in enumerate(stretches):
        yield (
            "hosp.transfers",
            {
                **admission,
                "transfer_id": 10 * (4000 + number) + place,
                "eventtype": event,
                "careunit": unit,
                "intime": after(begins),
                "outtime": None if ends is None else after(ends),
            },
        )


def find_tasks(store: Store, scenario: Scenario) -> dict[int, TaskRow]:
    """What cohort.sql finds: the number of the chart (from 1) → its task, read as the scenario does."""
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, "store")
        connection.execute("use store")
        define_for_cohort(connection)
        result = connection.execute(scenario.cohort_sql)
        names = [column[0] for column in result.description]
        found = [dict(zip(names, values, strict=True)) for values in result.fetchall()]
    return {
        row["subject_id"] - 1000: TaskRow(
            task_id=str(row["subject_id"] - 1000), **(row | {"params": scenario.params})
        )
        for row in found
    }


@dataclass(frozen=True)
class Judged:
    """What a scenario makes of the charts, by their names; charts outside its cohort are missing."""

    tasks: Mapping[str, TaskRow]
    verdicts: Mapping[str, tuple[str, str]]
    eligible: Mapping[str, bool]
    evidence: Mapping[str, Mapping[str, Requirement]]
    eids: Mapping[str, Mapping[str, Sequence[str]]]

    def rows(self, name: str, table: str) -> Sequence[str]:
        """The evidence ids of a chart's rows of one table, in the order of their event times."""
        return self.eids[name][table]


def judge(folder: Path, slug: str, charts: Mapping[str, Chart], *, reading: str | None = None) -> Judged:
    """Import the charts, find the cohort and adjudicate it, under an accepted other reading if it is named."""
    numbers = {name: number for number, name in enumerate(charts, start=1)}
    return judge_stored(write_charts(folder, charts.values()), slug, numbers, reading=reading)


def judge_stored(
    store: Store, slug: str, numbers: Mapping[str, int], *, reading: str | None = None
) -> Judged:
    """What the scenario makes of the charts with those numbers, by the names they have here."""
    scenario = load_scenario(data_folder("scenarios") / "determination" / slug)
    for other in scenario.readings:
        if other.id == reading:
            scenario = scenario.model_copy(update={"params": scenario.params | other.params})
    names = {number: name for name, number in numbers.items()}
    tasks = {number: task for number, task in find_tasks(store, scenario).items() if number in names}
    with open_tasks(store, list(tasks.values())) as connection:
        adjudicate(connection, scenario)
        facts = {row[0] for row in connection.execute("describe adjudicated").fetchall()}
        eligible = "eligible" if "eligible" in facts else "true"
        judged = {
            names[int(task_id)]: (verdict, rule, fit)
            for task_id, verdict, rule, fit in connection.execute(
                f"select task_id, verdict, rule, {eligible} from adjudicated"
            ).fetchall()
        }
        evidence = gather_evidence(connection, scenario)
        eids: dict[str, dict[str, list[str]]] = {name: {} for name in numbers}
        for table in SERVED_TABLES:
            time = TABLES[table].time
            if TABLES[table].kind is None or time is None or TABLES[table].shares:
                continue
            for task_id, eid in connection.execute(
                f"select task_id, eid from {table} order by task_id, {time}, eid"
            ).fetchall():
                eids[names[int(task_id)]].setdefault(table, []).append(eid)
    return Judged(
        tasks={names[number]: task for number, task in tasks.items()},
        verdicts={name: (verdict, rule) for name, (verdict, rule, _) in judged.items()},
        eligible={name: fit for name, (_, _, fit) in judged.items()},
        evidence={names[int(task)]: {need.id: need for need in needs} for task, needs in evidence.items()},
        eids=eids,
    )
