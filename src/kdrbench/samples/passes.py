"""Passes over samples as sums over parts, whose bits do not depend on who computes them.

A pass is a callable ``partial_sums(samples, rows) -> arrays``. It holds all that it needs but the samples, so that it
can be sent without them. There are as many parts as the number of samples says, and nothing else. What they give is
added in a fixed binary tree: neighbours, then neighbouring sums, level after level, and a sum without a neighbour goes
up a level as it is. So threads, processes and machines give the same bits. Which of these work is up to an engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Sums = tuple[NDArray[np.float64], ...]
# The first argument is what the engine was given as samples, with the groups of the samples where a pass needs them.
PartialSums = Callable[[Any, slice], Sums]
# Called with the share of a pass that is done; returns whether to go on.
Report = Callable[[float], bool]
# At least as many parts as this, if each has enough rows; and the most rows of a part.
_PARTS, _FEWEST_ROWS, _MOST_ROWS = 16, 4096, 65_536


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


def added(left: Sums, right: Sums) -> Sums:
    """Return the sum of two neighbours in the tree; it takes the place of the left one."""
    for mine, other in zip(left, right, strict=True):
        mine += other
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
