"""Documents are read in a process of their own: a file from elsewhere may ask for endless memory or time."""

import multiprocessing
import pickle
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

_SPAWN = multiprocessing.get_context("spawn")


def read_pdf_apart(file: Path, limits: Limits = OF_PDF) -> "PdfText":
    """As `read_pdf`; CorpusError also if reading takes more than the limits."""
    from harness.corpus.pdf import read_pdf

    return _apart(read_pdf, file, str(file), limits)


def read_page_apart(place: str, data: bytes, limits: Limits = OF_PAGE) -> "PageText":
    """As `read_page_text`; CorpusError, which calls the page by its place, if it cannot be read within limits."""
    from harness.corpus.html import read_page_text

    return _apart(read_page_text, data, place, limits)


def _apart[Given, Found](work: Callable[[Given], Found], given: Given, place: str, limits: Limits) -> Found:
    receiver, sender = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_work, args=(work, given, place, limits, sender), daemon=True)
    process.start()
    sender.close()
    try:
        good, found = receiver.recv()
    except EOFError as error:
        process.join()
        what = (
            f"takes more than {limits.seconds} s of processor time to read"
            if process.exitcode == -signal.SIGXCPU
            else f"ended its reader ({process.exitcode})"
        )
        raise CorpusError(f"{place} {what}", limits.remedy) from error
    finally:
        receiver.close()
        process.terminate()
        process.join()
    if not good:
        raise CorpusError(*found)
    answer: Found = found
    return answer


def _work(
    work: Callable[[Any], Any], given: Any, place: str, limits: Limits, sender: "Connection[Any, Any]"
) -> None:
    """Send what `work` finds, or why it finds nothing."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    told: tuple[str, str]
    try:
        answer = pickle.dumps((True, work(given)))
        if len(answer) <= limits.text:
            sender.send_bytes(answer)
            return
        told = f"{place} holds more than {limits.text // 10**6} MB of text", limits.remedy
    except CorpusError as error:
        told = error.message, error.remedy
    except MemoryError:
        told = f"{place} takes more than {limits.memory // 1024**2:,} MB to read", limits.remedy
    except RecursionError:
        told = f"{place} is nested too deeply to be read", limits.remedy
    except Exception as error:  # noqa: BLE001 - whatever a parser makes of bytes from elsewhere is that document's failure
        told = f"{place} cannot be read: {type(error).__name__}: {str(error)[:200]}", limits.remedy
    sender.send_bytes(pickle.dumps((False, told)))
