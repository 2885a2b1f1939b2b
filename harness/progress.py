"""Progress on stderr, silent unless it is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def trial_progress(trials: int) -> Iterator[Callable[[], None]]:
    """A bar over so many trials; the yielded function moves it on by one."""
    console = Console(stderr=True)
    columns = (TextColumn("trials"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("trials", total=trials)
        yield lambda: bar.advance(task)
