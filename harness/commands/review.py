"""`harness review`: a packet for clinicians, and what comes back with it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.data import choose_scenarios, progress, standing
from harness.errors import ReviewError
from harness.words import counted
from mcp_mimic.text.counts import agree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.review.packet import PacketKey
    from harness.scenario import Scenario


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(review)


def review(
    out: Annotated[Path | None, typer.Option(help="New folder for the packet.")] = None,
    back: Annotated[
        Path | None, typer.Option("--import", metavar="DIR", help="A packet whose forms are filled in.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(envvar="CLINICARE_STORE", help="The chart store of the cohort.")
    ] = None,
    cohort: Annotated[Path | None, typer.Option(help="The cohort file whose labels are reviewed.")] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="Id, number or slug of a scenario; may be repeated. Default: all."),
    ] = None,
    cases: Annotated[
        int, typer.Option(min=4, help="Cases of each scenario, one of each verdict in turn.")
    ] = 8,
    blind: Annotated[
        bool, typer.Option("--blind", help="Two readers, each with an order of cases, and no label shown.")
    ] = False,
    key_file: Annotated[
        Path | None, typer.Option(help="Key of the task ids; a credentialed store needs one.")
    ] = None,
) -> None:
    """Write a packet of cases for clinicians to judge, or compare what they handed back with the labels.

    Example: harness review --store store/ --cohort cohort.csv --blind --out review/

    Example: harness review --import review/
    """
    if (out is None) == (back is None):
        raise typer.BadParameter(
            "name either a packet to write or one to read", param_hint="'--out', '--import'"
        )
    if back is not None:
        if cohort is not None or scenario or blind or key_file is not None:
            raise typer.BadParameter(
                "takes no other option: the packet says the rest", param_hint="'--import'"
            )
        _compare(back)
        return
    if store is None or cohort is None:
        missing = "--store" if store is None else "--cohort"
        raise typer.BadParameter("a packet is made from a store and a cohort", param_hint=f"'{missing}'")
    if out is not None:
        _write(out, store, cohort, scenario or [], cases, blind, key_file)


def _write(
    out: Path, store: Path, cohort: Path, names: list[str], cases: int, blind: bool, key_file: Path | None
) -> None:
    from harness.build import read_key
    from harness.cohort import read_cohort
    from harness.review.packet import reader_folder, write_packet
    from harness.scenario import load_scenarios
    from mcp_mimic.store.store import Store

    chart, scenarios = Store.open(store), load_scenarios()
    chosen = choose_scenarios(scenarios, names)
    ids = {each.id for each in chosen}
    rows = [row for row in read_cohort(cohort, chart, scenarios) if row.scenario in ids]
    key = None if key_file is None else read_key(key_file)
    packet = write_packet(chart, rows, chosen, out, cases=cases, blind=blind, key=key, progress=progress)
    used = [each.on(packet.key.classification) for each in chosen if each.id in packet.key.scenarios]
    for each in used:
        own = [one.label for one in packet.key.cases.values() if one.scenario == each.id]
        sys.stdout.write(
            f"{each.id}\tversion {each.version}\t{counted(len(own), 'case')}\t{standing([each])}\n"
        )
    sys.stderr.write(
        f"{out}: {counted(len(packet.key.cases), 'case')}, readers: {', '.join(packet.key.readers)}\n"
    )
    if packet.key.classification == "credentialed":
        sys.stderr.write(
            f"{out} holds patient data: read {out / 'README.md'} before it is given to anybody\n"
        )
    folders = " and ".join(str(reader_folder(out, reader)) for reader in packet.key.readers)
    sys.stderr.write(f"give each reader a folder: {folders}; then: harness review --import {out}\n")


def _compare(path: Path) -> None:
    from harness.review.answers import read_readings
    from harness.review.comparison import (
        DISPUTED_FILE,
        SIGNOFF_FOLDER,
        compare,
        find_disputed,
        sign_offs,
        write_disputed,
    )
    from harness.review.packet import SIGNATURE_FILE, read_key, require_private
    from harness.review.signoff import CHARTS, SIGNOFF_FILE, write_signoff
    from harness.scenario import load_scenarios

    key = read_key(path)
    require_private(path, key.classification)
    scenarios = load_scenarios()
    readings = read_readings(path, key)
    signed, refused = sign_offs(path, key, readings, scenarios)
    disputed = find_disputed(key, readings)
    for one in compare(key, readings):
        sys.stdout.write(f"{one.scenario}\t{' and '.join(one.raters)}\t{one.agreement}\n")
    for case in disputed:
        said = ", ".join(f"{reader} {verdict}" for reader, verdict in case.verdicts.items())
        sys.stdout.write(f"disputed\t{case.task}\tlabel {case.label}\t{said}\n")
    write_disputed(disputed, key.readers, path / DISPUTED_FILE)
    sys.stderr.write(
        f"{path / DISPUTED_FILE}: {counted(len(disputed), 'disputed case')} of {len(key.cases)}\n"
    )
    for reading in readings:
        if unanswered := len(key.cases) - len(reading.answers):
            sys.stderr.write(f"reader {reading.reader} gave no verdict on {counted(unanswered, 'case')}\n")
    folder = path / SIGNOFF_FOLDER
    for old in folder.glob("*.toml"):
        old.unlink()
    for reason in refused:
        sys.stderr.write(f"not signed: {reason}\n")
    for sign in signed:
        folder.mkdir(mode=0o700, exist_ok=True)
        write_signoff(sign, folder / f"{sign.scenario}.toml")
        now = next(each for each in scenarios if each.id == sign.scenario)
        kept = f", with {counted(len(sign.review) - 1, 'earlier review')}" if len(sign.review) > 1 else ""
        lapsed = f"; it replaces the lapsed sign-off of {', '.join(now.lapsed)}" if now.lapsed else ""
        sys.stderr.write(
            f"signed on {CHARTS[key.classification]}{kept}: {folder / f'{sign.scenario}.toml'};"
            f" put it into effect as {now.folder / SIGNOFF_FILE}{lapsed}\n"
        )
    _say_standing(key, scenarios)
    if refused:
        asked = counted(len(refused) + len(signed), "sign-off")
        raise ReviewError(
            f"{len(refused)} of {asked} {agree(len(refused), 'is', 'are')} refused, listed above",
            f"correct {SIGNATURE_FILE} in the readers' folders and import the packet again",
        )


def _say_standing(key: "PacketKey", scenarios: "Sequence[Scenario]") -> None:
    read = [each.on(key.classification) for each in scenarios if each.id in key.scenarios]
    sys.stderr.write(f"{standing(read)}\n")
