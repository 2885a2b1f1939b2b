"""The pages on scenarios that are made from their folders: `python -m harness.scenario_index docs`."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.scenario import Scenario, load_scenarios
from harness.scenario_page import doubts, scenario_page
from harness.scenario_strata import Counted, StoreCounts, Strata, read_strata, rules_digest
from mcp_mimic.contract import VERDICTS

PREFACE, STRATA = "scenarios/preface.txt", "scenarios/strata.toml"
"""What is written by hand, and the counts; both below the folder of the pages."""

_CHANGED = "†"


def scenario_pages(docs: Path, scenarios: Sequence[Scenario]) -> dict[str, str]:
    """The pages by their place below `docs`: the index, and one page a scenario."""
    preface = (docs / PREFACE).read_text(encoding="utf-8")
    index = _index(preface.strip(), read_strata(docs / STRATA), scenarios)
    return {"scenarios.md": "\n".join([*index, ""])} | {
        f"scenarios/{scenario.id}.md": _back(scenario_page(scenario)) for scenario in scenarios
    }


def write_pages(docs: Path) -> None:
    """Write the pages below `docs`, and remove those of scenarios that are no more."""
    pages = scenario_pages(docs, load_scenarios())
    for page in (docs / "scenarios").glob("*.md"):
        page.unlink()
    for name, text in pages.items():
        (docs / name).write_text(text, encoding="utf-8")


def _back(page: str) -> str:
    return f"[All scenarios](../scenarios.md). This page is made from the scenario's folder by `just docs`.\n\n{page}"


def _index(preface: str, strata: Strata, scenarios: Sequence[Scenario]) -> Iterator[str]:
    about, _, rest = preface.partition("\n## ")
    yield "# Scenarios"
    yield ""
    yield _standing(scenarios)
    yield ""
    yield about.strip()
    yield ""
    yield "## Cases of each class"
    yield ""
    yield (
        "Eligible cases, in the order **yes / no / lack of data / medical ambiguity**: each patient's first of the "
        "scenario. *Wanted* is the mix that a cohort takes of them, the same for every store."
    )
    yield ""
    names = list(strata.stores)
    yield f"| scenario | wanted | {' | '.join(names)} |"
    yield "|---|---|" + "---|" * len(names)
    for scenario in scenarios:
        cells = (_cell(scenario, counts) for counts in strata.stores.values())
        yield f"| {_link(scenario)} | {_row(_wanted(scenario))} | {' | '.join(cells)} |"
    sums = (_total(scenarios, counts.scenarios) for counts in strata.stores.values())
    wanted = _row(map(sum, zip(*map(_wanted, scenarios), strict=True)))
    yield f"| all | {wanted} | {' | '.join(sums)} |"
    yield ""
    for name, counts in strata.stores.items():
        yield _store(name, counts)
    if any(_is_changed(scenario, counts) for scenario in scenarios for counts in strata.stores.values()):
        yield f"- {_CHANGED}: the rules, or definitions that scenarios share, have changed since the count."
    if rest:
        yield ""
        yield f"## {rest.strip()}"
    yield ""
    yield "## What the pages leave to clinicians"
    yield ""
    open_ones = [_link(scenario) for scenario in scenarios if doubts(scenario.folder)]
    yield (
        "Numbers without a source, and readings that a clinician may see otherwise, have a section of their own on "
        f"the pages of {', '.join(open_ones) or 'no scenario'}. Where a page has no such section, nobody has listed "
        "them yet: it does not say that every number has a source."
    )


def _standing(scenarios: Sequence[Scenario]) -> str:
    signed = [scenario for scenario in scenarios if scenario.clinician_reviewed]
    if len(signed) == len(scenarios):
        return f"All {len(signed)} scenarios are signed by clinicians; each page says by whom."
    if signed:
        which = (
            f"Clinicians signed {', '.join(map(_link, signed))}; the labels of all others are rule-derived"
        )
    else:
        which = "No clinician has signed one: every label is rule-derived"
    return (
        f"**{len(scenarios)} scenarios. {which}** (`clinician_reviewed = false`): question, thresholds, item lists, "
        "windows and mix are unreviewed."
    )


def _link(scenario: Scenario) -> str:
    return f"[{scenario.number} {scenario.title}](scenarios/{scenario.id}.md)"


def _wanted(scenario: Scenario) -> tuple[int, ...]:
    return (
        scenario.mix["yes"],
        scenario.mix["no"],
        scenario.mix["lack_of_data"],
        scenario.mix["medical_ambiguity"],
    )


def _row(numbers: Iterable[int]) -> str:
    return " / ".join(map(str, numbers))


def _cell(scenario: Scenario, counts: StoreCounts) -> str:
    counted = counts.scenarios.get(scenario.id)
    if counted is None:
        return "not counted"
    if not any(counted.row):
        return f"none{_CHANGED if _is_changed(scenario, counts) else ''}"
    return _row(counted.row) + (f" {_CHANGED}" if _is_changed(scenario, counts) else "")


def _is_changed(scenario: Scenario, counts: StoreCounts) -> bool:
    counted = counts.scenarios.get(scenario.id)
    return counted is not None and counted.rules != rules_digest(scenario)


def _total(scenarios: Sequence[Scenario], counted: Mapping[str, Counted]) -> str:
    rows = [counted[scenario.id].row for scenario in scenarios if scenario.id in counted]
    return _row([sum(row[place] for row in rows) for place in range(len(VERDICTS))])


def _store(name: str, counts: StoreCounts) -> str:
    texts, entries = counts.chart_texts
    return (
        f"- *{name}*: {counts.classification}, release {counts.release}, {counts.patients:,} patients, modules "
        f"{', '.join(counts.modules)}; {texts:,} of the {entries:,} entries of the ICU chart whose item is a text "
        f"have one. Fingerprint `{counts.fingerprint[:12]}`."
    )


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
