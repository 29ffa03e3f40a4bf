"""One pass over many parts, on as many threads as given, with a word now and then on how far it is.

BLAS gets one thread in the meantime: products of this size gain little from more, and threads of BLAS and of ours would
wait for each other. A fit holds it for its whole length by :func:`.one_blas_thread`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from kdrbench.blas import one_blas_thread
from kdrbench.problems import PassStoppedError
from kdrbench.samples import PartialSums, Samples, Sums, TreeSum
from kdrbench.samples import Report as Report

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


@dataclass(frozen=True)
class ThreadEngine:
    """Threads of this process share the parts of a pass."""

    threads: int = 1

    def run(
        self, samples: Samples, parts: Sequence[slice], partial_sums: PartialSums, report: Report | None = None
    ) -> Sums:
        """Return the sum over all parts."""
        tree, threads = TreeSum(), 1 if samples.in_order else self.threads

        def visit(total: TreeSum, place: int) -> None:
            total.add(place, partial_sums(samples, parts[place]))

        run_pass(range(len(parts)), threads, lambda: tree, visit, report)
        return tree.total()


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
