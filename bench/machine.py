"""The machine that is measured on: disk, processes that are always ended, the memory they take."""

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ShortageError(Exception):
    """Not enough of something, said before the work begins."""


def require_disk(folder: Path, needed: int) -> None:
    """ShortageError unless the disk of `folder` has `needed` bytes free."""
    there = folder
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < needed:
        raise ShortageError(
            f"{folder}: {needed / 1e9:.1f} GB of disk are needed and {free / 1e9:.1f} GB are free"
        )


def described() -> dict[str, Any]:
    """What a figure depends on beside the code."""
    with contextlib.suppress(OSError):
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
        model = models[0].partition(":")[2].strip() if models else platform.processor()
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    pipes: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """The process of `command` while the block runs; then it is ended, by force if it must be."""
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(log.open("wb")) if log else subprocess.DEVNULL
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that we started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def resident_mb(pid: int) -> float:
    """Resident memory of a process, in MB of a million bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(pid)


@dataclass(frozen=True)
class Ran:
    """A command that ended well: how long it took, and the most memory that it had resident."""

    seconds: float
    peak_mb: float


def ran(command: Sequence[str], *, environment: Mapping[str, str] | None = None, log: Path) -> Ran:
    """Run a command to its end; RuntimeError with the end of its log if it failed."""
    started = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed: {log.read_text(errors='replace')[-1500:]}")
    return Ran(time.perf_counter() - started, usage.ru_maxrss * 1024 / 1e6)
