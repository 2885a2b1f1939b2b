"""Progress on stderr: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS = 5.0


@contextmanager
def trial_progress(trials: int, seconds: float = _SECONDS) -> Iterator[Callable[[], None]]:
    """Progress over so many trials; the yielded function moves it on by one.

    Where stderr is no terminal, at least so many seconds pass between two lines: trials in containers have about
    one each, the thousands of a direct run do not fill a log.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(trials, seconds).advance
        return
    columns = (TextColumn("trials"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("trials", total=trials)
        yield lambda: bar.advance(task)


class _Lines:
    """Lines that say how many trials are done, except for the last, which the run itself tells of."""

    def __init__(self, trials: int, seconds: float) -> None:
        self._trials = trials
        self._seconds = seconds
        self._begun = self._told = time.monotonic()
        self._done = 0

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._told >= self._seconds and self._done < self._trials:
            self._told = now
            sys.stderr.write(f"{self._done} of {self._trials} trials, {now - self._begun:.0f} s\n")
            sys.stderr.flush()
