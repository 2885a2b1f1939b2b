"""PDFs are read in a process of their own, with an end to what it may take."""

from pathlib import Path

import pytest

from harness.corpus.apart import read_pdf_apart
from harness.corpus.pdf import read_pdf
from harness.errors import CorpusError
from tests.harness.corpus.documents import guideline_pdf, pdf


def test_a_pdf_reads_the_same_apart_and_its_errors_come_back(tmp_path: Path) -> None:
    good, empty = tmp_path / "good.pdf", tmp_path / "empty.pdf"
    good.write_bytes(guideline_pdf())
    empty.write_bytes(pdf([[]]))
    assert read_pdf_apart(good) == read_pdf(good)
    with pytest.raises(CorpusError, match="scanned images") as told:
        read_pdf_apart(empty)
    assert "ocrmypdf" in told.value.remedy


@pytest.mark.slow
def test_a_pdf_that_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "bomb.pdf"
    file.write_bytes(bomb(600_000_000))
    with pytest.raises(CorpusError, match=r"takes more than 512 MB|ended its reader"):
        read_pdf_apart(file, memory=512 * 1024**2)


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
