"""`mcp-mimic import`, `mcp-mimic check`: from official files to a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_mimic.commands.options import Json, StoreFolder

if TYPE_CHECKING:
    from mcp_mimic.store.check import CheckReport
    from mcp_mimic.store.manifest import Manifest


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command("import")(import_)
    app.command()(check)


def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Folders that hold hosp/, icu/ and optional modules.",
            show_default=False,
        ),
    ],
    store: StoreFolder,
    release: Annotated[
        str | None,
        typer.Option(help="Release of the files (2.2 or 3.1), where their row counts do not tell it."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory for sorting; by default 4GB, or half of the machine's.")
    ] = None,
    json: Json = False,
) -> None:
    """Turn official MIMIC-IV files into a store.

    Reads csv.gz, csv and parquet, of the releases 2.2 and 3.1 and the demo. Every file is read from end to end first, of a parquet file its footer. Interrupted, the same command goes on where it stopped.

    Example: mcp-mimic import mimiciv/3.1 mimic-iv-note/2.2 --store store
    """
    from mcp_mimic.progress import import_progress
    from mcp_mimic.store.importer import import_store
    from mcp_mimic.store.releases import RELEASES

    if release is not None and release not in RELEASES:
        raise typer.BadParameter(f"{release!r} is not one of {', '.join(RELEASES)}", param_hint="--release")
    with import_progress() as progress:
        manifest = import_store(sources, store, release=release, memory=memory, progress=progress)
    for entry in manifest.tables.values():
        if entry.unread:
            unread = ", ".join(name or "(unnamed)" for name in entry.unread)
            typer.echo(f"{entry.source}: not served, no rule: {unread}", err=True)
    typer.echo(manifest.model_dump_json(indent=2) if json else _import_text(store, manifest))


def check(store: StoreFolder, json: Json = False) -> None:
    """Compare a store with what its release should hold.

    Official layout, manifest, content and the release's published row counts, where it is a release that has them; evidence ids and moments of availability are worked out again, which takes time and memory as an import does. Ends with 1 where anything differs.

    Example: mcp-mimic check --store store --json
    """
    from mcp_mimic.progress import check_progress
    from mcp_mimic.store.check import check_store
    from mcp_mimic.store.store import Store

    opened = Store.open(store)
    with check_progress(len(opened.manifest.tables)) as progress:
        report = check_store(opened, progress=progress)
    typer.echo(report.model_dump_json(indent=2) if json else _check_text(report))
    if not report.ok:
        raise typer.Exit(1)


def _import_text(store: Path, manifest: "Manifest") -> str:
    rows = sum(entry.rows for entry in manifest.tables.values())
    files = sum(entry.source is not None for entry in manifest.tables.values())
    return (
        f"{store}: release {manifest.release}, {manifest.classification}, {rows:,} rows of {files} files\n"
        f"fingerprint {manifest.fingerprint}"
    )


def _check_text(report: "CheckReport") -> str:
    lines = [f"{'table':<25}{'rows':>13}{'published':>13}  status"]
    for table in report.tables:
        published = "-" if table.published is None else f"{table.published:,}"
        status = "; ".join([table.status, *table.problems])
        lines.append(f"{table.table:<25}{table.rows:>13,}{published:>13}  {status}")
    lines.append("")
    sources = sorted({table.source for table in report.tables if table.source})
    lines += [f"published counts: {source}" for source in sources]
    lines += [f"problem: {problem}" for problem in report.problems]
    lines.append(f"release {report.release}, {report.classification}: {_verdict(report)}")
    return "\n".join(lines)


def _verdict(report: "CheckReport") -> str:
    if not report.ok:
        return "it differs"
    if any(table.published is not None for table in report.tables):
        return "nothing differs"
    return (
        "no official row counts to compare with; checked instead, and as they should be: the official layout, content "
        "and rules against the manifest, evidence ids and moments of availability"
    )
