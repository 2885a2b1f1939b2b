"""Interrupting searches whose time is over, by one thread that looks at all of them and rests in between."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK_SECONDS = 0.1
"""How late an interruption may come."""

_IDLE_TICKS = 100


class Watch:
    """Calls what it was given once its seconds are over, again and again until the search has ended.

    Again, since an interruption that comes between two statements is lost. A thread for each search would cost
    more than most searches take; this one ends when nothing was watched for ten seconds, and another starts
    with the next search.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[object, tuple[float, Callable[[], None]]] = {}
        self._looking = False
        self._idle = 0

    @contextmanager
    def over(self, seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` from when the block has taken `seconds` until it is left; never once it is left."""
        key = object()
        with self._lock:
            self._watched[key] = time.monotonic() + seconds, interrupt
            self._idle = 0
            if not self._looking:
                self._looking = True
                threading.Thread(target=self._look, name="watch", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                del self._watched[key]

    def _look(self) -> None:
        while self._look_once():
            time.sleep(TICK_SECONDS)

    def _look_once(self) -> bool:
        """Interrupt what is due; whether to look again."""
        now = time.monotonic()
        with self._lock:
            for deadline, interrupt in self._watched.values():
                if deadline <= now:
                    interrupt()
            self._idle = 0 if self._watched else self._idle + 1
            self._looking = self._idle < _IDLE_TICKS
            return self._looking


WATCH = Watch()
"""The watch of this process."""
