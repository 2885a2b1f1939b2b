"""Planted laboratory results."""

from datetime import datetime, timedelta

from harness.synthetic.dictionaries import lab_items, panel_items
from harness.synthetic.events import Event
from harness.synthetic.labs import TUBES, add_specimen
from harness.synthetic.physiology import Physiology
from harness.synthetic.planting import Planting


class PlantedLabs:
    """Results are noted first and written specimen by specimen, each with the rest of its tube's panel."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._chart, self._rng = planting.chart, planting.rng
        self._physiology = Physiology(planting.chart, "plant values")
        self._specimens: dict[object, dict[int, float | None]] = {}
        self._texts: dict[object, dict[int, str]] = {}
        self._drawn: dict[object, tuple[datetime, datetime | None, str | None]] = {}

    def note(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Note a result."""
        planting = self._planting
        item = lab_items()[planting.known(event, lab_items(), "lab_items.csv")]
        # rows of one specimen share its first row's draw time; a lone row is its own specimen
        key: object = event.specimen or (id(event), offset)
        alone = timedelta(minutes=self._rng.randint(-event.jitter_draw_minutes, event.jitter_draw_minutes))
        drawn = planting.time(offset, shift + alone).replace(second=0)
        self._drawn.setdefault(key, (drawn, planting.end(event.stored, shift), event.comment))
        if event.text is not None:
            self._texts.setdefault(key, {})[item.itemid] = event.text
            return
        value = None if event.null_value else planting.value(event, item.digits)
        self._specimens.setdefault(key, {})[item.itemid] = value

    def write(self) -> None:
        """Write all specimens."""
        for key, values in self._specimens.items():
            self._write_specimen(key, values)

    def _write_specimen(self, key: object, values: dict[int, float | None]) -> None:
        time, stored, comment = self._drawn[key]
        asked = tuple(values)
        if all(value is not None for value in values.values()):
            values = {**self._companions(values, time), **values}
        segment = self._chart.icu_at(time)
        admission = self._chart.admission_at(time)
        place = "icu" if segment else ("ward" if admission else "ed")
        texts = self._texts.get(key, {})
        rows = add_specimen(
            self._chart, values, time, place, self._rng, stored=stored, texts=texts, planted={*asked, *texts}
        )
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
            if panel != "lactate" and not self._planting.plant.drops("hosp.labevents", offset, item.itemid)
        )
        return {**self._physiology.panel(items, time)}
