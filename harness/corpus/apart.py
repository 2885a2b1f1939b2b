"""Documents are read in a process of their own: a file from elsewhere may ask for endless memory or time.

What comes back is JSON of a known shape: nothing that a reader answers is run here. It is a process with limits and
no sandbox: it may do what its user may.
"""

import json
import multiprocessing
import resource
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import CorpusError

if TYPE_CHECKING:
    from harness.corpus.html import PageText
    from harness.corpus.pdf import PdfText


@dataclass(frozen=True)
class Limits:
    """What reading one document may take, and what a person can do about one that takes more."""

    memory: int
    """Bytes of address space."""
    seconds: int
    """Of processor time."""
    remedy: str
    text: int = 64_000_000
    """Bytes of what was read."""


OF_PDF = Limits(4 * 1024**3, 1800, "print it to a new PDF, or take a part of it, and add that with --replace")
OF_PAGE = Limits(2 * 1024**3, 60, "print the page to a PDF in a browser, and add that")

_FOUND, _REFUSED = b"+", b"-"
_BESIDE = 100_000
"""Bytes that an answer may have beside the text."""
_SPAWN = multiprocessing.get_context("spawn")


def look_at_pdf_apart(file: Path, name: str, limits: Limits = OF_PDF) -> "PdfText":
    """As `look_at_pdf`; CorpusError also if looking takes more than the limits."""
    from harness.corpus.pdf import PdfText, look_at_pdf

    return read_apart(partial(look_at_pdf, file, name), PdfText, str(file), limits)


def read_pdf_apart(file: Path, name: str, limits: Limits = OF_PDF) -> "PdfText":
    """As `read_pdf`; CorpusError also if reading takes more than the limits."""
    from harness.corpus.pdf import PdfText, read_pdf

    return read_apart(partial(read_pdf, file, name), PdfText, str(file), limits)


def read_page_apart(place: str, data: bytes, limits: Limits = OF_PAGE) -> "PageText":
    """As `read_page_text`; CorpusError, which calls the page by its place, if it cannot be read within limits."""
    from harness.corpus.html import PageText, read_page_text

    return read_apart(partial(read_page_text, data), PageText, place, limits)


def read_apart[Found](work: Callable[[], Found], shape: type[Found], place: str, limits: Limits) -> Found:
    """What `work`, which is pickled and sent, finds in a process of its own: an instance of `shape`.

    CorpusError, which calls the document by its place, if it raises that, fails, or takes more than the limits.
    """
    receiver, sender = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_work, args=(work, place, limits, sender), daemon=True)
    process.start()
    sender.close()
    try:
        answer = receiver.recv_bytes(limits.text + _BESIDE)
        if answer[:1] == _FOUND:
            return TypeAdapter(shape).validate_json(answer[1:], strict=True)
        refusal = TypeAdapter(_Refusal).validate_json(answer[1:], strict=True)
    except EOFError as error:
        process.join()
        what = (
            f"takes more than {limits.seconds} s of processor time to read"
            if process.exitcode == -signal.SIGXCPU
            else f"ended its reader ({process.exitcode})"
        )
        raise CorpusError(f"{place} {what}", limits.remedy) from error
    except (OSError, ValidationError) as error:
        raise CorpusError(
            f"{place} made its reader answer with something that is no text", limits.remedy
        ) from error
    finally:
        receiver.close()
        process.kill()
        process.join()
    raise CorpusError(refusal.message, refusal.remedy)


@dataclass(frozen=True)
class _Refusal:
    """Why nothing was found."""

    message: str
    remedy: str


def _work(work: Callable[[], Any], place: str, limits: Limits, sender: "Connection[Any, Any]") -> None:
    """Send what `work` finds, or why it finds nothing."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _as_json(work())
        if len(answer) <= limits.text:
            sender.send_bytes(_FOUND + answer)
            return
        refusal = _Refusal(f"{place} holds more than {limits.text // 10**6} MB of text", limits.remedy)
    except CorpusError as error:
        refusal = _Refusal(error.message, error.remedy)
    except MemoryError:
        refusal = _Refusal(f"{place} takes more than {limits.memory // 1024**2:,} MB to read", limits.remedy)
    except RecursionError:
        refusal = _Refusal(f"{place} is nested too deeply to be read", limits.remedy)
    except Exception as error:  # noqa: BLE001 - whatever a parser makes of bytes from elsewhere is that document's failure
        what = f"{type(error).__name__}: {str(error)[:200]}"
        refusal = _Refusal(f"{place} cannot be read: {what}", limits.remedy)
    sender.send_bytes(_REFUSED + _as_json(refusal))


def _as_json(value: Any) -> bytes:
    """A dataclass of plain values; half a pair of surrogates, which is no character, becomes a question mark."""
    return json.dumps(asdict(value), ensure_ascii=False).encode(errors="replace")
