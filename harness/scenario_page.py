"""A scenario as a page for a person: what it asks, how it is decided, and where it departs from the catalogue."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.rubric import PolicyItem, RubricItem
from harness.scenario import Evidence, Reading, Reference, Scenario, Search, Verdict

VERDICT_NAMES: dict[Verdict, str] = {
    "yes": "YES",
    "no": "NO",
    "lack_of_data": "INDETERMINATE — lack of data",
    "medical_ambiguity": "INDETERMINATE — medical ambiguity",
}

_COMMENT = re.compile(r"^\s*(?:--|#)\s?")
_MARK = "Correction:"
_FILES = ("scenario.toml", "cohort.sql", "adjudicate.sql", "evidence.sql", "plants.toml", "rubrics.toml")


def scenario_page(scenario: Scenario) -> str:
    """The page, in Markdown."""
    return "\n".join([*_lines(scenario), ""])


def corrections(folder: Path) -> list[str]:
    """What the files of a scenario say of their departures from the catalogue, a paragraph each.

    Such a paragraph is a comment that begins with `Correction:`; it ends with the comment, with an empty comment
    line, or where the next one begins.
    """
    return [
        paragraph
        for name in _FILES
        for paragraph in _paragraphs((folder / name).read_text(encoding="utf-8").splitlines())
    ]


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    words: list[str] | None = None
    for line in [*lines, ""]:
        text = _COMMENT.sub("", line).strip() if _COMMENT.match(line) else ""
        if words and (not text or text.startswith(_MARK)):
            yield " ".join(words)
            words = None
        if text.startswith(_MARK):
            words = [text.removeprefix(_MARK).strip()]
        elif words is not None:
            words.append(text)


def _lines(scenario: Scenario) -> Iterator[str]:
    yield f"# {scenario.number} {scenario.title}"
    yield ""
    yield f"`{scenario.slug}`, {scenario.domain}, version {scenario.version}. {_standing(scenario)}"
    yield ""
    yield f"> {scenario.question}"
    yield ""
    yield f"**Index event.** {scenario.index_event} The chart is shown as it stood {_when(scenario)}."
    yield from _section("What the agent is told", (f"- {text}" for text in scenario.definitions))
    yield from _section("How it is decided", _criteria(scenario))
    yield from _section("Other accepted readings", map(_reading, scenario.readings))
    yield from _section("What an answer must rest on", map(_evidence, scenario.evidence))
    yield from _section("What a good process does", map(_process, scenario.rubric.item))
    yield from _section("Policies", map(_policy, scenario.policy_rubric.item))
    yield from _section(
        "Corrections of the catalogue", (f"- {text}" for text in corrections(scenario.folder))
    )
    yield from _section("References", map(_reference, scenario.reference))


def _standing(scenario: Scenario) -> str:
    if scenario.clinician_reviewed:
        return f"Signed by {', '.join(scenario.reviewers)}."
    if scenario.lapsed:
        lapsed = f"The sign-off of {', '.join(scenario.lapsed)} lapsed when the scenario changed. "
    else:
        lapsed = ""
    return f"{lapsed}**Not reviewed by a clinician** (`clinician_reviewed = false`); labels are rule-derived."


def _when(scenario: Scenario) -> str:
    return "before discharge" if scenario.as_of == "before" else "after discharge"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section, or nothing if it has no line."""
    found = list(lines)
    if found:
        yield from ("", f"## {title}", *found)


def _criteria(scenario: Scenario) -> Iterator[str]:
    yield "| verdict | when | cases wanted |"
    yield "|---|---|---|"
    for verdict, name in VERDICT_NAMES.items():
        yield f"| {name} | {scenario.criteria[verdict]} | {scenario.mix[verdict]} |"


def _reading(reading: Reading) -> str:
    return f"- {reading.text} {reading.source}"


def _evidence(evidence: Evidence) -> str:
    verdicts = ", ".join(VERDICT_NAMES[verdict].rpartition("— ")[2] for verdict in evidence.verdicts)
    kind = {"rows": "rows of the chart", "absence": "a search that found nothing", "series": "a whole search"}
    where = f" in {'; '.join(map(_search, evidence.search))}" if evidence.search else ""
    some = f", where `{evidence.when}`" if evidence.when else ""
    return f"- `{evidence.id}` ({verdicts}{some}): {kind[evidence.kind]}{where}"


def _search(search: Search) -> str:
    items = f" {', '.join(map(str, search.items))}" if search.items else ""
    names = f" named `{search.names}`" if search.names else ""
    return f"{search.source}{items}{names}"


def _process(item: RubricItem) -> str:
    return f"- ({item.weight:+d}) {item.text}"


def _policy(item: PolicyItem) -> str:
    return f"- ({item.weight:+d}) {item.text} *{item.document}, {item.locator}*"


def _reference(reference: Reference) -> str:
    where = f"https://doi.org/{reference.doi}" if reference.doi else reference.url
    return f"- `{reference.id}`: {reference.text}" + (f" {where}" if where else "")
