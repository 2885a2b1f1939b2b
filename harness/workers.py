"""Worker processes that run batches of trials.

Trials are bound by Python, not by waiting, so concurrency is a matter of processes. A worker that dies
takes one trial with it, never the sweep; workers die with the process that started them.
"""

import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from harness.direct import Batch, DirectRunner, bury
from harness.errors import HarnessError, RunError
from harness.job import Setting
from harness.record import MAX_TRIES
from mcp_mimic.errors import ChartServerError

_RESUME = "mend the cause and run the same command again; whole trials are kept"
_WORKERS = multiprocessing.get_context("forkserver")
_WORKERS.set_forkserver_preload(["harness.direct"])  # imports are most of a worker's start
Done = Callable[[str, str], None]
"""Told the task id and the system's tag of each trial that is whole."""


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, setting: Setting) -> None:
        self.pipe, far = _WORKERS.Pipe()
        self.process: BaseProcess = _WORKERS.Process(target=_work, args=(setting, far), daemon=True)
        self.process.start()
        far.close()
        self.batch: Batch | None = None
        self.running: str | None = None

    def give(self, batch: Batch) -> None:
        """Start a batch."""
        self.batch = batch
        with suppress(OSError):  # a worker that died idle is heard of at its pipe
            self.pipe.send(batch)

    def finish(self, tag: str) -> None:
        """One trial of the batch is whole."""
        self.batch, self.running = self.batch and _without(self.batch, tag), None


class Pool:
    """Runs batches on a bounded number of workers until all are done."""

    def __init__(self, setting: Setting, size: int) -> None:
        self._setting = setting
        self._size = size
        self._workers: list[_Worker] = []
        self._crashes: Counter[tuple[str, str]] = Counter()

    def run(self, batches: Iterable[Batch], done: Done) -> None:
        """Run every batch; RunError for what a worker could not do. Workers never outlive the call."""
        waiting = deque(batches)
        _start_server()
        try:
            self._workers = [_Worker(self._setting) for _ in range(min(self._size, len(waiting)))]
            self._feed(waiting)
            while busy := [worker for worker in self._workers if worker.batch is not None]:
                ready = wait([worker.pipe for worker in busy])
                for worker in busy:
                    if worker.pipe in ready and worker.batch is not None:
                        self._hear(worker, worker.batch, waiting, done)
                self._feed(waiting)
        finally:
            for worker in self._workers:
                worker.process.terminate()
                worker.process.join()
                worker.pipe.close()

    def _feed(self, waiting: deque[Batch]) -> None:
        for worker in self._workers:
            if worker.batch is None and waiting:
                worker.give(waiting.popleft())

    def _hear(self, worker: _Worker, batch: Batch, waiting: deque[Batch], done: Done) -> None:
        try:
            what, word = worker.pipe.recv()
        except (EOFError, ConnectionError):
            self._replace(worker, batch, waiting, done)
            return
        if what == "start":
            worker.running = word
        elif what == "done":
            done(batch.task_id, word)
            worker.finish(word)
        elif what == "failed":
            raise RunError(*word)
        else:
            worker.batch = None

    def _replace(self, worker: _Worker, batch: Batch, waiting: deque[Batch], done: Done) -> None:
        """A worker died: put a new one in its place, and try its trial again or bury it."""
        worker.process.join()
        worker.pipe.close()
        self._workers[self._workers.index(worker)] = _Worker(self._setting)
        tag = worker.running
        key = (batch.task_id, tag or "")
        self._crashes[key] += 1
        if self._crashes[key] >= MAX_TRIES:
            system = next((system for system in batch.systems if system.tag == tag), batch.systems[0])
            bury(self._setting, batch.task_id, system, _obituary(worker.process.exitcode), MAX_TRIES)
            done(batch.task_id, system.tag)
            batch = _without(batch, system.tag)
        if batch.systems:
            waiting.appendleft(batch)


def _start_server() -> None:
    """Start the process that workers are forked from, deaf to Ctrl-C: it reaches the whole group.

    The signal is held back here meanwhile, not lost: it interrupts this process as soon as that one is there.
    """
    resource_tracker.ensure_running()  # it takes care of itself, and lets the signal through at its end
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _without(batch: Batch, tag: str) -> Batch:
    return replace(batch, systems=tuple(system for system in batch.systems if system.tag != tag))


def _obituary(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the worker process was ended by {signal.Signals(-code).name}"
    return f"the worker process ended with code {code}"


def _work(setting: Setting, pipe: "Connection[Any, Any]") -> None:
    """A worker's life: batches in, news out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    logging.getLogger("fastmcp").setLevel(
        logging.ERROR
    )  # a refused call is in the audit, not on the terminal
    runner: DirectRunner | None = None
    while True:
        try:
            batch: Batch = pipe.recv()
        except EOFError:
            return
        try:
            runner = runner or DirectRunner(setting)
            runner.run(batch, lambda what, tag: pipe.send((what, tag)))
        except (HarnessError, ChartServerError) as error:
            pipe.send(("failed", (error.message, error.remedy)))
        except Exception as error:  # noqa: BLE001 - the parent raises what it is told
            pipe.send(("failed", (f"{batch.task_id}: {type(error).__name__}: {error}", _RESUME)))
        else:
            pipe.send(("idle", ""))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
