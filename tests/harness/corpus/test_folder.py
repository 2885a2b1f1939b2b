"""A local corpus: documents come in, become text, are served; and what cannot be used is told."""

import json
import tomllib
from pathlib import Path

import pytest

from harness.cli import run
from harness.corpus.folder import LocalCorpus, change_corpus
from harness.corpus.index import index_corpus
from harness.corpus.intake import add_file, keep_original
from harness.corpus.status import standings
from harness.data import data_folder
from harness.errors import CorpusError
from mcp_mimic.policies.corpus import open_corpus
from tests.harness.corpus.documents import (
    BODY,
    GUIDELINE_HTML,
    IMAGE,
    LOGIN_HTML,
    SENTENCE,
    guideline_pdf,
    page_of,
    pdf,
)

PDF_ID, HTML_ID = "kdigo-aki-2012", "nice-ng148-acute-kidney-injury"
Captured = pytest.CaptureFixture[str]


def add(folder: Path, name: str, data: bytes, suffix: str = ".pdf", *, replace: bool = False) -> None:
    file = folder.parent / f"download{suffix}"
    file.write_bytes(data)
    with change_corpus(folder) as corpus:
        add_file(corpus, file, name, replace=replace)


def index(folder: Path, *names: str, again: bool = False) -> dict[str, str]:
    with change_corpus(folder) as corpus:
        return {done.name: done.outcome for done in index_corpus(corpus, names, again=again)}


def states(folder: Path) -> dict[str, str]:
    return {each.entry.id: each.state for each in standings(LocalCorpus(folder))}


def detail(folder: Path, name: str) -> str:
    return next(each.detail for each in standings(LocalCorpus(folder)) if each.entry.id == name)


def ids(folder: Path, name: str) -> list[str]:
    document = open_corpus(folder).document(name)
    assert document is not None
    return document.ids


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "corpus"


def test_a_document_comes_in_becomes_text_and_is_served_beside_the_house_policies(folder: Path) -> None:
    assert states(folder)[PDF_ID] == "to acquire"
    assert states(folder)[HTML_ID] == "to download"
    assert not folder.exists()
    add(folder, PDF_ID, guideline_pdf())
    add(folder, HTML_ID, GUIDELINE_HTML, ".html")
    assert states(folder)[PDF_ID] == "to index"
    assert open_corpus(folder).document(PDF_ID) is None
    assert index(folder) == {PDF_ID: "made", HTML_ID: "made"}
    assert states(folder)[PDF_ID] == states(folder)[HTML_ID] == "here"
    assert ids(folder, PDF_ID) == [f"policy:{PDF_ID}#{part}" for part in ("0", "a-guideline", "1", "2")]
    assert ids(folder, HTML_ID)[-2:] == [f"policy:{HTML_ID}#1", f"policy:{HTML_ID}#2"]
    shipped, local = open_corpus(data_folder("corpus")), open_corpus(folder)
    assert set(shipped.entries) == set(local.entries)
    for name, entry in shipped.entries.items():
        if entry.access == "shipped":
            ours, theirs = shipped.document(name), local.document(name)
            assert ours is not None
            assert theirs is not None
            assert ours.prose.text == theirs.prose.text


