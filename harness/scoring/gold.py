"""The gold of one task: what the verifier holds against a trial."""

import bisect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from mcp_mimic.contract import VERDICTS, parse_eid

KINDS = ("rows", "absence", "series")
LABELS = ("rule-derived", "clinician-signed")

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class GoldError(ValueError):
    """A gold file is damaged, or holds a requirement that nothing or everything would satisfy."""


@dataclass(frozen=True)
class Entry:
    """A search that a requirement wants covered: one table, its items or its strings, a closed window.

    `labels` are those of `items`, one each, so that a search by label counts. `items` and `names` None:
    the whole table. Empty: nothing in this store could match, so that a search of that table and window
    shows as much under any filter. A window's open end is None.
    """

    source: str
    items: tuple[int, ...] | None
    labels: tuple[str, ...]
    names: tuple[str, ...] | None
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True)
class Requirement:
    """What one part of an adequate answer rests on.

    `any`: for an absence, one covered entry of `search` is enough; otherwise all must be covered.
    """

    id: str
    kind: str
    alternatives: tuple[frozenset[str], ...]
    relevant: frozenset[str]
    search: tuple[Entry, ...]
    any: bool = False


@dataclass(frozen=True)
class PolicyItem:
    """A statement that the answer should rest on, its weight, and the policy document in which it stands."""

    id: str
    document: str
    weight: int


@dataclass(frozen=True)
class Known:
    """Every evidence id of the slice: ranges of whole numbers and single texts, by kind."""

    ranges: Mapping[str, tuple[tuple[int, int], ...]]
    texts: Mapping[str, frozenset[str]]

    def __contains__(self, text: str) -> bool:
        eid = parse_eid(text)
        if eid is None:
            return False
        if eid.key in self.texts.get(eid.kind, ()):
            return True
        if _NUMBER.fullmatch(eid.key) is None:
            return False
        number, ranges = int(eid.key), self.ranges.get(eid.kind, ())
        place = bisect.bisect_right(ranges, (number, 1 << 63)) - 1
        return place >= 0 and number <= ranges[place][1]


@dataclass(frozen=True)
class Gold:
    """One task's gold, checked."""

    task: str
    scenario: str
    version: str
    verdict: str
    rule: str
    fragile: bool
    definition_fragile: bool
    label: str
    requirements: tuple[Requirement, ...]
    known: Known
    policies: tuple[PolicyItem, ...]

    @cached_property
    def relevant(self) -> frozenset[str]:
        """All row ids that are relevant to some requirement."""
        sets = (group for need in self.requirements for group in (*need.alternatives, need.relevant))
        return frozenset().union(*sets)


def read_gold(data: object) -> Gold:
    """Check a gold file's content; GoldError says what is damaged."""
    gold = _mapping(data, "gold")
    verdict = _text(gold, "verdict")
    if verdict not in VERDICTS:
        raise GoldError(f"verdict: {verdict!r} is none of {', '.join(VERDICTS)}")
    label = _text(gold, "label")
    if label not in LABELS:
        raise GoldError(f"label: {label!r} is none of {', '.join(LABELS)}")
    requirements = tuple(_requirement(item) for item in _sequence(gold.get("requirements"), "requirements"))
    if not requirements:
        raise GoldError("requirements: empty, so that every answer would be supported")
    if len({need.id for need in requirements}) < len(requirements):
        raise GoldError("requirements: an id occurs twice")
    return Gold(
        task=_text(gold, "task"),
        scenario=_text(gold, "scenario"),
        version=str(gold.get("version", "")),
        verdict=verdict,
        rule=str(gold.get("rule", "")),
        fragile=_flag(gold, "fragile"),
        definition_fragile=_flag(gold, "definition_fragile"),
        label=label,
        requirements=requirements,
        known=_known(gold.get("known")),
        policies=tuple(_policy(item) for item in _sequence(gold.get("policies", ()), "policies")),
    )


def _policy(data: object) -> PolicyItem:
    item = _mapping(data, "policies[]")
    name, document, weight = _text(item, "id"), _text(item, "document"), item.get("weight")
    if parse_eid(f"policy:{document}#0") is None:
        raise GoldError(f"{name}: {document!r} is no document's id")
    if type(weight) is not int or weight < 1:
        raise GoldError(f"{name}: weight must be a whole number of at least 1")
    return PolicyItem(name, document, weight)


