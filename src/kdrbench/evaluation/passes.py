"""One pass over many parts, on as many threads as given, with a word now and then on how far it is.

BLAS gets one thread in the meantime: products of this size gain little from more, and threads of BLAS and of ours would
wait for each other. A fit holds it for its whole length by :func:`one_blas_thread`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from kdrbench.problems import PassStoppedError

# Called with the share of a pass that is done; returns whether to go on.
Report = Callable[[float], bool]
_SECONDS_BETWEEN_WORDS = 0.05
Part = TypeVar("Part")
Sum = TypeVar("Sum")


def run_pass(
    parts: Sequence[Part],
    threads: int,
    new: Callable[[], Sum],
    visit: Callable[[Sum, Part], None],
    report: Report | None = None,
) -> list[Sum]:
    """Return what ``visit`` has added to one ``new`` sum a thread, the parts being dealt in turn.

    Raises ``PassStoppedError`` once ``report`` has answered no.
    """
    progress = _Progress(len(parts), report)
    # Setting the limit takes longer than a small part.
    with one_blas_thread() if len(parts) > 1 else nullcontext():
        if min(threads, len(parts)) > 1:
            return _shared(parts, min(threads, len(parts)), new, visit, progress)
        total = new()
        for part in parts:
            visit(total, part)
            progress.one_more()
            progress.report_share()
        return [total]


def _shared(
    parts: Sequence[Part],
    workers: int,
    new: Callable[[], Sum],
    visit: Callable[[Sum, Part], None],
    progress: _Progress,
) -> list[Sum]:
    """Visit the parts on as many threads as there are workers."""

    def work(worker: int) -> Sum:
        total = new()
        try:
            for part in parts[worker::workers]:
                if progress.stopped:
                    break
                visit(total, part)
                progress.one_more()
        except BaseException:
            progress.stopped = True
            raise
        return total

    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, worker) for worker in range(workers)]
        try:
            while wait(running, timeout=_SECONDS_BETWEEN_WORDS).not_done:
                progress.report_share()
        except BaseException:
            progress.stopped = True
            raise
        return [future.result() for future in running]


class _Progress:
    """How many parts are done; only the thread that asked for the pass reports."""

    def __init__(self, parts: int, report: Report | None) -> None:
        self.stopped = False
        self._parts, self._report, self._done = parts, report, 0

    def one_more(self) -> None:
        self._done += 1

    def report_share(self) -> None:
        if self._report is not None and not self._report(min(self._done / self._parts, 1.0)):
            raise PassStoppedError


class _BlasLimit:
    """Holds BLAS to one thread while at least one pass runs; passes of several threads of Python may overlap."""

    def __init__(self) -> None:
        self._lock, self._passes = threading.Lock(), 0
        # Looking for the loaded libraries takes milliseconds.
        self._controller = ThreadpoolController()
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._passes == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._passes += 1
        try:
            yield
        finally:
            with self._lock:
                self._passes -= 1
                if self._passes == 0:
                    self._limit.__exit__(None, None, None)


@cache
def _blas_limit() -> _BlasLimit:
    return _BlasLimit()


def one_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread, in the whole process, until the last of those that asked for it has left."""
    return _blas_limit().held()
