"""From what a client asks for to what a query filters by: itemids, or parts of names."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.source import Source
from mcp_mimic.tools.vocabulary import Entry, suggest

_MAX_RESOLVED = 400


@dataclass(frozen=True)
class Filter:
    """What restricts a search, as the audit states it; None means no restriction.

    Where a table has items, `names` are the parts of labels that were asked for: they cover every item whose
    label contains them, and `items` are those that this chart has; it may be empty.
    """

    items: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None
    unresolved: tuple[str, ...] = ()
    suggestions: list[str] = field(default_factory=list)


def resolve_filter(
    source: Source,
    entries: Sequence[Entry],
    items: Sequence[int | str] | None,
    names: Sequence[str] | None,
) -> Filter:
    """Resolve asked items and names against the items and names that the slice has.

    Tables with itemids: numbers stand as they are, whether or not they occur; texts become the itemids
    whose label or abbreviation contains them. Other tables: every text is a part of a name.
    """
    asked = (*(items or ()), *(names or ()))
    if not asked:
        return Filter()
    return _by_item(entries, asked) if source.item else _by_name(entries, asked, source)


def _by_item(entries: Sequence[Entry], asked: Sequence[int | str]) -> Filter:
    given = [_number_or_text(item) for item in asked]
    labels = tuple(dict.fromkeys(item for item in given if isinstance(item, str)))
    found = {item for item in given if isinstance(item, int)}
    unresolved = []
    for label in labels:
        matches = {entry.itemid for entry in entries if entry.matches(label) and entry.itemid is not None}
        found |= matches
        if not matches:
            unresolved.append(label)
    if len(found) > _MAX_RESOLVED:
        raise ToolError(
            f"the labels match {len(found)} items, more than {_MAX_RESOLVED}",
            "give longer parts of labels, or leave items out to cover every item",
            code="too_broad",
        )
    return Filter(tuple(sorted(found)), labels or None, tuple(unresolved), suggest(unresolved, entries))


def _by_name(entries: Sequence[Entry], asked: Sequence[int | str], source: Source) -> Filter:
    # A bare number may have lost the zeros that a code begins with.
    if any(isinstance(item, int) for item in asked):
        raise ToolError(
            f"{source.table} has no itemids",
            "give parts of names, and numbers in them as text",
            code="no_itemids",
        )
    names = tuple(dict.fromkeys(str(item).lower() for item in asked))
    unresolved = tuple(name for name in names if not any(entry.matches(name) for entry in entries))
    return Filter(None, names, unresolved, suggest(unresolved, entries))


def _number_or_text(item: int | str) -> int | str:
    if isinstance(item, str) and item.isascii() and item.isdecimal() and len(item) <= 9:
        return int(item)
    return item.lower() if isinstance(item, str) else item
