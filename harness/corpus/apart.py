"""PDFs are read in a process of their own: a file from elsewhere may ask for endless memory or time."""

import multiprocessing
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.corpus.pdf import PdfText, read_pdf
from harness.errors import CorpusError

MEMORY, SECONDS = 4 * 1024**3, 1800
"""Bytes of address space, and seconds of processor time, that one PDF may take."""

_SPAWN = multiprocessing.get_context("spawn")
_REMEDY = "print it to a new PDF, or take a part of it, and add that with --replace"


def read_pdf_apart(file: Path, memory: int = MEMORY, seconds: int = SECONDS) -> PdfText:
    """As `read_pdf`; CorpusError also if reading takes too much memory or processor time."""
    receiver, sender = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_read, args=(file, memory, seconds, sender), daemon=True)
    process.start()
    sender.close()
    try:
        found: PdfText | tuple[str, str] = receiver.recv()
    except EOFError as error:
        process.join()
        what = (
            "takes too long"
            if process.exitcode == -signal.SIGXCPU
            else f"ended its reader ({process.exitcode})"
        )
        raise CorpusError(f"{file} {what}", _REMEDY) from error
    finally:
        receiver.close()
        process.terminate()
        process.join()
    if isinstance(found, PdfText):
        return found
    raise CorpusError(*found)


def _read(file: Path, memory: int, seconds: int, sender: "Connection[Any, Any]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        sender.send(read_pdf(file))
    except CorpusError as error:
        sender.send((error.message, error.remedy))
    except MemoryError:
        sender.send((f"{file} takes more than {memory // 1024**2:,} MB to read", _REMEDY))
    except RecursionError:
        sender.send((f"{file} is nested too deeply to be read", _REMEDY))
