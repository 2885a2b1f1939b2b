"""The oracle: it reads what the gold's requirements name and cites the least that satisfies them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.agents.base import Answer, Gold, TaskView
from harness.agents.reading import Reading, read_source
from harness.agents.writing import cited, report
from harness.sources import ROUTES, route_of
from mcp_mimic.contract import canonical_json, parse_eid
from mcp_mimic.store.tables import KINDS

if TYPE_CHECKING:
    from fastmcp import Client

MAX_CITATIONS = 12


@dataclass(frozen=True)
class Grounds:
    """What a requirement came to: the ids to cite for it, and whether they are searches."""

    requirement: str
    citations: tuple[str, ...]
    by_search: bool


class Oracle:
    """Right by construction: it fails only where a task, a tool or a score does."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """Satisfy every requirement of the gold verdict, with served evidence."""
        grounds = await satisfy(client, gold["requirements"])
        return Answer(report(gold["verdict"], [sentence(ground) for ground in grounds]))


async def satisfy(client: "Client[Any]", requirements: Iterable[Mapping[str, Any]]) -> list[Grounds]:
    """Read what each requirement needs; a search that two requirements share is made once."""
    reader = _Reader(client)
    return [await _satisfy_one(reader, requirement) for requirement in requirements]


def sentence(ground: Grounds) -> str:
    """One sentence for one requirement."""
    means = "was searched for and read to the end" if ground.by_search else "is in the record"
    return cited(f"{ground.requirement.replace('_', ' ').capitalize()} {means}", ground.citations)


class _Reader:
    """Makes each search once and remembers what was served."""

    def __init__(self, client: "Client[Any]") -> None:
        self._client = client
        self._readings: dict[str, list[Reading]] = {}

    async def search(self, entry: Mapping[str, Any]) -> list[Reading]:
        """Read one `search` entry of a requirement to its end, in as few calls as it takes."""
        key = canonical_json(entry)
        if key not in self._readings:
            route = route_of(entry["source"])
            self._readings[key] = [
                await read_source(
                    self._client,
                    entry["source"],
                    filters=filters,
                    start=entry.get("from"),
                    end=entry.get("to"),
                )
                for filters in route.filters(entry.get("items"), entry.get("names"))
            ]
        return self._readings[key]


def _tables_of(alternatives: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """The whole tables whose rows the alternatives name, for a requirement without a search."""
    parsed = (parse_eid(eid) for alternative in alternatives for eid in alternative)
    kinds = {eid.kind for eid in parsed if eid}
    tables = {table for kind in kinds for table in KINDS.get(kind, ()) if table in ROUTES}
    return [{"source": table} for table in sorted(tables)]


async def _satisfy_one(reader: _Reader, requirement: Mapping[str, Any]) -> Grounds:
    alternatives = requirement.get("alternatives") or ()
    searches = requirement.get("search") or _tables_of(alternatives)
    readings = [reading for entry in searches for reading in await reader.search(entry)]
    served = {eid for reading in readings for eid in reading.eids}
    whole = [alternative for alternative in alternatives if served.issuperset(alternative)]
    if whole:
        least = min(whole, key=lambda alternative: (len(alternative), list(alternative)))
        return Grounds(requirement["id"], tuple(least), by_search=False)
    calls = tuple(dict.fromkeys(reading.last_call for reading in readings))
    return Grounds(requirement["id"], calls, by_search=True)
