"""Lays a plant over a chart: each of its events is written as the background writes rows of that table."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from harness.synthetic.chart import Chart
from harness.synthetic.events import Event
from harness.synthetic.planted_cultures import PlantedCultures
from harness.synthetic.planted_labs import PlantedLabs
from harness.synthetic.planted_orders import PlantedDoses, PlantedOrders, write_prescription
from harness.synthetic.planted_unit import (
    PlantedInputs,
    PlantedOutputs,
    write_date,
    write_observation,
    write_procedure,
)
from harness.synthetic.planted_visits import write_dispense, write_measurement, write_tracing
from harness.synthetic.planting import Planting
from harness.synthetic.plants import Plant

Writer = Callable[[Event, timedelta, timedelta], None]


def plant(chart: Chart, planted: Plant) -> None:
    """Write every row of every event of the plant."""
    planting = Planting(chart, planted)
    labs, orders, outputs = PlantedLabs(planting), PlantedOrders(planting), PlantedOutputs(planting)
    cultures = PlantedCultures(planting)
    writers: dict[str, Writer] = {
        "hosp.labevents": labs.note,
        "hosp.microbiologyevents": cultures.write,
        "hosp.emar": PlantedDoses(planting).write,
        "hosp.prescriptions": partial(write_prescription, planting),
        "hosp.poe": orders.write,
        "hosp.omr": partial(write_measurement, planting),
        "ed.pyxis": partial(write_dispense, planting),
        "ecg.machine_measurements": partial(write_tracing, planting),
        "icu.chartevents": partial(write_observation, planting),
        "icu.datetimeevents": partial(write_date, planting),
        "icu.outputevents": outputs.write,
        "icu.inputevents": PlantedInputs(planting).write,
        "icu.procedureevents": partial(write_procedure, planting),
    }
    for event in planted.event:
        for offset in event.offsets():
            writers[event.source](event, offset, planting.shift(event))
    labs.write()
    orders.tie()
