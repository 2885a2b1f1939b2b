"""One case as a page for a clinician: the question, the chart around it, and the label unless the reading is blind."""

from collections.abc import Iterator
from datetime import datetime

from harness.cohort_file import CohortRow
from harness.review.timeline import Searched, Timeline
from harness.scenario import Scenario
from harness.scenario_page import VERDICT_NAMES
from harness.words import counted
from mcp_mimic.text.counts import agree

_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~$"})


def case_page(scenario: Scenario, row: CohortRow, task: str, timeline: Timeline, *, blind: bool) -> str:
    """The page, in Markdown; nothing of the chart is read as markup."""
    return "\n".join([*_lines(scenario, row, task, timeline, blind), ""])


def _lines(scenario: Scenario, row: CohortRow, task: str, timeline: Timeline, blind: bool) -> Iterator[str]:
    yield f"# {scenario.number} {scenario.title}"
    yield ""
    yield f"Case `{task}`, version {scenario.version} of the scenario. {_standing(scenario, blind)}"
    yield ""
    question = scenario.question.replace("{index_time}", _time(row.index_time))
    yield f"> {question.replace('{as_of}', _time(row.as_of))}"
    yield ""
    yield f"Index time {_time(row.index_time)}; the chart is shown as it was known at {_time(row.as_of)}."
    if not blind:
        yield from _label(scenario, row)
    yield from _searches(timeline.searches)
    yield from _rows(timeline, blind)


def _standing(scenario: Scenario, blind: bool) -> str:
    if scenario.clinician_reviewed:
        return f"Signed by {', '.join(scenario.reviewers)}."
    said = "The label is not shown; it" if blind else "The label"
    return f"`clinician_reviewed = false`. {said} is rule-derived: no clinician stands behind it yet."


def _label(scenario: Scenario, row: CohortRow) -> Iterator[str]:
    yield ""
    yield "## Label"
    yield f"**{VERDICT_NAMES[row.gold]}**, by rule `{row.rule}`: {scenario.criteria[row.gold]}"
    readings = "; its verdict changes under another accepted reading" if row.definition_fragile else ""
    if row.fragile or readings:
        fragile = "the verdict hangs on one deciding time or digit" if row.fragile else ""
        yield ""
        yield f"Fragile: {fragile}{readings if fragile else readings.removeprefix('; ')}."


def _searches(searches: tuple[Searched, ...]) -> Iterator[str]:
    if not searches:
        return
    yield ""
    yield "## Searches of the chart"
    yield "What the scenario looks for under any of its verdicts, and whether the table was recording at all."
    yield ""
    yield "| table | sought | from | to | found | rows of the table in that time |"
    yield "|---|---|---|---|---|---|"
    for one in searches:
        window = one.window
        ends = f"{_time(window.start)} | {_time(window.end)}"
        yield f"| {window.source} | {_plain(one.sought)} | {ends} | {one.matching} | {one.recorded} |"


def _rows(timeline: Timeline, blind: bool) -> Iterator[str]:
    yield ""
    yield "## Timeline"
    if not blind:
        yield "Rows that the label rests on are marked ●; the others stand near them, or were found by a search."
        yield ""
    yield "| time | known from | table | row | id |"
    yield "|---|---|---|---|---|"
    for row in timeline.rows:
        mark = "● " if row.evidence and not blind else ""
        cells = (_time(row.at), _time(row.available), row.table, mark + _plain(row.facts), f"`{row.eid}`")
        yield f"| {' | '.join(cells)} |"
    if timeline.left_out and not blind:
        yield ""
        more = counted(timeline.left_out, "more row")
        yield f"{more} that the label may rest on {agree(timeline.left_out, 'is', 'are')} not shown."


def _plain(text: str) -> str:
    """One line of a table, line breaks kept."""
    lines = (" ".join(line.split()) for line in text.translate(_MARKUP).splitlines())
    return "<br>".join(line for line in lines if line)


def _time(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}" + (f":{moment:%S}" if moment.second else "")
