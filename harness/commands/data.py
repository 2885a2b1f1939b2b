"""`harness synthetic`, `harness cohort`, `harness build`: from a chart to tasks."""

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.commands.options import Store
from harness.errors import CohortError, ScenarioError
from harness.words import counted
from mcp_mimic.text.counts import agree
from mcp_mimic.text.near import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.scenario import Scenario
    from mcp_mimic.store.store import Store as ChartStore


_SHORT = 2
"""As many letters of a scenario's name say nothing of which one is meant."""

Mapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=COLUMN", help="Where another file has a column; may be repeated."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(synthetic)
    app.command()(cohort)
    app.command()(build)


def synthetic(
    out: Annotated[Path, typer.Option(help="Folder to write; it must be new or empty.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 20260101,
    patients: Annotated[
        int | None,
        typer.Option(
            min=1, help="Patients in all; those that carry no plant are added up to it, a dozen at least."
        ),
    ] = None,
    plants: Annotated[
        Path | None, typer.Option(help="Also write here, as JSON, which patient carries which plant.")
    ] = None,
) -> None:
    """Write a synthetic hospital in MIMIC-IV's file layout.

    Example: harness synthetic --out hospital/
    """
    from harness.synthetic import write_hospital

    hospital = write_hospital(out, seed=seed, patients=patients)
    if plants is not None:
        text = json.dumps([asdict(case) for case in hospital], indent=2)
        plants.write_text(text + "\n", encoding="utf-8")
    sys.stderr.write(
        f"{out}: {counted(hospital.patients, 'patient')}, {counted(len(hospital), 'planted case')}\n"
    )
    sys.stderr.write(f"import it with: mcp-mimic import {out} --store store/\n")


def cohort(
    store: Store,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; with --from, only the check is done without it.")
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="Id, number or slug of a scenario; may be repeated. Default: all."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A CSV of cases with labels of somebody else, to check instead."),
    ] = None,
    mapping: Mapping = None,
    allow_unmatched: Annotated[
        bool,
        typer.Option(
            "--allow-unmatched",
            help="Write OUT without the rows that do not match, and list those in a file beside it.",
        ),
    ] = False,
) -> None:
    """Find the cases of each scenario in a store, label them and sample by the scenario's mix.

    With --from, take the cases of another file: every row is checked against the store, its label compared with ours.

    Example: harness cohort --store store/ --out cohort.csv

    Example: harness cohort --store store/ --from theirs.csv --map gold=label --out cohort.csv
    """
    from harness.cohort import build_cohort, write_cohort
    from harness.scenario import load_scenarios
    from mcp_mimic.store.store import Store as ChartStore

    if source is None:
        if out is None:
            raise typer.BadParameter("a file to write must be named", param_hint="'--out'")
        if mapping or allow_unmatched:
            raise typer.BadParameter("--map and --allow-unmatched belong to --from", param_hint="'--from'")
    chosen = choose_scenarios(load_scenarios(), scenario or [])
    if out is not None:
        _require_writable(out, source)
    chart = ChartStore.open(store)
    if source is not None:
        _check_cohort(source, chart, chosen, _columns(mapping or []), out, allow_unmatched)
        return
    if out is None:
        return
    cases = build_cohort(chart, chosen, progress=progress)
    write_cohort(cases, out, private=_is_private(chart))
    for stratum in cases.strata:
        sys.stdout.write(
            f"{stratum.scenario}\t{stratum.verdict}\t{stratum.taken} of {stratum.wanted} wanted"
            f"\t{stratum.eligible} eligible\t{stratum.fragile} fragile\n"
        )
    sys.stderr.write(f"{out}: {counted(len(cases.rows), 'case')}; {standing(_on(chosen, chart))}\n")


def _require_writable(out: Path, source: Path | None) -> None:
    """CohortError if no file can be written there, or if one that is written would replace the file to check."""
    if out.is_dir() or not out.parent.is_dir():
        raise CohortError(f"{out}: no file can be written there", "name a file in a folder that exists")
    written = (out, *(_beside(out, what) for what in ("unmatched", "disagreements")))
    if source is not None and (same := [one for one in written if one.resolve() == source.resolve()]):
        raise CohortError(
            f"{same[0]} is the file to check, and would be written over", "name another file with --out"
        )


def _check_cohort(
    source: Path,
    store: "ChartStore",
    scenarios: "list[Scenario]",
    columns: dict[str, str],
    out: Path | None,
    allow_unmatched: bool,
) -> None:
    """Check a file of somebody else, say what was found, and write what holds; CohortError if a row does not.

    Of a credentialed store no cell and no label is shown, only lines, and files are for their owner alone.
    """
    from harness.cohort_check import check_cohort, write_disagreements, write_unmatched
    from harness.cohort_file import write_rows

    private = _is_private(store)
    found = check_cohort(source, store, scenarios, columns=columns, progress=progress)
    for scenario, agreed in found.agreements():
        sys.stdout.write(f"{scenario}\t{agreed}\n")
    for label in found.disagreements:
        both = f"theirs {label.gold}, ours {label.ours} ({label.rule})"
        said = "the labels differ" if private else both
        sys.stdout.write(f"{source}, line {label.line}: {label.scenario}: {said}\n")
    for problem in found.unmatched:
        sys.stdout.write(
            f"{source}, line {problem.line}: {problem.told(private=private)}; {problem.remedy}\n"
        )
    counts = (
        f"{counted(len(found.rows), 'row')} {agree(len(found.rows), 'holds', 'hold')}, {len(found.unmatched)} "
        f"{agree(len(found.unmatched), 'does', 'do')} not, {found.filled} filled"
    )
    sys.stderr.write(f"{source}: {counts}; our labels: {standing(_on(scenarios, store))}\n")
    if found.unmatched and not (allow_unmatched and found.rows):
        raise CohortError(
            f"{source}: {len(found.unmatched)} of {counted(len(found.unmatched) + len(found.rows), 'row')} "
            f"{agree(len(found.unmatched), 'does', 'do')} not match"
            + ("" if out is None else f", and {out} is not written"),
            "correct the rows listed above"
            + (
                ", or leave them out with --allow-unmatched"
                if found.rows
                else ", or use the store they are of"
            ),
        )
    if out is None:
        return
    write_rows(found.rows, out, private=private)
    for what, count, write in (
        ("unmatched", len(found.unmatched), partial(write_unmatched, found.unmatched)),
        ("disagreements", len(found.disagreements), partial(write_disagreements, found.disagreements)),
    ):
        beside = _beside(out, what)
        beside.unlink(missing_ok=True)
        if count:
            write(beside, private=private)
            sys.stderr.write(f"{beside}: {counted(count, 'row')}\n")
    sys.stderr.write(f"{out}: {counted(len(found.rows), 'case')}\n")


def _beside(out: Path, what: str) -> Path:
    return out.with_suffix(f".{what}.csv")


def _is_private(store: "ChartStore") -> bool:
    return store.manifest.classification == "credentialed"


def standing(scenarios: "Sequence[Scenario]") -> str:
    """Where the labels of these scenarios come from, as every surface that shows labels must say."""
    unsigned = sum(not scenario.clinician_reviewed for scenario in scenarios)
    if not unsigned:
        from harness.review.signoff import CHARTS

        on = " and ".join(charts for name, charts in CHARTS.items() if name in _signed_on(scenarios))
        return f"clinician-signed labels (signed on {on}); clinician_reviewed = true"
    some = "" if unsigned == len(scenarios) else f" for {unsigned} of {len(scenarios)} scenarios"
    return f"rule-derived labels; clinician_reviewed = false{some}"


def _on(scenarios: "Sequence[Scenario]", store: "ChartStore") -> "list[Scenario]":
    return [each.on(store.manifest.classification) for each in scenarios]


def _signed_on(scenarios: "Sequence[Scenario]") -> set[str]:
    return {one.classification for each in scenarios for one in each.signers if str(one) in each.reviewers}


def build(
    store: Store,
    cohort: Annotated[Path, typer.Option(help="The cohort file.")],
    out: Annotated[Path, typer.Option(help="Folder for the task directories.")] = Path("tasks"),
    key_file: Annotated[
        Path | None, typer.Option(help="Key of the task ids; a credentialed store needs one.")
    ] = None,
    split: Annotated[
        Literal["dev", "full"], typer.Option(help="dev: the development cases only; full: all of them.")
    ] = "full",
    mapping: Mapping = None,
) -> None:
    """Build a Harbor task directory for each case of a cohort.

    Tasks that OUT holds already are replaced, those of other cases included; files of yours in it are not.

    Example: harness build --store store/ --cohort cohort.csv --out tasks/
    """
    from harness.build import build_tasks, choose_split, read_key
    from harness.cohort import read_cohort
    from harness.scenario import load_scenarios
    from mcp_mimic.store.store import Store as ChartStore

    chart, scenarios = ChartStore.open(store), load_scenarios()
    rows = choose_split(read_cohort(cohort, chart, scenarios, columns=_columns(mapping or [])), split)
    key = None if key_file is None else read_key(key_file)
    built = build_tasks(chart, rows, scenarios, out, key=key, progress=progress)
    state = "written" if built.changed else "unchanged"
    used = {row.scenario for row in rows}
    said = standing(_on([each for each in scenarios if each.id in used], chart))
    if built.replaced:
        sys.stderr.write(f"{out}: replaced {counted(built.replaced, 'task')} of an earlier build\n")
    sys.stderr.write(f"{out}: {counted(len(built), 'task')}, {state}; {said}\n")


def choose_scenarios(scenarios: "list[Scenario]", names: list[str]) -> "list[Scenario]":
    """The scenarios meant by ids, numbers or slugs, all of them for no name; ScenarioError for an unknown one."""
    known = {
        name: scenario for scenario in scenarios for name in (scenario.id, scenario.slug, scenario.number)
    }
    asked = [name.zfill(2) for name in names]
    for name, given in zip(asked, names, strict=True):
        if name not in known:
            ids = ", ".join(scenario.id for scenario in scenarios)
            raise ScenarioError(
                f"unknown scenario {given!r}",
                meant_scenario(given, known) or f"use the id, the number or the slug of {ids}",
            )
    return list({known[name].id: known[name] for name in asked}.values()) or scenarios


def meant_scenario(given: str, known: "Iterable[str]") -> str:
    """`did you mean x or y?` of the slugs, else of the ids, that hold what was given, else of a close word."""
    names = sorted(known, key=lambda name: (name[0].isdecimal(), name))
    held = [name for name in names if len(given) > _SHORT and given.lower() in name]
    kind = [name for name in held if name[0].isdecimal() == held[0][0].isdecimal()]
    return f"did you mean {' or '.join(kind[:3])}?" if kind else did_you_mean(given, names)


def _columns(mapping: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in mapping]
    for text, (name, sign, column) in zip(mapping, pairs, strict=True):
        if not (name and sign and column):
            raise typer.BadParameter(f"{text!r} is not of the form NAME=COLUMN", param_hint="'--map'")
    return {name: column for name, _, column in pairs}


def progress(text: str) -> None:
    """Progress in words, for people who watch."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")
