"""PDFs become Markdown: headings, pages, words, and the files that cannot be read."""

from pathlib import Path

import pytest

from harness.corpus.pdf import look_at_pdf, read_pdf
from harness.errors import CorpusError
from tests.harness.corpus.documents import BODY, DRAWING, IMAGE, SENTENCE, Set, guideline_pdf, page_of, pdf

TEXT = (SENTENCE, BODY, False)


def markdown(folder: Path, data: bytes) -> str:
    (folder / "a.pdf").write_bytes(data)
    return read_pdf(folder / "a.pdf", "own").markdown


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_larger_lines_are_headings_and_pages_are_told(tmp_path: Path) -> None:
    text = markdown(tmp_path, guideline_pdf())
    assert headings(text) == ["## A guideline", "### 1 Scope", "### 2 Treatment"]
    assert text.index("### 1 Scope\n\n[page 1]\n\nPotassium") < text.index("\n\n[page 2]\n\nPotassium")
    assert "### 2 Treatment\n\n[page 2]\n\nPotassium" in text
    assert text.count(SENTENCE) == 6


def test_a_bold_line_before_a_paragraph_is_a_heading_and_bold_cells_are_none(tmp_path: Path) -> None:
    page = page_of(
        TEXT,
        TEXT,
        ("How it is treated", BODY, True),
        TEXT,
        TEXT,
        ("Stage", BODY, True),
        ("1.5 times", BODY, False),
    )
    assert headings(markdown(tmp_path, pdf([page]))) == ["##### How it is treated"]


def test_the_outline_names_headings_that_are_set_like_text(tmp_path: Path) -> None:
    names = [f"{number} Part of it" for number in range(1, 6)]
    page = page_of(
        *(line for name in names for line in ((name, BODY, False), TEXT, ("Note well", BODY, True), TEXT))
    )
    lines = [Set(line.text, 700 - 30 * place, line.size, line.bold) for place, line in enumerate(page)]
    text = markdown(tmp_path, pdf([[Set("Contents", 700)], lines], [(name, 2) for name in names]))
    assert headings(text) == [f"## {name}" for name in names]


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    words = "potassium is measured again within two hours of it"
    columns = [
        [Set(f"{side}{row:02} {words}", 700 - 12 * row, 9, left=left) for row in range(30)]
        for side, left in (("A", 60), ("B", 320))
    ]
    heading = Set("2 Treatment", 320, 13, left=320)
    rows = [line for pair in zip(*columns, strict=True) for line in pair]
    text = markdown(tmp_path, pdf([[*rows, heading, Set(SENTENCE[:50], 300, 9, left=320)]]))
    places = [text.index(f"{side}{row:02}") for side in "AB" for row in range(30)]
    assert places == sorted(places)
    assert text.index("## 2 Treatment") > places[-1]


def test_running_heads_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    pages = [page_of(TEXT, head=f"Kidney guideline {n}", foot=f"{n}") for n in range(1, 5)]
    pages[0] += [Set("Published once", 760)]
    text = markdown(tmp_path, pdf(pages))
    assert "Kidney guideline" not in text
    assert "Published once" in text
    assert not any(line.isdigit() for line in text.splitlines())


def test_a_raised_number_is_told_from_the_one_before_it(tmp_path: Path) -> None:
    line = [
        Set("Platelets below 150 x 10", 600),
        Set("9", 604, 6, left=72 + 111),
        Set("per litre of blood, and falling", 600, left=72 + 116),
    ]
    assert "10^9" in markdown(tmp_path, pdf([[*line, Set(SENTENCE, 500)]])).replace(" ", "")


def test_words_broken_at_a_lines_end_are_whole(tmp_path: Path) -> None:
    lines = (
        "A low-dose regimen of treat-",
        "ment is given, and a low-",
        "dose treatment is",
        "given for non-",
        "Hodgkin disease and bleed-",
        "ing, every day of it",
    )
    text = markdown(tmp_path, pdf([page_of(*((line, BODY, False) for line in lines))]))
    assert "treatment\nis given, and a low-dose\ntreatment is" in text
    assert "non-\nHodgkin" in text
    assert "bleeding," in text


def test_text_that_looks_like_a_heading_of_markdown_is_none(tmp_path: Path) -> None:
    text = markdown(tmp_path, pdf([page_of(("# 3 Not one", BODY, False), TEXT, ("~~~", BODY, False), TEXT)]))
    assert headings(text) == []
    assert "\\# 3 Not one" in text
    assert "\\~~~" in text


@pytest.mark.parametrize(
    ("data", "what", "remedy"),
    [
        (pdf([[IMAGE], [IMAGE]]), "no text can be read on its 2 pages: it is scanned images", "ocrmypdf"),
        (pdf([[DRAWING]]), "no text can be read on its 1 page: it is drawn, not", "ocrmypdf"),
        (pdf([[]]), "no text can be read on its 1 page: it is all but empty", "--as own --replace"),
        (b"%PDF-1.7\nnothing\n%%EOF\n", "cannot be read as PDF", "download it again"),
    ],
    ids=["scanned", "drawn", "empty", "broken"],
)
def test_a_pdf_that_cannot_be_read_is_told_with_the_remedy(
    tmp_path: Path, data: bytes, what: str, remedy: str
) -> None:
    with pytest.raises(CorpusError) as told:
        markdown(tmp_path, data)
    assert what in told.value.message
    assert "a.pdf" in told.value.message
    assert remedy in told.value.remedy


def test_a_look_reads_the_first_pages_and_all_if_those_are_pictures(tmp_path: Path) -> None:
    file, text = tmp_path / "a.pdf", page_of(("A guideline", 20, True), TEXT)
    file.write_bytes(pdf([text] * 12 + [[Set("On the last page stands something else", 400)]]))
    assert look_at_pdf(file, "own").pages == 13
    assert "something else" not in look_at_pdf(file, "own").markdown
    assert look_at_pdf(file, "own").markdown.startswith("## A guideline")
    file.write_bytes(pdf([[IMAGE]] * 10 + [text] * 10))
    assert look_at_pdf(file, "own") == read_pdf(file, "own")
    file.write_bytes(pdf([[IMAGE]] * 11))
    with pytest.raises(CorpusError, match="on its 11 pages: it is scanned images"):
        look_at_pdf(file, "own")
