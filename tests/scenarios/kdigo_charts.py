"""Charts of made-up ICU patients, written hour by hour around ICU admission, in the official layout."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mcp_mimic.chart.tasks import TaskRow
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.hospital import Rows, write_hospital

T = datetime(2150, 3, 10, 12)
AS_OF = T + timedelta(hours=72)


def after(hours: float = 0, minutes: float = 0) -> datetime:
    """A moment so long after ICU admission (before it, if negative)."""
    return T + timedelta(hours=hours, minutes=minutes)


@dataclass(frozen=True)
class Draw:
    """One laboratory value; `stored` is the moment of its result, by default that of its draw."""

    at: datetime
    value: float | None
    stored: datetime | None = None
    itemid: int = 50912
    comment: str | None = None


@dataclass(frozen=True)
class Entry:
    """One entry of the ICU chart: of output, of an observation, or of a procedure's start."""

    at: datetime
    itemid: int
    value: float = 1
    stored: datetime | None = None


def hourly(value: float, first: int = 1, last: int = 72, *, itemid: int = 226559) -> list[Entry]:
    """Urine of every hour from `first` to `last` after ICU admission."""
    return [Entry(after(hour), itemid, value) for hour in range(first, last + 1)]


def draws(*pairs: tuple[datetime, float]) -> list[Draw]:
    """Creatinine values at their times."""
    return [Draw(at, value) for at, value in pairs]


STEADY = draws((after(-30), 1.0), (after(10), 1.0))
AMPLE = hourly(70)
KG_80 = [Entry(after(0.5), 226512, 80)]


@dataclass(frozen=True)
class Chart:
    """One patient: by default a steady creatinine, ample urine and a weight, so that the verdict is NO."""

    creatinine: Sequence[Draw] = field(default_factory=lambda: STEADY)
    urine: Sequence[Entry] = field(default_factory=lambda: AMPLE)
    weight: Sequence[Entry] = field(default_factory=lambda: KG_80)
    procedures: Sequence[Entry] = ()
    observations: Sequence[Entry] = ()
    gender: str = "M"
    age: int = 60
    hours: float = 90
    admitted: datetime = field(default_factory=lambda: after(-40))
    codes: Sequence[tuple[str, int]] = ()


def write_charts(folder: Path, charts: Iterable[Chart]) -> Store:
    """Import the charts; the n-th patient (from 1) is subject 1000 + n, admission 2000 + n, stay 3000 + n."""
    rows: Rows = {}
    for number, chart in enumerate(charts, start=1):
        for table, row in _rows(number, chart):
            rows.setdefault(table, []).append(row)
    for number, row in enumerate(rows.get("hosp.labevents", ()), start=1):
        row["labevent_id"] = row["specimen_id"] = number
    for number, row in enumerate(rows.get("icu.procedureevents", ()), start=1):
        row["orderid"] = row["linkorderid"] = number
    import_store([write_hospital(folder / "source", rows)], folder / "store", release="3.1")
    return Store.open(folder / "store")


def kdigo_task(task_id: str, number: int) -> TaskRow:
    """The task about the n-th patient, read as the scenario reads it by default."""
    return TaskRow(
        task_id=task_id,
        subject_id=1000 + number,
        hadm_id=2000 + number,
        stay_id=3000 + number,
        index_time=T,
        as_of=AS_OF,
        sealed_hadm_id=2000 + number,
        index_eid=f"icu:{3000 + number}",
        params={"baseline": "lowest", "urine_window": "rolling"},
    )


def _rows(number: int, chart: Chart) -> Iterable[tuple[str, dict[str, Any]]]:
    person = {"subject_id": 1000 + number}
    admission = person | {"hadm_id": 2000 + number}
    stay = admission | {"stay_id": 3000 + number}
    leaves = after(chart.hours)
    yield "hosp.patients", person | {"gender": chart.gender, "anchor_age": chart.age, "anchor_year": T.year}
    yield (
        "hosp.admissions",
        admission
        | {"admittime": chart.admitted, "dischtime": leaves + timedelta(days=1), "hospital_expire_flag": 0},
    )
    yield "icu.icustays", stay | {"intime": T, "outtime": leaves, "los": chart.hours / 24}
    for place, (code, version) in enumerate(chart.codes, start=1):
        yield "hosp.diagnoses_icd", admission | {"seq_num": place, "icd_code": code, "icd_version": version}
    for draw in chart.creatinine:
        yield (
            "hosp.labevents",
            person
            | {
                "itemid": draw.itemid,
                "charttime": draw.at,
                "storetime": draw.stored or draw.at,
                "value": draw.value,
                "valuenum": draw.value,
                "comments": draw.comment,
            },
        )
    for entry in chart.urine:
        yield "icu.outputevents", stay | _entry(entry)
    for entry in (*chart.weight, *chart.observations):
        yield "icu.chartevents", stay | _entry(entry) | {"valuenum": entry.value}
    for entry in chart.procedures:
        yield (
            "icu.procedureevents",
            stay
            | {
                "itemid": entry.itemid,
                "starttime": entry.at,
                "endtime": entry.at + timedelta(hours=1),
                "storetime": entry.stored or entry.at,
                "value": 60,
            },
        )


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "itemid": entry.itemid,
        "charttime": entry.at,
        "storetime": entry.stored or entry.at,
        "value": entry.value,
    }
