"""The chart of a server of one session: what is checked before it is opened, and how it opens beside other work."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.governance.grant import bind_to_store
from mcp_mimic.governance.readers import require_readers
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store


@dataclass(frozen=True)
class OpenedChart:
    """A grant that is bound to its store, and its slice in memory, with the store let go."""

    store: Store
    grant: Grant
    chart: Slice


def open_chart(settings: ServeSettings) -> OpenedChart:
    """Open the chart that the settings name; StoreError, GrantError and SettingsError say what cannot be used."""
    grant = settings.chosen_grant()
    store = Store.open(settings.store_folder())
    grant = bind_to_store(grant, store.manifest.fingerprint)
    require_readers(store.path, store.manifest.classification, settings.readers)
    chart = open_slice(store, grant.subject_id, grant.as_of, grant.sealed_hadm_id)
    return OpenedChart(store, grant, chart)


@contextmanager
def opening(settings: ServeSettings) -> Iterator[Callable[[], OpenedChart]]:
    """Open the chart in a thread; what is yielded waits for it and returns it, or raises what `open_chart` raised.

    The database works outside the interpreter's lock, which the imports of a starting server hold. The thread
    imports nothing, and the block is not left before it has ended; then the chart is closed.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="chart")
    opened = thread.submit(open_chart, settings)
    thread.shutdown(wait=False)
    try:
        yield opened.result
    finally:
        wait([opened])
        if opened.exception() is None:
            opened.result().chart.close()
