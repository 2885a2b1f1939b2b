"""The medication lists of a discharge summary, from the orders of the chart, as its form prints them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from harness.synthetic.chart import Chart, Row
from harness.synthetic.dictionaries import drugs
from harness.synthetic.stays import Admission

_TIMES = {1: "DAILY", 2: "BID", 3: "TID", 4: "QID"}
_WORDS = {"DAILY": "once a day", "BID": "twice a day", "TID": "three times a day", "QID": "four times a day"}
_EVENING = 20
_TAKEN = ("PO", "NEB", "SC", "IH")
_PARTS = re.compile(r"(?P<name>[^\d]+?) (?P<dose>[\d.,-]+ \S+) PO (?P<times>\S+)")
_HELD, _PRESCRIBED = 0.12, 0.35


@dataclass(frozen=True)
class Lists:
    """What the patient took before and takes from now on, an item a string."""

    admission: list[str]
    discharge: list[str]


def medication_lists(chart: Chart, admission: Admission, rng: Random) -> Lists:
    """The lists of the background: home medications go on, one of them may be held, and a few are new."""
    home: list[str] = []
    new: list[str] = []
    for row in _ordered(chart, admission):
        (home if row["drug"].strip() in _home() else new).append(_item(row, rng))
    held = rng.choice(home) if home and rng.random() < _HELD else None
    kept = [_hold(item) if item == held else item for item in home]
    return Lists(home or new[:1], [*kept, *rng.sample(new, min(len(new), rng.randint(1, 4)))])


def list_items(items: Iterable[str], added: Sequence[str], rng: Random) -> list[str]:
    """The items numbered in an order of their own, those added among them, some with what was prescribed."""
    together = [*items, *added]
    return [
        f"{place}. {item} {_prescription(item, rng)}"
        for place, item in enumerate(rng.sample(together, len(together)), 1)
    ]


def _ordered(chart: Chart, admission: Admission) -> Iterator[Row]:
    start, end = admission.arrived, admission.discharged
    seen = set()
    for row in chart.rows["hosp.prescriptions"]:
        least = str(row["dose_val_rx"] or 0).split("-")[0]
        taken = str(row["route"]).startswith(_TAKEN) and float(least) > 0
        here = row["drug_type"] == "MAIN" and row["starttime"] and start <= row["starttime"] <= end
        if taken and here and row["drug"].strip() not in seen:
            seen.add(row["drug"].strip())
            yield row


def _home() -> frozenset[str]:
    return frozenset(drug.name.strip() for drug in drugs() if drug.use == "home")


def _item(row: Row, rng: Random) -> str:
    name, route = row["drug"].strip(), str(row["route"]).split("/")[0]
    known = next((drug for drug in drugs() if drug.name.strip() == name), None)
    if known is not None and known.use == "prn":
        times = rng.choice(("Q6H:PRN Pain - Mild", "Q8H:PRN", "Q6H:PRN"))
    elif known is not None and known.hours and min(known.hours) >= _EVENING:
        times = rng.choice(("QHS", "QPM"))
    else:
        times = _TIMES.get(int(row["doses_per_24_hrs"] or 1), "DAILY")
    return f"{name} {row['dose_val_rx']} {row['dose_unit_rx']} {route} {times}"


def _hold(item: str) -> str:
    name = re.split(r" \d", item)[0]
    return f"HELD- {item}. This medication was held. Do not restart {name} until you have seen your PCP"


def _prescription(item: str, rng: Random) -> str:
    found = _PARTS.fullmatch(item)
    if found is None or found["times"] not in _WORDS or rng.random() > _PRESCRIBED:
        return ""
    number = rng.choice((14, 30, 60, 90))
    return (
        f"\nRX *{found['name'].lower()} {found['dose']} 1 tablet(s) by mouth {_WORDS[found['times']]} "
        f"Disp #*{number} Tablet Refills:*{rng.randint(0, 3)} "
    )
