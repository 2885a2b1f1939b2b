"""How far an import or a check is: on stderr, and only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from mcp_mimic.store.importer import Progress as ImportProgress
from mcp_mimic.store.importer import Step


@contextmanager
def import_progress() -> Iterator[ImportProgress]:
    """A bar over the bytes of the source files, once for checking them and once for building the tables."""
    with _bar() as bar:
        task = bar.add_task("", total=None)

        def show(step: Step, table: str, done: int, total: int) -> None:
            bar.update(task, description=f"{step} {table}", completed=done, total=total or None)

        yield show


@contextmanager
def check_progress(tables: int) -> Iterator[Callable[[str], None]]:
    """A bar over the tables of a store."""
    with _bar() as bar:
        task = bar.add_task("", total=tables, completed=-1)
        yield lambda table: bar.update(task, description=f"comparing {table}", advance=1)


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