def _requirement(data: object) -> Requirement:
    item = _mapping(data, "requirements[]")
    name, kind = _text(item, "id"), _text(item, "kind")
    if kind not in KINDS:
        raise GoldError(f"{name}: kind {kind!r} is none of {', '.join(KINDS)}")
    alternatives = tuple(
        frozenset(_eids(ids, f"{name}.alternatives[]"))
        for ids in _sequence(item.get("alternatives", ()), f"{name}.alternatives")
    )
    search = tuple(_entry(entry, name) for entry in _sequence(item.get("search") or (), f"{name}.search"))
    if not all(alternatives):
        raise GoldError(f"{name}: an alternative is empty, so that anything would satisfy it")
    if not alternatives and (kind == "rows" or not search):
        raise GoldError(f"{name}: nothing can satisfy it, for it names no rows and no search")
    relevant = frozenset(_eids(item.get("relevant", ()), f"{name}.relevant"))
    return Requirement(name, kind, alternatives, relevant, search, any=_any(item, name, kind))


def _any(item: Mapping[str, Any], name: str, kind: str) -> bool:
    value = item.get("any", False)
    if not isinstance(value, bool) or (value and kind != "absence"):
        raise GoldError(f"{name}: any is true or false, and true for an absence only")
    return value


def _entry(data: object, where: str) -> Entry:
    entry = _mapping(data, f"{where}.search[]")
    items, names = entry.get("items"), entry.get("names")
    if items is not None and not all(type(item) is int for item in _sequence(items, f"{where}.items")):
        raise GoldError(f"{where}: items must be whole numbers")
    if names is not None and not all(isinstance(name, str) for name in _sequence(names, f"{where}.names")):
        raise GoldError(f"{where}: names must be texts")
    labels = _sequence(entry.get("labels", [""] * len(items or ())), f"{where}.labels")
    if not all(isinstance(label, str) for label in labels) or len(labels) != len(items or ()):
        raise GoldError(f"{where}: labels must be texts, one for each item")
    if items is not None and names is not None:
        raise GoldError(f"{where}: a search is for items or for names")
    start, end = _moment(entry.get("from"), where), _moment(entry.get("to"), where)
    if start is not None and end is not None and start > end:
        raise GoldError(f"{where}: a window ends before it begins")
    return Entry(
        source=_text(entry, "source"),
        items=None if items is None else tuple(items),
        labels=tuple(label.lower() for label in labels),
        names=None if names is None else tuple(dict.fromkeys(name.lower() for name in names)),
        start=start,
        end=end,
    )


def _known(data: object) -> Known:
    ranges: dict[str, tuple[tuple[int, int], ...]] = {}
    texts: dict[str, frozenset[str]] = {}
    for kind, values in _mapping(data, "known").items():
        pairs, words = [], []
        for value in _sequence(values, f"known.{kind}"):
            if isinstance(value, str):
                words.append(value)
            elif isinstance(value, list | tuple) and [type(bound) for bound in value] == [int, int]:
                pairs.append((value[0], value[1]))
            else:
                raise GoldError(f"known.{kind}: {value!r} is neither a range nor a text")
        ranges[kind], texts[kind] = _merged(pairs), frozenset(words)
    return Known(ranges, texts)


def _merged(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise GoldError(f"{where}: not an object")
    return value


def _sequence(value: object, where: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise GoldError(f"{where}: not a list")
    return value


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise GoldError(f"{name}: missing or not a text")
    return value


def _flag(data: Mapping[str, Any], name: str) -> bool:
    value = data.get(name)
    if not isinstance(value, bool):
        raise GoldError(f"{name}: neither true nor false")
    return value


def _eids(value: object, where: str) -> list[str]:
    eids = _sequence(value, where)
    for eid in eids:
        if not isinstance(eid, str) or parse_eid(eid) is None:
            raise GoldError(f"{where}: {eid!r} is no evidence id")
    return list(eids)


def _moment(value: object, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None:
        raise GoldError(f"{where}: {value!r} is not a local time")
    return moment
