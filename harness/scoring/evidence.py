"""Which requirements a trial's served and cited evidence satisfies, and which citations are relevant."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from harness.scoring.coverage import Search, touches, uncovered
from harness.scoring.gold import Entry, Gold, Requirement
from harness.scoring.trail import Trail, document_of, note_of, with_notes


@dataclass(frozen=True)
class Finding:
    """One requirement: whether its evidence was served, whether it was also cited, and what is missing.

    `by_rows`: rows alone can satisfy it, whatever its kind.
    """

    id: str
    kind: str
    by_rows: bool
    retrieved: bool
    satisfied: bool
    why: str


@dataclass(frozen=True)
class CitationCounts:
    """How many distinct citations there were, how many count, and of these, how many hold.

    `resolvable`: the chart or the trial has such an id; a passage only if it was served, for the gold knows
    notes and not what they are cut into. `served`: an answered call served it. `relevant`: served, and a row
    that a requirement names, a passage of a note that one names, or a finished search of something that one
    wants searched.
    """

    cited: int
    counted: int
    resolvable: int
    served: int
    relevant: int

    @property
    def precision(self) -> float:
        """Relevant among counted citations; 0 if there are none."""
        return self.relevant / self.counted if self.counted else 0.0


@dataclass(frozen=True)
class PolicyFinding:
    """One item of the policy rubric: whether a section of its document was served, and whether one was also cited.

    That the report says what the item says is for a judge; that it stands on the document is decided here.
    """

    id: str
    document: str
    weight: int
    retrieved: bool
    cited: bool


def weigh_policies(gold: Gold, trail: Trail, sections: Iterable[str]) -> list[PolicyFinding]:
    """Hold each policy item against the sections that were served, and those of them that were cited."""
    served, cited = ({document_of(eid) for eid in ids} for ids in (trail.served, sections))
    return [
        PolicyFinding(item.id, item.document, item.weight, item.document in served, item.document in cited)
        for item in gold.policies
    ]


def weigh_requirements(gold: Gold, trail: Trail, counted: Iterable[str]) -> list[Finding]:
    """Hold each requirement against what was served, and against what was both served and cited."""
    cited = with_notes(trail.served.intersection(counted))
    return [_weigh(need, trail, cited) for need in gold.requirements]


def count_citations(
    gold: Gold, trail: Trail, citations: Collection[str], counted: Collection[str]
) -> CitationCounts:
    """Count the citations that hold."""
    there = trail.call_ids | trail.served
    relevant = [eid for eid in counted if eid in trail.served and _is_relevant(eid, gold, trail)]
    return CitationCounts(
        cited=len(citations),
        counted=len(counted),
        resolvable=sum(eid in gold.known or eid in there for eid in counted),
        served=sum(eid in trail.served for eid in counted),
        relevant=len(relevant),
    )


def _is_relevant(eid: str, gold: Gold, trail: Trail) -> bool:
    return bool(gold.relevant.intersection({eid, note_of(eid)})) or _finds(eid, gold, trail)


def _finds(eid: str, gold: Gold, trail: Trail) -> bool:
    search = trail.searches.get(eid)
    if search is None or not search.complete:
        return False
    wanted = (entry for need in gold.requirements if need.kind != "rows" for entry in need.search)
    return any(touches(entry, search) for entry in wanted)


def _weigh(need: Requirement, trail: Trail, cited: Collection[str]) -> Finding:
    missing = _missing(need, trail, trail.served)
    lacking = _missing(need, trail, cited)
    if lacking is None:
        why = "satisfied"
    elif missing is None:
        why = f"retrieved, but not cited: {lacking}"
    else:
        why = f"not retrieved: {missing}"
    return Finding(need.id, need.kind, bool(need.alternatives), missing is None, lacking is None, why)


def _missing(need: Requirement, trail: Trail, held: Collection[str]) -> str | None:
    """What keeps the ids in `held` from satisfying the requirement; None if nothing does."""
    nearest = min((alternative.difference(held) for alternative in need.alternatives), key=len, default=None)
    if nearest is not None and not nearest:
        return None
    if need.kind == "rows" or not need.search:
        return f"no {', '.join(sorted(nearest or ()))}"
    searches = [trail.searches[eid] for eid in sorted(held) if eid in trail.searches]
    finished = [search for search in searches if search.complete]
    hole = _first_hole(need, finished)
    if hole is not None and len(finished) < len(searches):
        return f"{hole} by a search read to the end"
    return hole


def _first_hole(need: Requirement, searches: Sequence[Search]) -> str | None:
    """The first hole in the requirement's search; with `any`, None if one of its entries has none."""
    together = need.kind == "absence"
    holes = [(uncovered if together else _hole_of_the_best)(entry, searches) for entry in need.search]
    if need.any and None in holes:
        return None
    return next((hole for hole in holes if hole is not None), None)


def _hole_of_the_best(entry: Entry, searches: Sequence[Search]) -> str | None:
    """For a series: one of the searches must cover the entry alone."""
    if any(uncovered(entry, (search,)) is None for search in searches):
        return None
    hole = uncovered(entry, ())
    return hole and f"{hole} by one search"
