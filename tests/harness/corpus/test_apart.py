"""Documents are read in a process of their own, with an end to what it may take."""

import gc
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from harness.corpus.apart import OF_PAGE, OF_PDF, Limits, read_apart, read_page_apart, read_pdf_apart
from harness.corpus.html import PageText, read_page_text
from harness.corpus.pdf import read_pdf
from harness.errors import CorpusError
from tests.harness.corpus.documents import GUIDELINE_HTML, IMAGE, guideline_pdf, pdf, web_page


def test_a_pdf_reads_the_same_apart_and_its_errors_come_back(tmp_path: Path) -> None:
    good, empty = tmp_path / "good.pdf", tmp_path / "empty.pdf"
    good.write_bytes(guideline_pdf())
    empty.write_bytes(pdf([[IMAGE]]))
    assert read_pdf_apart(good, "own") == read_pdf(good, "own")
    with pytest.raises(CorpusError, match="scanned images") as told:
        read_pdf_apart(empty, "own")
    assert "ocrmypdf" in told.value.remedy


def test_a_page_reads_the_same_apart() -> None:
    assert read_page_apart("page.html", GUIDELINE_HTML) == read_page_text(GUIDELINE_HTML)


@pytest.mark.parametrize(
    ("body", "limits", "what"),
    [
        ("<div>" * 900 + "text", OF_PAGE, "page.html is nested too deeply to be read"),
        (
            "<p><b>a</b>" * 500_000,
            replace(OF_PAGE, seconds=1),
            "more than 1 s of processor time",
        ),
        ("text " * 100, replace(OF_PAGE, text=200), "holds more than 0 MB of text"),
        (
            "text " * 20_000_000,
            replace(OF_PAGE, memory=400 * 1024**2),
            r"takes more than 400 MB|ended its reader|cannot be read",
        ),
    ],
    ids=["depth", "time", "text", "memory"],
)
def test_a_page_that_asks_too_much_is_told_in_a_line(body: str, limits: Limits, what: str) -> None:
    with pytest.raises(CorpusError, match=what) as told:
        read_page_apart("page.html", web_page(body), limits)
    assert "\n" not in told.value.message
    assert "PDF" in told.value.remedy


@dataclass(frozen=True)
class Answer:
    """What a reader that a file has taken over may say in place of a text."""

    markdown: Any
    title: str = "A"
    obstacle: str | None = None
    more: str = ""


class Burglar:
    """Once unpickled, it has made a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.file,)


def answer_pickled(file: Path) -> None:
    """Write pickled bytes to the pipe over which the answer goes, as a reader that was taken over could."""
    for pipe in [each for each in gc.get_objects() if isinstance(each, Connection) and each.writable]:
        pipe.send_bytes(pickle.dumps((True, Burglar(file))))


def test_nothing_that_a_reader_answers_is_unpickled(tmp_path: Path) -> None:
    file = tmp_path / "was-here"
    pickle.loads(pickle.dumps(Burglar(file)))
    file.unlink()
    with pytest.raises(CorpusError, match="answer with something that is no text"):
        read_apart(partial(answer_pickled, file), PageText, "page.html", OF_PAGE)
    assert not file.exists()


@pytest.mark.parametrize("answer", [Answer(7), Answer(None), Answer("text", more="x" * 200_000)])
def test_an_answer_of_another_shape_or_length_is_told(answer: Answer) -> None:
    limits = replace(OF_PAGE, text=150_000)
    with pytest.raises(CorpusError, match=r"page\.html (made its reader answer|holds more than)") as told:
        read_apart(partial(replace, answer), PageText, "page.html", limits)
    assert told.value.remedy == limits.remedy


def test_half_a_character_in_a_text_is_a_question_mark() -> None:
    half = Answer("a \ud800 b")
    assert read_apart(partial(replace, half), PageText, "page.html", OF_PAGE).markdown == "a ? b"


@pytest.mark.slow
def test_a_pdf_that_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "bomb.pdf"
    file.write_bytes(bomb(600_000_000))
    with pytest.raises(CorpusError, match=r"takes more than 512 MB|ended its reader"):
        read_pdf_apart(file, "own", replace(OF_PDF, memory=512 * 1024**2))


def bomb(size: int) -> bytes:
    """A small PDF whose one page unpacks to so many bytes."""
    import zlib

    packer = zlib.compressobj(9)
    block = b" " * 1_000_000
    packed = b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()
    plain = pdf([[]])
    old = b"<< /Length 0 >>\nstream\n\nendstream"
    assert old in plain
    new = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    return plain.replace(old, new)
