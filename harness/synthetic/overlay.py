"""Lays a plant over a chart: what it suppresses goes, then its events are written."""

from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime, timedelta

from harness.errors import ScenarioError
from harness.synthetic.administrations import add_administration
from harness.synthetic.chart import Chart, Row, pick_caregiver
from harness.synthetic.cultures import add_culture
from harness.synthetic.dictionaries import Drug, chart_items, drugs, lab_items, panel_items
from harness.synthetic.drugs import add_order
from harness.synthetic.fluids import MISSED_HOURS, add_input, add_output, in_steps
from harness.synthetic.labs import TUBES, add_specimen, result
from harness.synthetic.physiology import Physiology
from harness.synthetic.plants import Event, Plant
from harness.synthetic.procedures import add_procedure
from harness.synthetic.stays import Admission, Segment

_KEYS = {
    "hosp.labevents": ("charttime", "itemid", None),
    "hosp.microbiologyevents": ("charttime", None, "spec_type_desc"),
    "hosp.emar": ("charttime", None, "medication"),
    "hosp.prescriptions": ("starttime", None, "drug"),
    "icu.chartevents": ("charttime", "itemid", None),
    "icu.outputevents": ("charttime", "itemid", None),
    "icu.inputevents": ("starttime", "itemid", None),
    "icu.ingredientevents": ("starttime", "itemid", None),
    "icu.procedureevents": ("starttime", "itemid", None),
}
"""Source → its columns of event time, item and name."""


def suppress(chart: Chart, plant: Plant) -> None:
    """Take out the background rows that the plant suppresses, and rows that hang on them."""
    gone: set[int] = set()
    specimens: set[int] = set()
    for source in {rule.source for rule in plant.suppress}:
        time, item, name = _KEYS[source]
        kept = []
        for row in chart.rows[source]:
            offset = (row[time] or row["chartdate"]) - chart.index_time
            rule = plant.suppression(source, offset, row[item] if item else None, row[name] if name else None)
            if rule is None or (rule.follow and _follow(row, plant, offset)):
                kept.append(row)
                continue
            gone.add(id(row))
            if source == "hosp.prescriptions":
                gone.add(id(row["_order"]))
            if rule.whole_specimen:
                specimens.add(row["specimen_id"])
        chart.rows[source] = kept
    labs = chart.rows["hosp.labevents"]
    chart.rows["hosp.labevents"] = [row for row in labs if row["specimen_id"] not in specimens]
    _take_dependants(chart, gone)


def _follow(row: Row, plant: Plant, offset: timedelta) -> bool:
    """Give a background result the plant's value of that moment; False where the plant has none yet."""
    value = plant.course(row["itemid"], offset)
    if value is not None and row["valuenum"] is not None:
        row |= result(lab_items()[row["itemid"]], value, masked=row["value"] == "___")
    return value is not None


def _take_dependants(chart: Chart, gone: set[int]) -> None:
    for table, tie in (
        ("hosp.emar_detail", "_emar"),
        ("hosp.pharmacy", "_order"),
        ("hosp.prescriptions", "_order"),
        ("icu.ingredientevents", "_input"),
    ):
        chart.rows[table] = [row for row in chart.rows[table] if id(row[tie]) not in gone]
    chart.rows["hosp.poe"] = [row for row in chart.rows["hosp.poe"] if id(row) not in gone]
    for row in chart.rows["hosp.emar"]:
        if row["_order"] is not None and id(row["_order"]) in gone:
            row["_order"], row["pharmacy_id"] = None, None


