"""`harness corpus status`, `acquire`, `add`, `index`: the policy documents of a laboratory of one's own."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import Json

if TYPE_CHECKING:
    from harness.corpus.acquire import Acquired
    from harness.corpus.index import Indexed
    from harness.corpus.intake import Taken
    from harness.corpus.status import Standing
    from harness.errors import HarnessError

corpus = typer.Typer(
    help="Get guideline documents, and make them citable.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)

Folder = Annotated[
    Path, typer.Option("--corpus", help="The folder of documents, which is never part of the project.")
]
_HERE = Path("corpus-local")


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.add_typer(corpus, name="corpus")


@corpus.command()
def status(folder: Folder = _HERE, as_json: Json = False) -> None:
    """Say of each document whether it is here, and how to get it if it is not.

    Example: harness corpus status --corpus corpus-local/
    """
    from harness.corpus.folder import LocalCorpus
    from harness.corpus.status import standings

    found = standings(LocalCorpus(folder))
    if as_json:
        rows = [standing.to_json() for standing in found]
        sys.stdout.write(
            json.dumps({"corpus": str(folder), "documents": rows}, indent=1, ensure_ascii=False) + "\n"
        )
        return
    _print_standings(found, folder)


def _print_standings(found: "list[Standing]", folder: Path) -> None:
    """A line a document, fields apart by tabs if nobody is looking; what the states mean goes to stderr."""
    from harness.corpus.status import STATES

    rows = [(each.entry.id, each.state, each.detail, each.place or "") for each in found]
    head = ("document", "state", "what it has, or where to get it", "its place in the folder")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*head)
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    else:
        sys.stdout.writelines("\t".join(row) + "\n" for row in (head, *rows))
    counts = Counter(each.state for each in found)
    for state, meaning in STATES.items():
        if counts[state]:
            sys.stderr.write(f"{counts[state]} {state}: {meaning}\n")
    sys.stderr.write(f"served with: mcp-mimic serve --corpus {folder}\n")


@corpus.command()
def acquire(
    names: Annotated[
        list[str] | None, typer.Argument(help="Ids of documents. Default: all that a script may fetch.")
    ] = None,
    folder: Folder = _HERE,
    again: Annotated[
        bool, typer.Option("--again", help="Fetch those that are here too, and tell which have changed.")
    ] = False,
) -> None:
    """Fetch the documents that a script may fetch, one at a time; what broke off goes on where it stopped.

    Example: harness corpus acquire kdigo-aki-2012 --corpus corpus-local/
    """
    from harness.corpus.acquire import acquire_documents
    from harness.corpus.fetch import Fetcher
    from harness.corpus.folder import change_corpus

    fetcher = Fetcher(tell=_tell)
    try:
        with change_corpus(folder) as local:
            done = acquire_documents(local, names or (), fetcher, again=again, tell=_tell_acquired)
    finally:
        fetcher.close()
    if any(found.outcome == "acquired" for found in done):
        sys.stderr.write(f"make what came citable with: harness corpus index --corpus {folder}\n")
    if any(found.error for found in done):
        raise typer.Exit(1)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell_acquired(found: "Acquired") -> None:
    sys.stdout.write(f"{found.name}\t{found.outcome}\t{found.detail}\n")
    sys.stdout.flush()
    if found.error:
        _tell_error(found.error)


@corpus.command()
def add(
    file: Annotated[Path, typer.Argument(help="The downloaded file: PDF, HTML or Markdown.")],
    name: Annotated[str, typer.Option("--as", help="Id of the document that it is.")],
    folder: Folder = _HERE,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of a recorded edition.")] = False,
) -> None:
    """Take in a document that you have downloaded, and record its checksum.

    Example: harness corpus add ~/Downloads/kdigo.pdf --as kdigo-aki-2012
    """
    from harness.corpus.apart import look_at_pdf_apart
    from harness.corpus.folder import change_corpus
    from harness.corpus.intake import add_file

    with change_corpus(folder) as local:
        taken = add_file(local, file, name, replace=replace, looker=look_at_pdf_apart)
        place = local.path / taken.original.file
        entry = local.entry(name)
    wanted = ", ".join(str(part) for part in (entry.title, entry.publisher, entry.year) if part)
    sys.stdout.write(f"{name}\t{'added' if taken.new else 'here already'}\tsha256 {taken.original.sha256}\n")
    _tell_taken(taken, wanted)
    if taken.remark:
        sys.stderr.write(f"note: {taken.remark}\n")
    sys.stderr.write(f"kept as {place}; make it citable with: harness corpus index --corpus {folder}\n")


def _tell_taken(taken: "Taken", wanted: str) -> None:
    """What came, beside what the manifest calls the document: only a person can tell whether it is that one."""
    from harness.words import counted

    title = taken.title if len(taken.title) <= 120 else f"{taken.title[:120]} …"
    pages = f", {counted(taken.pages, 'page')}" if taken.pages else ""
    begun = "".join(mark if mark.isprintable() else " " for mark in title)
    sys.stderr.write(
        f"it calls itself: {begun or '(nothing)'}{pages}, {counted(taken.original.bytes, 'byte')}\n"
    )
    sys.stderr.write(f"it stands for: {wanted}\n")
    sys.stderr.write("nobody checks that it is this document: compare the two lines, or open the file\n")


@corpus.command()
def index(
    names: Annotated[
        list[str] | None, typer.Argument(help="Ids of documents. Default: all that are here.")
    ] = None,
    folder: Folder = _HERE,
    again: Annotated[
        bool, typer.Option("--again", help="Make texts anew that have not changed, too.")
    ] = False,
) -> None:
    """Turn the documents that are here into Markdown with sections that can be cited; only what changed.

    Example: harness corpus index --corpus corpus-local/
    """
    from harness.corpus.apart import read_pdf_apart
    from harness.corpus.folder import change_corpus
    from harness.corpus.index import index_corpus

    with change_corpus(folder) as local:
        done = index_corpus(local, names or (), again=again, tell=_tell_indexed, reader=read_pdf_apart)
    if not done:
        sys.stderr.write(f"{folder} has no documents yet: see harness corpus status --corpus {folder}\n")
    if any(found.error for found in done):
        raise typer.Exit(1)


def _tell_indexed(found: "Indexed") -> None:
    from harness.words import counted

    sections = "" if found.error else counted(found.sections, "section")
    sys.stdout.write(f"{found.name}\t{found.outcome}\t{sections}\n")
    sys.stdout.flush()
    for remark in found.remarks:
        sys.stderr.write(f"note: {found.name}: {remark}\n")
    if found.error:
        _tell_error(found.error)


def _tell_error(error: "HarnessError") -> None:
    from mcp_mimic.errors import told

    sys.stderr.write(told(error.message, error.remedy))
