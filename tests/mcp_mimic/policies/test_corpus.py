"""Corpora: manifests, documents, and the ids of their sections."""

import tomllib
from pathlib import Path

import pytest

from harness.data import data_folder
from mcp_mimic.contract import parse_eid
from mcp_mimic.errors import SettingsError
from mcp_mimic.policies.corpus import open_corpus
from mcp_mimic.policies.markdown import policy_sections
from mcp_mimic.text.passages import LONGEST

ENTRY = """
[[document]]
id = "{id}"
title = "A policy"
publisher = "House"
access = "shipped"
licence = "MIT"
format = "{format}"
language = "en"
{path}
"""


def write_corpus(folder: Path, *documents: tuple[str, str | None], form: str = "md") -> Path:
    """A corpus of documents: id and text, None for one that is not here."""
    entries = "".join(
        ENTRY.format(id=name, format=form, path="" if text is None else f'path = "{name}.md"')
        for name, text in documents
    )
    folder.mkdir(exist_ok=True)
    (folder / "manifest.toml").write_text(f"[manifest]\nschema = 1\n{entries}")
    for name, text in documents:
        if text is not None:
            (folder / f"{name}.md").write_text(text)
    return folder


def ids(folder: Path, text: str) -> list[str]:
    document = open_corpus(write_corpus(folder, ("p", text))).document("p")
    assert document is not None
    return document.ids


def test_a_section_has_the_number_of_its_heading_else_its_title(tmp_path: Path) -> None:
    text = (
        "# Title\n\nIntro.\n\n## 1 Scope\n\nA.\n\n### 1.2. Who & what\n\nB.\n\n## Further Reading ##\n\nC.\n"
    )
    assert ids(tmp_path, text) == ["policy:p#0", "policy:p#1", "policy:p#1.2", "policy:p#further-reading"]


def test_an_id_that_occurs_again_gets_a_number_and_stays_distinct(tmp_path: Path) -> None:
    text = "## Notes\nA\n## Notes\nB\n## Notes-2\nC\n## 3 X\nD\n## 3 Y\nE\n## ?\nF\n"
    found = ids(tmp_path, text)
    assert found == [
        "policy:p#notes", "policy:p#notes-2", "policy:p#notes-2-2", "policy:p#3", "policy:p#3-2", "policy:p#section"
    ]  # fmt: skip


def test_headings_in_fenced_code_are_text(tmp_path: Path) -> None:
    assert ids(tmp_path, "## 1 A\n```\n## 2 not\n```\n~~~\n# 3 not\n~~~\n## 4 B\n") == [
        "policy:p#1",
        "policy:p#4",
    ]


def test_a_long_section_has_parts_with_ids_of_their_own(tmp_path: Path) -> None:
    corpus = open_corpus(
        write_corpus(tmp_path, ("p", "## 1 A\n\n" + "Words of it. " * 200 + "\n\n## 2 B\nend\n"))
    )
    document = corpus.document("p")
    assert document is not None
    assert document.ids == ["policy:p#1", "policy:p#1.p2", "policy:p#1.p3", "policy:p#1.p4", "policy:p#2"]
    assert all(passage.end - passage.start <= LONGEST for passage in document.prose.passages)


def test_every_document_of_the_house_is_here_and_every_section_can_be_cited() -> None:
    folder = data_folder("corpus")
    corpus = open_corpus(folder)
    manifest = tomllib.loads((folder / "manifest.toml").read_text())
    names = tuple(entry["id"] for entry in manifest["document"] if "path" in entry)
    documents = list(corpus.documents(names))
    assert [document.entry.id for document in documents] == sorted(names)
    for document in documents:
        assert len(set(document.ids)) == len(document.ids) > 3
        assert all(parse_eid(eid) for eid in document.ids)
        assert len(policy_sections(document.prose.text)) == len(document.sections)


def test_a_document_whose_text_is_not_here_is_known_and_absent(tmp_path: Path) -> None:
    corpus = open_corpus(write_corpus(tmp_path, ("here", "## 1 A\n"), ("away", None), form="pdf"))
    assert set(corpus.entries) == {"here", "away"}
    assert corpus.document("away") is None
    assert [document.entry.id for document in corpus.documents(("away", "here", "other"))] == ["here"]


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ("not toml [", "is not TOML"),
        ("[manifest]\nschema = 2\n", "manifest, schema: 2 is not allowed"),
        ("[manifest]\nschema = 1\nextra = 1\n", "manifest, extra: unknown key"),
        (
            "[manifest]\nschema = 1\n" + ENTRY.format(id="a b", format="md", path=""),
            "document 'a b', id: 'a b' has not the form",
        ),
        (
            "[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="doc", path=""),
            "document 'a', format: 'doc' is not allowed",
        ),
        ("[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="md", path='path = "../x.md"'), "inside"),
        (
            "[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="md", path='path = "/etc/passwd"'),
            "inside",
        ),
        (
            "[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="md", path='path = "none.md"'),
            "cannot be read",
        ),
        ("[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="md", path='path = ""'), "inside"),
        ("[manifest]\nschema = 1\n" + ENTRY.format(id="a", format="md", path='path = "a\\u0000b"'), "inside"),
        ("[manifest]\nschema = 1\n" + 2 * ENTRY.format(id="a", format="md", path=""), "twice"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_in_words(tmp_path: Path, manifest: str, what: str) -> None:
    (tmp_path / "manifest.toml").write_text(manifest)
    with pytest.raises(SettingsError) as refused:
        open_corpus(tmp_path)
    assert what in refused.value.message


def test_a_link_a_folder_and_bytes_are_no_document(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for number, make in enumerate(
        (
            lambda path: path.symlink_to(tmp_path / "secret"),
            lambda path: path.mkdir(),
            lambda path: path.write_bytes(b"\xff\xfe"),
        )
    ):
        folder = write_corpus(tmp_path / str(number), ("p", "x"))
        (folder / "p.md").unlink()
        make(folder / "p.md")
        with pytest.raises(SettingsError):
            open_corpus(folder)


def test_no_folder_on_the_way_to_a_document_is_a_link(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "corpus"
    (elsewhere / "in").mkdir(parents=True)
    (elsewhere / "in" / "key.md").write_text("## 1 Key\n\nsecret\n")
    folder.mkdir()
    (folder / "manifest.toml").write_text(
        "[manifest]\nschema = 1\n" + ENTRY.format(id="key", format="md", path='path = "house/in/key.md"')
    )
    (folder / "house").symlink_to(elsewhere)
    with pytest.raises(SettingsError, match="or it is a link"):
        open_corpus(folder)
    (folder / "house").unlink()
    (folder / "house").mkdir()
    (folder / "house" / "in").symlink_to(elsewhere / "in")
    with pytest.raises(SettingsError, match="or it is a link"):
        open_corpus(folder)
    (folder / "house" / "in").unlink()
    (elsewhere / "in").rename(folder / "house" / "in")
    (tmp_path / "named").symlink_to(folder)
    assert open_corpus(tmp_path / "named").document("key")


def test_a_folder_without_a_manifest_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        open_corpus(tmp_path)
    assert "--corpus" in refused.value.remedy
