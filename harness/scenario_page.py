"""A scenario as a page for a person: what it asks, how it is decided, and where it departs from the catalogue."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.rubric import PolicyItem, RubricItem
from harness.scenario import Evidence, Reading, Reference, Scenario, Verdict
from harness.scenario_words import Wording, say_condition
from mcp_mimic.contract import VERDICTS

VERDICT_NAMES: dict[Verdict, str] = {
    "yes": "YES",
    "no": "NO",
    "lack_of_data": "INDETERMINATE — lack of data",
    "medical_ambiguity": "INDETERMINATE — medical ambiguity",
}

_COMMENT = re.compile(r"^\s*(?:--|#)\s?")
_CORRECTION, _REVIEW = "Correction:", "For review:"
_FILES = ("scenario.toml", "cohort.sql", "adjudicate.sql", "evidence.sql", "plants.toml", "rubrics.toml")
_KINDS = {
    "rows": "entries in",
    "absence": "a search, read to its end, that found nothing in",
    "series": "one search, read to its end, of",
}
_AS_OF = {
    "before": "The agent sees the chart as it stood at as-of, without this admission's discharge summary and codes.",
    "after": "The agent sees the chart as it stood at as-of, with this admission's discharge summary and codes.",
}


def scenario_page(scenario: Scenario) -> str:
    """The page, in Markdown."""
    return "\n".join([*_lines(scenario), ""])


def corrections(folder: Path) -> list[str]:
    """What the files of a scenario say of their departures from the catalogue, a paragraph each.

    Such a paragraph is a comment that begins with `Correction:`; it ends with the comment, with an empty comment
    line, or where the next one begins.
    """
    return _marked(folder, _CORRECTION)


def doubts(folder: Path) -> list[str]:
    """What the files leave to a clinician's judgement, such as numbers without a source: `For review:` likewise."""
    return _marked(folder, _REVIEW)


def _marked(folder: Path, mark: str) -> list[str]:
    return [
        text
        for name in _FILES
        for found, text in _paragraphs((folder / name).read_text(encoding="utf-8").splitlines())
        if found == mark
    ]


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The marked paragraphs of a file's comments, each with its mark."""
    mark, words = "", list[str]()
    for line in [*lines, ""]:
        text = _COMMENT.sub("", line).strip() if _COMMENT.match(line) else ""
        begins = next((each for each in (_CORRECTION, _REVIEW) if text.startswith(each)), "")
        if mark and (begins or not text):
            yield mark, " ".join(words)
            mark = ""
        if begins:
            mark, words = begins, [text.removeprefix(begins).strip()]
        elif mark:
            words.append(text)


def _lines(scenario: Scenario) -> Iterator[str]:
    wording = Wording(scenario.evidence)
    yield f"# {scenario.number} {scenario.title}"
    yield ""
    yield f"`{scenario.slug}`, {scenario.domain}, version {scenario.version}. {_standing(scenario)}"
    yield ""
    yield f"> {_blanks(scenario.question)}"
    yield ""
    yield f"**Index event.** {scenario.index_event} {_AS_OF[scenario.as_of]}"
    yield from _section(
        "What the agent is told",
        (f"- {_blanks(text)}" for text in scenario.definitions),
        "Besides the question; what stands in square brackets is filled in for each case.",
    )
    yield from _section("How it is decided", _criteria(scenario))
    yield from _section(
        "Other accepted readings",
        map(_reading, scenario.readings),
        "A case whose answer changes under one of them is marked as definition-fragile.",
    )
    yield from _section("For a clinician to judge", (f"- {_begin(text)}" for text in doubts(scenario.folder)))
    yield from _section(
        "What an answer must rest on",
        [*(_evidence(item, wording) for item in scenario.evidence), *_lists(wording)],
        "For each answer, what must be cited. Numbers are MIMIC-IV's item numbers; names are parts of drug, specimen "
        "or other names, in capitals or not.",
    )
    yield from _section(
        "What a good process does",
        map(_process, scenario.rubric.item),
        "With the weight of each; what has a negative one speaks against the answer.",
    )
    yield from _section(
        "What an answer should say of policies",
        map(_policy, scenario.policy_rubric.item),
        "With its weight, and where it stands.",
    )
    yield from _section(
        "Where it departs from the catalogue",
        (f"- {_begin(text)}" for text in corrections(scenario.folder)),
        "The catalogue is the draft that the scenarios were made from.",
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


def _blanks(text: str) -> str:
    """A text of the agent's with its blanks named as a person would."""
    return text.replace("{index_time}", "[index time]").replace("{as_of}", "[as-of time]")


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def _section(title: str, lines: Iterable[str], about: str = "") -> Iterator[str]:
    """A section, or nothing if it has no line."""
    found = list(lines)
    if found:
        yield from ("", f"## {title}", "")
        if about:
            yield from (about, "")
        yield from found


def _criteria(scenario: Scenario) -> Iterator[str]:
    yield "| verdict | when | cases wanted |"
    yield "|---|---|---|"
    for verdict, name in VERDICT_NAMES.items():
        criterion = scenario.criteria[verdict].replace("|", r"\|")
        yield f"| {name} | {criterion} | {scenario.mix[verdict]} |"


def _reading(reading: Reading) -> str:
    return f"- {reading.text} {reading.source}"


def _evidence(evidence: Evidence, wording: Wording) -> str:
    verdicts = _name_verdicts(evidence.verdicts)
    some = f"; {say_condition(evidence.when)}" if evidence.when else ""
    where = wording.searches(evidence)
    kind = _KINDS[evidence.kind] if where else "entries"
    one = "one of these: " if evidence.any else ""
    return f"- `{evidence.id}` ({verdicts}{some}): {kind} {one}{where}".rstrip()


def _name_verdicts(verdicts: Sequence[Verdict]) -> str:
    if set(verdicts) == set(VERDICTS):
        return "every answer"
    return ", ".join(VERDICT_NAMES[verdict].rpartition("— ")[2] for verdict in verdicts)


def _lists(wording: Wording) -> Iterator[str]:
    for letter, text in wording.lists:
        yield from ("", f"**List {letter}**: {text}.")


def _process(item: RubricItem) -> str:
    return f"- ({item.weight:+d}) {item.text}"


def _policy(item: PolicyItem) -> str:
    return f"- ({item.weight:+d}) {item.text} *{item.document}, {item.locator}*"


def _reference(reference: Reference) -> str:
    where = f"https://doi.org/{reference.doi}" if reference.doi else reference.url
    return f"- `{reference.id}`: {reference.text}" + (f" {where}" if where else "")
