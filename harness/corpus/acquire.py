"""Acquiring documents by script: only those whose access allows it, and never over what is here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from harness.corpus.fetch import Fetcher, Part
from harness.corpus.folder import LocalCorpus
from harness.corpus.intake import changed_place, keep_original
from harness.corpus.kinds import kind_of, named, require_whole
from harness.corpus.lock import digest, write_whole
from harness.corpus.status import address_of, is_fetchable
from harness.errors import CorpusError
from mcp_mimic.policies.corpus import Entry


@dataclass(frozen=True)
class Acquired:
    """What became of one document."""

    name: str
    outcome: Literal["acquired", "here already", "unchanged", "failed"]
    detail: str
    error: CorpusError | None = None


def acquire_documents(
    corpus: LocalCorpus,
    names: Iterable[str],
    fetcher: Fetcher,
    *,
    again: bool = False,
    tell: Callable[[Acquired], None] = lambda _done: None,
) -> list[Acquired]:
    """Fetch the named documents, or all that a script may fetch, unless they are here; `again`: compare those too.

    One that cannot be had does not keep the others back. CorpusError if a name is unknown.
    """
    chosen = [corpus.entry(name) for name in dict.fromkeys(names)] or [
        entry for entry in corpus.entries.values() if is_fetchable(entry)
    ]
    done = []
    for entry in chosen:
        try:
            found = _acquire(corpus, entry, fetcher, again=again)
        except CorpusError as error:
            found = Acquired(entry.id, "failed", "", error)
        tell(found)
        done.append(found)
    return done


def _acquire(corpus: LocalCorpus, entry: Entry, fetcher: Fetcher, *, again: bool) -> Acquired:
    if not is_fetchable(entry) or entry.url is None:
        raise _not_by_script(entry)
    record = corpus.record(entry.id)
    if record is not None and not again and corpus.read_original(entry.id) is not None:
        return Acquired(entry.id, "here already", f"sha256 {record.original.sha256[:12]}")
    part = Part(corpus.original(entry.id, entry.format).with_suffix(f".{entry.format}.part"))
    address = fetcher.fetch(entry.url, part)
    data = part.file.read_bytes()
    part.drop()
    _require_document(entry, address, data)
    told = f"{len(data):,} bytes, sha256 {digest(data)[:12]}"
    if record is not None and record.original.sha256 != digest(data):
        aside = changed_place(corpus, entry.id, entry.format)
        write_whole(aside, data)
        raise CorpusError(
            f"{entry.id} has changed at {address} since it was recorded on {record.original.at[:10]}: "
            f"the new one is {aside} ({told})",
            f"compare the two; to take it: harness corpus add {aside} --as {entry.id} --replace",
        )
    keep_original(corpus, entry.id, entry.format, data, by="script", address=address)
    return Acquired(entry.id, "acquired" if record is None else "unchanged", told)


def _not_by_script(entry: Entry) -> CorpusError:
    if entry.access == "shipped":
        return CorpusError(
            f"{entry.id} is a house policy", "it comes with the harness: there is nothing to do"
        )
    address = address_of(entry)
    how = f"download it at {address}" if address else "look for it as the manifest's notes say"
    return CorpusError(
        f"{entry.id} is not to be had by script", f"{how}, and: harness corpus add FILE --as {entry.id}"
    )


def _require_document(entry: Entry, address: str, data: bytes) -> None:
    """CorpusError if what came is not of the kind that the manifest says, or shows something else."""
    kind = kind_of(data)
    if kind != entry.format:
        came = named(kind) if kind is not None else "nothing that is a document"
        raise CorpusError(
            f"{address} gave {came} in place of {named(entry.format)}: it may be a login or a landing page",
            f"open it in a browser, download the document there, and: harness corpus add FILE --as {entry.id}",
        )
    require_whole(address, entry.format, data)
