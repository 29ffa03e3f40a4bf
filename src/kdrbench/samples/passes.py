"""Passes over many parts: on as many threads as given, and sums over samples whose bits do not depend on who adds them.

A pass over samples is a callable ``partial_sums(samples, rows) -> arrays``. It holds all that it needs but the samples,
so that it can be sent without them. The number of parts depends on the number of samples alone. Their sums are added in
a fixed binary tree: neighbours, then neighbouring sums, level after level, and a sum without a neighbour goes up a
level as it is. So threads, processes and machines give the same bits. An engine decides which of these work.

BLAS gets one thread during a pass: products of this size gain little from more, and threads of BLAS and of ours would
wait for each other. A fit holds it for its whole length by :func:`.one_blas_thread`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.blas import one_blas_thread, waiting_threads

Sums = tuple[NDArray[np.float64], ...]
# The first argument is what the engine was given as samples, with the groups of the samples where a pass needs them.
PartialSums = Callable[[Any, slice], Sums]
# Called with the share of a pass that is done; returns whether to go on.
Report = Callable[[float], bool]
# At least as many parts as this, if each has enough rows; and the most rows of a part.
_PARTS, _FEWEST_ROWS, _MOST_ROWS = 16, 4096, 65_536


# Samples at a time, whatever the number of threads, so that results do not depend on it.
_CHUNK = 512
_SECONDS_BETWEEN_WORDS = 0.05
Part = TypeVar("Part")
Sum = TypeVar("Sum")


class PassStoppedError(Exception):
    """A pass over the data was stopped by a limit; the last iterate is the result."""


class Engine(Protocol):
    """What computes passes."""

    def run(self, samples: Any, parts: Sequence[slice], partial_sums: PartialSums, report: Report | None) -> Sums:
        """Return the sum of ``partial_sums(samples, part)`` over the parts, added by the fixed tree.

        ``samples`` (:class:`kdrbench.samples.Samples`) is the same object in all passes of a problem, so that it need
        be sent once. The arrays that ``partial_sums`` returns are its own, and may be added to.

        Raises ``PassStoppedError`` soon after ``report`` has answered no, and whatever ``partial_sums`` raises.
        """
        ...


def parts_of(n_samples: int) -> list[slice]:
    """Return the parts of a pass over ``n_samples`` samples."""
    n_parts = max(min(_PARTS, -(-n_samples // _FEWEST_ROWS)), -(-n_samples // _MOST_ROWS))
    bounds = [round(n_samples * part / n_parts) for part in range(n_parts + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


def chunks(n_samples: int, size: int = _CHUNK) -> list[slice]:
    """Return the chunks of samples that threads work on."""
    return [slice(begin, min(begin + size, n_samples)) for begin in range(0, n_samples, size)]


def added(left: Sums, right: Sums) -> Sums:
    """Return the sum of two neighbours in the tree; it takes the place of the left one."""
    for mine, other in zip(left, right, strict=True):
        mine[...] += other
    return left


class TreeSum:
    """The fixed tree: adds two neighbours as soon as both are there; few wait for theirs."""

    def __init__(self) -> None:
        self._lock, self._waiting = threading.Lock(), dict[tuple[int, int], Sums]()

    def add(self, place: int, sums: Sums) -> None:
        """Add what the part at ``place`` gave, in any order."""
        level = 0
        while True:
            with self._lock:
                sibling = self._waiting.pop((level, place ^ 1), None)
                if sibling is None:
                    self._waiting[level, place] = sums
                    return
            sums = added(sums, sibling) if place % 2 == 0 else added(sibling, sums)
            level, place = level + 1, place // 2

    def total(self) -> Sums:
        """Return the sum: those that have no neighbour are added to the next larger one."""
        left_over = [self._waiting[key] for key in sorted(self._waiting)]
        total = left_over[0]
        for larger in left_over[1:]:
            total = added(larger, total)
        return total


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
    workers = max(1, min(threads, len(parts)))
    # Setting the limit takes longer than a small part.
    with one_blas_thread() if len(parts) > 1 else nullcontext():
        return _shared(parts, workers, new, visit, _Progress(len(parts), report))


@dataclass(frozen=True)
class ThreadEngine:
    """Threads of this process share the parts of a pass."""

    threads: int = 1

    def run(
        self, samples: Any, parts: Sequence[slice], partial_sums: PartialSums, report: Report | None = None
    ) -> Sums:
        """Return the sum over all parts."""
        tree, threads = TreeSum(), 1 if samples.in_order else self.threads

        def visit(total: TreeSum, place: int) -> None:
            total.add(place, partial_sums(samples, parts[place]))

        run_pass(range(len(parts)), threads, lambda: tree, visit, report)
        return tree.total()


def _shared(
    parts: Sequence[Part], workers: int, new: Callable[[], Sum], visit: Callable[[Sum, Part], None], progress: _Progress
) -> list[Sum]:
    """Visit as many shares of the parts as there are workers, the caller being one of them.

    It also takes the shares that no other thread has begun: on a busy machine it never waits for one to wake up. Shares
    do not depend on who takes them, and so sums do not.
    """
    sums: list[Sum | None] = [None] * workers
    # Asking it for the next number is one step for all threads.
    shares = iter(range(workers))

    def work(report: Callable[[], None] = lambda: None) -> None:
        try:
            for share in shares:
                total = new()
                for part in parts[share::workers]:
                    if progress.stopped:
                        return
                    visit(total, part)
                    progress.done += 1
                    report()
                sums[share] = total
        except BaseException:
            progress.stopped = True
            raise

    helpers = [waiting_threads().submit(work) for _ in range(workers - 1)]
    try:
        work(progress.report_share)
        running = [helper for helper in helpers if not helper.cancel()]
        while wait(running, timeout=_SECONDS_BETWEEN_WORDS).not_done:
            progress.report_share()
    except BaseException:
        progress.stopped = True
        wait([helper for helper in helpers if not helper.cancel()])
        raise
    for helper in running:
        helper.result()
    return cast(list[Sum], sums)


class _Progress:
    """How many parts are done; only the thread that asked for the pass reports."""

    def __init__(self, parts: int, report: Report | None) -> None:
        self.stopped = False
        self._parts, self._report, self.done = parts, report, 0

    def report_share(self) -> None:
        if self._report is not None and not self._report(min(self.done / self._parts, 1.0)):
            raise PassStoppedError
