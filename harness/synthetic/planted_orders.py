"""Planted doses, prescriptions and provider orders."""

from dataclasses import replace
from datetime import datetime, timedelta

from harness.synthetic.administrations import add_administration
from harness.synthetic.chart import Row, pick_provider
from harness.synthetic.dictionaries import Drug, drugs
from harness.synthetic.drugs import add_order, add_poe
from harness.synthetic.events import Event
from harness.synthetic.planting import Planting
from harness.synthetic.stays import Admission


class PlantedDoses:
    """Rows of the administration record; the doses of a series have one order."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._orders: dict[int, Row] = {}

    def write(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Write one eMAR row, with its order unless the event says that there is none."""
        planting, chart = self._planting, self._planting.chart
        time, drug = planting.time(offset, shift), _drug(event)
        if not (chart.person.emar and chart.records_doses(time)):
            raise planting.refusal(
                f"{event.source} is planted {offset} from T, where presence has no eMAR",
                "plant it within emar_from and emar_until, or let the chart have an eMAR",
            )
        admission = chart.admission_at(time)
        order = self._order(event, drug, time, admission) if event.order else None
        stored = planting.end(event.stored, shift)
        add_administration(
            chart, admission, drug, time, event.event, planting.rng, order=order, stored=stored
        )

    def _order(self, event: Event, drug: Drug, time: datetime, admission: Admission | None) -> Row:
        if id(event) not in self._orders:
            last = max(time, self._planting.chart.index_time + (event.until or event.at))
            ends = last + timedelta(hours=1 if drug.use == "acute" else 24)
            if event.every is not None and admission is not None:
                ends = max(time + timedelta(hours=1), min(ends, admission.discharged))
            chart, rng = self._planting.chart, self._planting.rng
            self._orders[id(event)] = add_order(chart, admission, drug, time, ends, rng)
        return self._orders[id(event)]


def write_prescription(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one order of a drug with its prescription."""
    chart, time = planting.chart, planting.time(offset, shift)
    ends = planting.end(event.ends, shift) or time + timedelta(hours=planting.rng.randint(24, 96))
    ordered = planting.end(event.ordered, shift)
    drug, admission = _drug(event), chart.admission_at(time)
    add_order(chart, admission, drug, time, ends, planting.rng, ordered=ordered, written=event.text)


def _drug(event: Event) -> Drug:
    name = event.name or ""
    known = [drug for drug in drugs() if drug.name.strip().lower() == name.strip().lower()]
    known.sort(key=lambda drug: drug.route != (event.route or drug.route))
    base = known[0] if known else replace(drugs()[0], code=name[:4].upper() + "1", use="acute", hours=())
    route, unit = event.route or base.route, event.unit or base.unit
    dose = base.dose if event.dose is None else event.dose
    per_day = base.per_day if event.per_day is None else event.per_day
    return replace(
        base, name=base.name if known else name, route=route, unit=unit, dose=dose, per_day=per_day
    )


class PlantedOrders:
    """Orders that are no drugs; what changes or ends an earlier order is tied to it once all are written."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._ending: list[tuple[Event, Row]] = []

    def write(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Write one order with its detail."""
        planting, chart = self._planting, self._planting.chart
        time = planting.time(offset, shift)
        if event.jitter_minutes:
            time = time.replace(second=planting.rng.randrange(60))
        order = add_poe(
            chart,
            planting.admission(event, time).hadm_id,
            time,
            event.order_type or "",
            event.subtype,
            pick_provider(planting.rng),
            transaction=event.transaction,
        )
        if event.transaction != "New":
            self._ending.append((event, order))
        if event.field_name is not None:
            chart.add(
                "hosp.poe_detail",
                {"_order": order, "field_name": event.field_name, "field_value": event.field_value},
            )

    def tie(self) -> None:
        """Tie every change and every end to the order that was in force then."""
        for event, order in sorted(self._ending, key=lambda pair: pair[1]["ordertime"]):
            before = self._in_force(event, order)
            order["_discontinues"], before["_discontinued_by"] = before, order

    def _in_force(self, event: Event, order: Row) -> Row:
        chart = self._planting.chart
        details = {id(row["_order"]): row["field_value"] for row in chart.rows["hosp.poe_detail"]}
        earlier = [
            row
            for row in chart.rows["hosp.poe"]
            if (row["order_type"], row["order_subtype"]) == (order["order_type"], order["order_subtype"])
            and row["ordertime"] < order["ordertime"]
            and row["transaction_type"] != "D/C"
            and "_discontinued_by" not in row
            and (event.transaction == "Change" or event.field_value in (None, details.get(id(row))))
        ]
        if not earlier:
            raise self._planting.refusal(
                f"a {event.transaction} of {event.order_type} {event.subtype or ''} has no order before it",
                "plant the order that it changes or ends, with the transaction New",
            )
        return max(earlier, key=lambda row: row["ordertime"])
