"""Planted microbiology: what grew, and to what it was susceptible."""

from datetime import timedelta

from harness.synthetic.cultures import CANCELLED, Culture, antibiotics, known_tests, open_culture, organisms
from harness.synthetic.events import Event
from harness.synthetic.planting import Planting


class PlantedCultures:
    """Specimens; events with the same `specimen_key` are organisms of one specimen."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._shared: dict[str, Culture] = {}

    def write(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Write one specimen, or one more organism of it."""
        organism = CANCELLED if event.cancelled else event.organism
        self._check(event, organism)
        key = event.specimen_key
        culture = self._shared.get(key) if key else None
        if culture is None:
            culture = self._open(event, organism, offset, shift)
        elif culture.shared["spec_type_desc"] != event.specimen:
            raise self._planting.refusal(
                f"the specimen {key!r} is of two types", "give each specimen a specimen_key of its own"
            )
        if key:
            self._shared[key] = culture
        culture.add(organism, self._comment(event, organism), event.antibiotics)

    def _open(self, event: Event, organism: str | None, offset: timedelta, shift: timedelta) -> Culture:
        planting = self._planting
        return open_culture(
            planting.chart,
            {**known_tests(event.specimen or "", event.test)[0], "organism": organism or ""},
            planting.time(offset, shift).replace(second=0),
            planting.rng,
            grows=organism is not None,
            dated=event.date_only,
            stored=planting.end(event.stored, shift),
            name=event.test,
        )

    def _comment(self, event: Event, organism: str | None) -> str | None:
        usual = {row["organism"]: row["comment"] for row in known_tests(event.specimen or "", event.test)}
        return event.comment or usual.get(organism or "") or None

    def _check(self, event: Event, organism: str | None) -> None:
        if not known_tests(event.specimen or "", event.test):
            what = (
                f"test {event.test!r} of {event.specimen!r}" if event.test else f"specimen {event.specimen!r}"
            )
            raise self._unknown(what, "cultures")
        if organism is not None and organism not in organisms():
            raise self._unknown(f"organism {organism!r}", "organisms")
        for name, found in (event.antibiotics or {}).items():
            if name not in antibiotics():
                raise self._unknown(f"antibiotic {name!r}", "antibiotics")
            if not antibiotics()[name][found]:
                raise self._unknown(f"dilution at which {name} is {found}", "antibiotics")

    def _unknown(self, what: str, table: str) -> Exception:
        return self._planting.refusal(
            f"the hospital has no {what}", f"add it to harness/synthetic/reference/{table}.csv"
        )