class _Planter:
    """Writes a plant's events into one chart."""

    def __init__(self, chart: Chart, plant: Plant) -> None:
        self._chart = chart
        self._plant = plant
        self._rng = chart.rng("plant")
        self._physiology = Physiology(chart, "plant values")
        self._specimens: dict[object, dict[int, float | None]] = {}
        self._drawn: dict[object, tuple[datetime, datetime | None, str | None]] = {}
        self._unnoted = 0.0

    def write(self) -> None:
        """Write every row of every event."""
        writers: dict[str, Callable[[Event, timedelta, timedelta], None]] = {
            "hosp.labevents": self._note_lab,
            "hosp.microbiologyevents": self._write_culture,
            "hosp.emar": self._write_administration,
            "hosp.prescriptions": self._write_prescription,
            "icu.chartevents": self._write_observation,
            "icu.outputevents": self._write_output,
            "icu.inputevents": self._write_input,
            "icu.procedureevents": self._write_procedure,
        }
        for event in self._plant.event:
            for offset in event.offsets():
                shift = timedelta(minutes=self._rng.randint(-event.jitter_minutes, event.jitter_minutes))
                writers[event.source](event, offset, shift)
        for key, values in self._specimens.items():
            self._write_specimen(key, values)

    def _time(self, offset: timedelta, shift: timedelta) -> datetime:
        return self._chart.index_time + offset + shift

    def _end(self, offset: timedelta | None, shift: timedelta) -> datetime | None:
        return None if offset is None else self._time(offset, shift)

    def _value(self, event: Event, digits: int) -> float:
        value = event.value or 0
        if event.jitter_value:
            value = round(value + self._rng.uniform(-event.jitter_value, event.jitter_value), digits)
        return value

    def _place(self, event: Event, time: datetime) -> tuple[Admission, Segment]:
        place = self._chart.icu_at(time)
        if place is None:
            raise self._refusal(
                f"{event.source} is planted {time - self._chart.index_time} from T, outside every ICU stay",
                "plant it within the stay, raise stay.icu_hours, or use an anchor with an ICU stay there",
            )
        return place

    def _note_lab(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        item = lab_items()[self._known(event, lab_items(), "lab_items.csv")]
        # rows of one specimen share its first row's draw time; a lone row is its own specimen
        key: object = event.specimen or (id(event), offset)
        alone = timedelta(minutes=self._rng.randint(-event.jitter_draw_minutes, event.jitter_draw_minutes))
        drawn = self._time(offset, shift + alone).replace(second=0)
        self._drawn.setdefault(key, (drawn, self._end(event.stored, shift), event.comment))
        value = None if event.null_value else self._value(event, item.digits)
        self._specimens.setdefault(key, {})[item.itemid] = value

    def _write_specimen(self, key: object, values: dict[int, float | None]) -> None:
        time, stored, comment = self._drawn[key]
        if all(value is not None for value in values.values()):
            values = {**self._companions(values, time), **values}
        segment = self._chart.icu_at(time)
        admission = self._chart.admission_at(time)
        place = "icu" if segment else ("ward" if admission else "ed")
        rows = add_specimen(self._chart, values, time, place, self._rng, stored=stored, comment=None)
        for row in rows:
            if comment is not None and row["itemid"] in values:
                row["comments"] = comment

    def _companions(self, values: dict[int, float | None], time: datetime) -> dict[int, float | None]:
        """The rest of the panel that is run on the same tube, unless the plant suppresses it."""
        panels = {lab_items()[itemid].panel for itemid in values}
        tube = next((tube for tube in TUBES.values() if panels & {*tube}), ())
        if not tube:
            return {}
        offset = time - self._chart.index_time
        wanted = [panel for panel in tube if panel in panels or panel == tube[0]]
        if panels == {"lactate"} and self._rng.random() < 0.4:
            return {}
        items = tuple(
            item
            for panel in wanted
            for item in panel_items(panel)
            if panel != "lactate" and not self._plant.drops("hosp.labevents", offset, item.itemid)
        )
        return {**self._physiology.panel(items, time)}

    def _write_culture(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        add_culture(
            self._chart,
            event.specimen or "",
            self._time(offset, shift).replace(second=0),
            self._rng,
            organism=event.organism,
            test=event.test,
            stored=self._end(event.stored, shift),
            comment=event.comment,
            planted=True,
        )

    def _drug(self, event: Event) -> Drug:
        name = event.name or ""
        known = [drug for drug in drugs() if drug.name.strip().lower() == name.strip().lower()]
        known.sort(key=lambda drug: drug.route != (event.route or drug.route))
        base = known[0] if known else replace(drugs()[0], code=name[:4].upper() + "1", use="acute", hours=())
        route, unit = event.route or base.route, event.unit or base.unit
        dose = base.dose if event.dose is None else event.dose
        return replace(base, name=base.name if known else name, route=route, unit=unit, dose=dose)

    def _write_administration(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time, drug = self._time(offset, shift), self._drug(event)
        if not (self._chart.person.emar and self._chart.records_doses(time)):
            raise self._refusal(
                f"{event.source} is planted {offset} from T, where presence has no eMAR",
                "plant it within emar_from and emar_until, or let the chart have an eMAR",
            )
        admission = self._chart.admission_at(time)
        order = None
        if event.order:
            ends = time + timedelta(hours=1 if drug.use == "acute" else 24)
            order = add_order(self._chart, admission, drug, time, ends, self._rng)
        add_administration(
            self._chart,
            admission,
            drug,
            time,
            event.event,
            self._rng,
            order=order,
            stored=self._end(event.stored, shift),
        )

    def _write_prescription(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time = self._time(offset, shift)
        ends = self._end(event.ends, shift) or time + timedelta(hours=self._rng.randint(24, 96))
        add_order(self._chart, self._chart.admission_at(time), self._drug(event), time, ends, self._rng)

    def _write_observation(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time = self._time(offset, shift)
        admission, stay = self._place(event, time)
        itemid = self._known(event, chart_items(), "chart_items.csv")
        value = None if event.value is None else f"{self._value(event, _digits(event, 1)):g}"
        self._chart.add(
            "icu.chartevents",
            {
                "hadm_id": admission.hadm_id,
                "stay_id": stay.stay_id,
                "caregiver_id": pick_caregiver(self._rng),
                "charttime": time,
                "storetime": self._end(event.stored, shift)
                or time + timedelta(minutes=self._rng.randint(0, 40)),
                "itemid": itemid,
                "value": event.text if value is None else value,
                "valuenum": value,
                "valueuom": event.unit or chart_items()[itemid].unit,
                "warning": 0,
            },
        )

    def _write_output(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time = self._time(offset, shift)
        admission, stay = self._place(event, time)
        itemid = self._known(event, chart_items(), "chart_items.csv")
        stored = self._end(event.stored, shift)
        value = self._value(event, 0)
        if event.on_the_hour:
            time = time.replace(minute=0, second=0)
            missed = not self._unnoted and self._rng.random() < MISSED_HOURS
            value, self._unnoted = value + self._unnoted, value if missed else 0.0
            if missed:
                return
            value = in_steps(value)
        add_output(self._chart, admission, stay, itemid, time, value, self._rng, stored=stored)

    def _write_input(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time = self._time(offset, shift)
        itemid = self._known(event, chart_items(), "chart_items.csv")
        rate = None if event.rate is None else (event.rate, event.rate_unit or "mL/hour")
        add_input(
            self._chart,
            self._place(event, time),
            itemid,
            (time, self._end(event.ends, shift) or time + timedelta(minutes=1)),
            "push" if rate is None else "drip",
            self._rng,
            amount=self._value(event, _digits(event, 2)),
            rate=rate,
            stored=self._end(event.stored, shift),
            status=event.status or "FinishedRunning",
            unit=event.unit,
        )

    def _write_procedure(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        time = self._time(offset, shift)
        itemid = self._known(event, chart_items(), "chart_items.csv")
        add_procedure(
            self._chart,
            self._place(event, time),
            itemid,
            time,
            self._end(event.ends, shift),
            self._rng,
            stored=self._end(event.stored, shift) or time + timedelta(minutes=self._rng.randint(0, 30)),
            status=event.status or "FinishedRunning",
        )

    def _known(self, event: Event, items: Container[int], table: str) -> int:
        if event.item is not None and event.item in items:
            return event.item
        raise self._refusal(
            f"the hospital has no item {event.item}", f"add it to harness/synthetic/reference/{table}"
        )

    def _refusal(self, problem: str, remedy: str) -> ScenarioError:
        return ScenarioError(f"{self._chart.case.scenario}, plant {self._plant.id!r}: {problem}", remedy)


def _digits(event: Event, most: int) -> int:
    """Digits after the point: none where the plant gives whole numbers, as a meter that shows whole ones."""
    whole = float(event.value or 0).is_integer() and float(event.jitter_value).is_integer()
    return 0 if whole else most


def plant(chart: Chart, planted: Plant) -> None:
    """Write the plant's events."""
    _Planter(chart, planted).write()
