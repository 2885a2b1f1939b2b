"""What the writers of planted rows share: the chart, the plant, its random numbers, times, places, refusals."""

from collections.abc import Container
from datetime import datetime, timedelta

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from harness.synthetic.events import Event
from harness.synthetic.plants import Plant
from harness.synthetic.stays import Admission, Segment


class Planting:
    """One plant that is being written into one chart; a row's `shift` is its share of the jitter."""

    def __init__(self, chart: Chart, plant: Plant) -> None:
        self.chart = chart
        self.plant = plant
        self.rng = chart.rng("plant")

    def shift(self, event: Event) -> timedelta:
        """How far the next row of the event is moved."""
        return timedelta(minutes=self.rng.randint(-event.jitter_minutes, event.jitter_minutes))

    def time(self, offset: timedelta, shift: timedelta) -> datetime:
        """The moment at that offset from T."""
        return self.chart.index_time + offset + shift

    def end(self, offset: timedelta | None, shift: timedelta) -> datetime | None:
        """The moment at an offset that may be left open."""
        return None if offset is None else self.time(offset, shift)

    def end_alone(self, event: Event) -> timedelta:
        """How far the end of the next row is moved besides the row's own share."""
        most = event.jitter_ends_minutes
        return timedelta(minutes=self.rng.randint(-most, most)) if most else timedelta(0)

    def value(self, event: Event, digits: int) -> float:
        """The event's value with its jitter, rounded where there is one."""
        value = event.value or 0
        if event.jitter_value:
            value = round(value + self.rng.uniform(-event.jitter_value, event.jitter_value), digits)
        return value

    def stay(self, event: Event, time: datetime) -> tuple[Admission, Segment]:
        """The ICU stay that the time lies in, with its admission; ScenarioError if there is none."""
        place = self.chart.icu_at(time)
        if place is None:
            raise self.misplaced(event, time, "every ICU stay", "stay.icu_hours")
        return place

    def admission(self, event: Event, time: datetime) -> Admission:
        """The admission that the time lies in, its emergency visit included; ScenarioError if there is none."""
        visits = self.chart.admissions
        found = next((visit for visit in visits if visit.arrived <= time <= visit.discharged), None)
        if found is None:
            raise self.misplaced(event, time, "every admission", "stay.admission_days")
        return found

    def known(self, event: Event, items: Container[int], table: str) -> int:
        """The event's itemid; ScenarioError if the reference table does not have it."""
        if event.item is not None and event.item in items:
            return event.item
        raise self.refusal(
            f"the hospital has no item {event.item}", f"add it to harness/synthetic/reference/{table}"
        )

    def misplaced(self, event: Event, time: datetime, outside: str, bound: str) -> ScenarioError:
        """The error of an event at a time when the patient is not where such rows are written."""
        return self.refusal(
            f"{event.source} is planted {time - self.chart.index_time} from T, outside {outside}",
            f"plant it within the stay, raise {bound}, or use an anchor with such a stay there",
        )

    def refusal(self, problem: str, remedy: str) -> ScenarioError:
        """An error that names scenario and plant."""
        return ScenarioError(f"{self.chart.case.scenario}, plant {self.plant.id!r}: {problem}", remedy)