def test_the_lock_has_checksum_sections_and_the_page_that_each_begins_on(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    index(folder)
    record = json.loads((folder / "lock.json").read_bytes())["documents"][PDF_ID]
    assert record["original"]["by"] == "person"
    assert record["text"]["pages"] == 2
    assert [(part["id"], part["page"]) for part in record["text"]["sections"]] == [
        ("0", None), ("a-guideline", 1), ("1", 1), ("2", 2),
    ]  # fmt: skip


def test_indexing_again_changes_nothing_and_ids_stay(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    index(folder)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    names = ids(folder, PDF_ID)
    assert index(folder) == {PDF_ID: "unchanged"}
    assert before == {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    assert index(folder, again=True) == {PDF_ID: "made"}
    assert ids(folder, PDF_ID) == names
    add(folder, HTML_ID, GUIDELINE_HTML, ".html")
    assert index(folder) == {PDF_ID: "unchanged", HTML_ID: "made"}


def test_another_edition_takes_the_place_only_if_it_is_to(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    index(folder)
    add(folder, PDF_ID, guideline_pdf())
    with pytest.raises(CorpusError, match="its checksum differs") as told:
        add(folder, PDF_ID, guideline_pdf("1 Purpose"))
    assert "--replace" in told.value.remedy
    assert states(folder)[PDF_ID] == "here"
    add(folder, PDF_ID, guideline_pdf("3 Purpose"), replace=True)
    with change_corpus(folder) as corpus:
        (done,) = index_corpus(corpus)
    assert done.remarks == ("sections that were there before and are not now: 1",)
    add(folder, PDF_ID, GUIDELINE_HTML, ".html", replace=True)
    assert [file.name for file in (folder / "originals").iterdir()] == [f"{PDF_ID}.html"]


@pytest.mark.parametrize(
    ("name", "data", "suffix", "what"),
    [
        ("no-such-id", guideline_pdf(), ".pdf", "no document has the id"),
        ("hyperkalaemia-severe", guideline_pdf(), ".pdf", "is a house policy"),
        (PDF_ID, GUIDELINE_HTML, ".pdf", "is named as a PDF and holds a web page"),
        (PDF_ID, LOGIN_HTML, ".html", "it asks for a login"),
        (PDF_ID, guideline_pdf()[:-200], ".pdf", "breaks off"),
        (PDF_ID, b"PK\x03\x04\x00", ".pdf", "neither PDF nor HTML nor Markdown"),
        (PDF_ID, b"", ".pdf", "is empty"),
        (PDF_ID, guideline_pdf(), ".doc", "its name ends in none of"),
    ],
    ids=["id", "house", "type", "login", "cut", "other", "empty", "suffix"],
)
def test_what_is_no_document_is_not_taken_in(
    folder: Path, name: str, data: bytes, suffix: str, what: str
) -> None:
    with pytest.raises(CorpusError, match=what) as told:
        add(folder, name, data, suffix)
    assert told.value.remedy
    assert not list((folder / "originals").iterdir())
    assert open_corpus(folder)


def test_an_original_that_changed_or_went_is_told(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    original = folder / "originals" / f"{PDF_ID}.pdf"
    original.write_bytes(guideline_pdf("9 Other"))
    assert states(folder)[PDF_ID] == "altered"
    assert f"harness corpus add {original} --as {PDF_ID} --replace" in detail(folder, PDF_ID)
    assert index(folder) == {PDF_ID: "failed"}
    original.unlink()
    assert states(folder)[PDF_ID] == "altered"
    assert f"is gone: put it back, or download it again: harness corpus add FILE --as {PDF_ID}" in detail(
        folder, PDF_ID
    )
    assert index(folder) == {PDF_ID: "failed"}


def test_a_text_that_was_changed_by_hand_is_kept_until_it_is_to_be_made_anew(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    index(folder)
    text = folder / "text" / f"{PDF_ID}.md"
    text.write_text("## 1 Mended\n")
    assert (states(folder)[PDF_ID], index(folder)) == ("altered", {PDF_ID: "failed"})
    assert f"harness corpus index {PDF_ID} --again; or" in detail(folder, PDF_ID)
    assert text.read_text() == "## 1 Mended\n"
    assert index(folder, again=True) == {PDF_ID: "made"}
    assert SENTENCE in text.read_text()


def test_a_text_that_was_changed_by_hand_can_be_the_document_itself(folder: Path, capsys: Captured) -> None:
    add(folder, PDF_ID, guideline_pdf())
    index(folder)
    text = folder / "text" / f"{PDF_ID}.md"
    text.write_text("# All\n\nMended\n")
    assert run(["corpus", "add", str(text), "--as", PDF_ID, "--replace", "--corpus", str(folder)]) == 0
    assert run(["corpus", "index", "--corpus", str(folder)]) == 0
    assert f"{PDF_ID}\tmade\t1 section\n" in capsys.readouterr().out
    assert detail(folder, PDF_ID).startswith("1 section, sha256 ")
    assert text.read_text() == "# All\n\nMended\n"


def test_an_unknown_id_is_told_with_whole_sentences_and_the_manifest_is_made(
    folder: Path, capsys: Captured
) -> None:
    assert run(["corpus", "index", "--corpus", str(folder)]) == 0
    assert (folder / "manifest.toml").is_file()
    capsys.readouterr()
    note = folder.parent / "note.md"
    note.write_text("# Note\n\ntext\n")
    for name, hint in (
        ("zzz", "lists the ids. A document"),
        ("kdigo-aki", f"did you mean {PDF_ID}? A document"),
    ):
        assert run(["corpus", "add", str(note), "--as", name, "--corpus", str(folder)]) == 2
        assert hint in capsys.readouterr().err


def test_what_was_added_is_shown_beside_what_it_stands_for(folder: Path, capsys: Captured) -> None:
    soup = folder.parent / "soup.pdf"
    soup.write_bytes(pdf([page_of(("Tomato soup", 20, True), (SENTENCE, BODY, False))]))
    page, note = folder.parent / "page.html", folder.parent / "note.md"
    page.write_bytes(GUIDELINE_HTML)
    note.write_bytes("\ufeff\n# A note\x1b[2J of ours\n\ntext\n".encode())
    for file, name, said in (
        (soup, PDF_ID, f"it calls itself: Tomato soup, 1 page, {soup.stat().st_size:,} bytes"),
        (page, HTML_ID, "it calls itself: Hyperkalaemia, "),
        (note, "ckd-epi-2021", "it calls itself: A note [2J of ours, "),
    ):
        assert run(["corpus", "add", str(file), "--as", name, "--corpus", str(folder)]) == 0
        told = capsys.readouterr().err
        assert said in told
        entry = LocalCorpus(folder).entry(name)
        assert f"it stands for: {entry.title}, {entry.publisher}, {entry.year}\n" in told
        assert "nobody checks that it is this document" in told
        assert "\x1b" not in told


def test_a_pdf_without_text_is_not_taken_in(folder: Path, capsys: Captured) -> None:
    scan = folder.parent / "a scan.pdf"
    scan.write_bytes(pdf([[IMAGE]]))
    assert run(["corpus", "add", str(scan), "--as", PDF_ID, "--corpus", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "scanned images" in told
    assert f"`ocrmypdf --force-ocr '{scan}' with-text.pdf`" in told
    assert f"harness corpus add with-text.pdf --as {PDF_ID} --replace" in told
    assert states(folder)[PDF_ID] == "to acquire"


def test_a_pdf_without_text_does_not_keep_the_others_back(folder: Path, capsys: Captured) -> None:
    with change_corpus(folder) as corpus:
        keep_original(corpus, PDF_ID, "pdf", pdf([[IMAGE]]), by="script")
    add(folder, HTML_ID, GUIDELINE_HTML, ".html")
    assert run(["corpus", "index", "--corpus", str(folder)]) == 1
    told = capsys.readouterr()
    assert f"{PDF_ID}\tfailed" in told.out
    assert f"{HTML_ID}\tmade" in told.out
    assert "scanned images" in told.err
    assert f"harness corpus add with-text.pdf --as {PDF_ID} --replace" in told.err


def test_a_document_of_ones_own_is_known_once_the_local_manifest_names_it(folder: Path) -> None:
    add(folder, PDF_ID, guideline_pdf())
    manifest = folder / "manifest.toml"
    own = (
        '\n[[document]]\nid = "ward-rule"\ntitle = "A rule \\"of\\" ours"\npublisher = "Us"\naccess = "browser"\n'
        'licence = "ours"\nformat = "md"\nlanguage = "en"\n'
    )
    manifest.write_text(manifest.read_text() + own)
    add(folder, "ward-rule", b"# Rule\r\n\r\n## 1 First\r\n\r\nWash hands.\r\n", ".md")
    assert index(folder, "ward-rule") == {"ward-rule": "made"}
    assert ids(folder, "ward-rule") == ["policy:ward-rule#0", "policy:ward-rule#1"]
    entries = {entry["id"]: entry for entry in tomllib.loads(manifest.read_text())["document"]}
    assert entries["ward-rule"]["title"] == 'A rule "of" ours'
    assert entries["ward-rule"]["path"] == "text/ward-rule.md"


def test_folders_that_are_not_ones_to_change_are_left_alone(tmp_path: Path, capsys: Captured) -> None:
    own = data_folder("corpus")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "manifest.toml").write_text("[manifest]\nschema = 1\n")
    (tmp_path / "file").write_text("")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "lock.json").write_text("{")
    for folder, what in (
        (own, "comes with the harness"),
        (foreign, "did not write"),
        (tmp_path / "file", "is no folder"),
        (broken, "lock.json is not JSON"),
    ):
        for command in ("status", "index"):
            assert run(["corpus", command, "--corpus", str(folder)]) == 2
            assert what in capsys.readouterr().err
    assert (foreign / "manifest.toml").read_text() == "[manifest]\nschema = 1\n"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        (PDF_ID, "../victim.txt"),
        (PDF_ID, f"originals/{HTML_ID}.pdf"),
        ("../victim", "originals/../victim.pdf"),
    ],
)
def test_a_lock_from_elsewhere_names_no_file_but_the_documents_own(
    folder: Path, name: str, file: str, capsys: Captured
) -> None:
    add(folder, PDF_ID, guideline_pdf())
    victim = folder / file
    victim.write_text("mine")
    lock = json.loads((folder / "lock.json").read_bytes())
    record = lock["documents"].pop(PDF_ID)
    lock["documents"][name] = {**record, "original": {**record["original"], "file": file}}
    (folder / "lock.json").write_text(json.dumps(lock))
    download = folder.parent / "new.html"
    download.write_bytes(GUIDELINE_HTML)
    arguments = ["add", str(download), "--as", PDF_ID, "--replace", "--corpus", str(folder)]
    assert run(["corpus", *arguments]) == 2
    assert "which is not its place" in capsys.readouterr().err
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    "link", ["house", "originals", "text", "originals/x.pdf", ".lock", ".lock.json.draft"]
)
def test_nothing_is_written_through_a_link(folder: Path, link: str, capsys: Captured) -> None:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (folder / "originals").mkdir(parents=True)
    if link == "originals":
        (folder / link).rmdir()
    (folder / link).symlink_to(elsewhere)
    download = folder.parent / "new.html"
    download.write_bytes(GUIDELINE_HTML)
    assert run(["corpus", "add", str(download), "--as", HTML_ID, "--corpus", str(folder)]) == 2
    assert "is a link" in capsys.readouterr().err
    assert not list(elsewhere.iterdir())


def test_one_process_at_a_time_changes_a_folder(folder: Path) -> None:
    with change_corpus(folder), pytest.raises(CorpusError, match="by another process"), change_corpus(folder):
        pass


def test_the_status_is_a_table_for_programs_and_people(folder: Path, capsys: Captured) -> None:
    file = folder.parent / "a.pdf"
    file.write_bytes(guideline_pdf())
    assert run(["corpus", "add", str(file), "--as", PDF_ID, "--corpus", str(folder)]) == 0
    assert run(["corpus", "index", "--corpus", str(folder)]) == 0
    capsys.readouterr()
    assert run(["corpus", "status", "--corpus", str(folder), "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["documents"]}
    assert len(rows) == len(open_corpus(data_folder("corpus")).entries)
    assert (rows[PDF_ID]["state"], rows[PDF_ID]["sections"], rows[PDF_ID]["pages"]) == ("here", 4, 2)
    assert rows["ckd-epi-2021"]["state"] == "to download"
    assert rows["ckd-epi-2021"]["address"] == "https://doi.org/10.1056/NEJMoa2102953"
    assert rows["ckd-epi-2021"]["put"] == "originals/ckd-epi-2021.pdf"
    assert rows["hyperkalaemia-severe"]["state"] == "shipped"
    (folder / "originals" / "ckd-epi-2021.pdf").write_bytes(guideline_pdf())
    assert run(["corpus", "status", "--corpus", str(folder)]) == 0
    told = capsys.readouterr()
    lines = {line.split("\t")[0]: line.split("\t") for line in told.out.splitlines()}
    assert lines[PDF_ID][1] == "here"
    assert "unrecorded: harness corpus add" in lines["ckd-epi-2021"][2]
    assert lines[PDF_ID][2].startswith("4 sections, 2 pages, sha256 ")
    assert "1 here: " in told.err
    assert run(["corpus", "index", "ckd-epi-2021", "--corpus", str(folder)]) == 2
    assert "ckd-epi-2021 is not here" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "acquire", "add", "index"])
def test_every_command_has_an_example_in_its_help(command: str, capsys: Captured) -> None:
    assert run(["corpus", command, "--help"]) == 0
    assert f"Example: harness corpus {command}" in capsys.readouterr().out
