"""The policy documents that a run serves: those of the corpus that its tasks' grants name."""

from collections.abc import Iterable
from pathlib import Path

from harness.data import data_folder
from harness.digests import digest_bytes
from mcp_mimic.policies.corpus import Corpus, open_corpus


def corpus_folder(chosen: Path | None) -> Path:
    """The folder that was chosen, else the one that comes with the harness."""
    return chosen or data_folder("corpus")


def document_digests(corpus: Path, names: Iterable[str]) -> dict[str, str]:
    """Document → sha256 of the text that is served of it, empty for one that is not in the corpus.

    SettingsError if the corpus cannot be served.
    """
    found: Corpus = open_corpus(corpus)
    return {name: _digest(found, name) for name in sorted(set(names))}


def _digest(corpus: Corpus, name: str) -> str:
    document = corpus.document(name)
    return digest_bytes(document.prose.text.encode()) if document is not None else ""
