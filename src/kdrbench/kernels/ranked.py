"""Distances of given ranks among all pairs of samples, proved in spite of rounding, without holding all pairs.

A pass over blocks counts the pairs that are certainly nearer than a bracket [low, high], and holds those that may lie
within. Each has a computed value v and a bound e of its error, so that its true value is in [v - e, v + e]; hence the
k-th true value is between the k-th smallest v - e and the k-th smallest v + e. Only pairs that reach into that interval
may be it, and for those few differences decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.distances import CentredSamples, Differences, Distances, Products
from kdrbench.kernels.family import FloatArray

# A block in the second-level cache, and rows made once for many blocks.
_ROWS, _COLUMNS, _PANEL = 512, 1024, 4096
_HELD_PAIRS = 1 << 22
_BINS = 4096
# Squares that differ by no more are ties.
_TIE = 1e-11
# How many products of a pair cost as much as its differences, in reach of memory.
_DEAREST = 200
_KINDS: tuple[Distances, ...] = (Products(np.float32), Products(np.float64), Differences())


def ranked_squares(
    samples: CentredSamples, ranks: Sequence[int], low: float, high: float, threads: int = 1
) -> list[float]:
    """Return the squared distances of these ranks, ascending, among all pairs i < j; the search begins in [low, high].

    They are those of the differences of samples, but for ties: of more pairs than are held that differ by 1e-11 of
    their squares, the middle of the interval is returned. Each pass takes n^2 d operations; one is enough where the
    bracket holds the ranks and few pairs.
    """
    for distances in _KINDS:
        found, low, high = _Search(samples, distances, threads).run(ranks, low, high)
        if found is not None:
            return found
        if _are_ties(low, high):
            break
    if len(ranks) == 1 or _are_ties(low, high):
        return [0.5 * (low + high)] * len(ranks)
    # Two ties, and the ranks between them.
    return [ranked_squares(samples, [rank], low, high, threads)[0] for rank in ranks]


def _are_ties(low: float, high: float) -> bool:
    return high - low <= _TIE * high


@dataclass
class _Held:
    """Pairs of a block that may lie in the bracket: computed squares, a bound of their errors, where they are."""

    squares: FloatArray
    error: float
    pairs: NDArray[np.int32]
    # First row, first column and number of columns.
    block: tuple[int, int, int]


class _Count:
    """What some blocks add: how many pairs are certainly below the bracket, and what is known of those that may not be.

    The ends v - e and v + e of their intervals are counted in bins, the first for all up to the bracket's lower limit
    and the last for all above its upper limit, and the extremes of the ends are kept.
    """

    def __init__(self) -> None:
        self.below, self.held = 0, list[_Held]()
        self.least, self.most = np.inf, -np.inf
        self.lower, self.upper = np.zeros(_BINS + 2, dtype=np.int64), np.zeros(_BINS + 2, dtype=np.int64)

    def add(self, other: _Count) -> None:
        """Add the counts of other blocks."""
        self.below += other.below
        self.held += other.held
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.lower += other.lower
        self.upper += other.upper


class _Search:
    """Passes over all pairs, their distances computed in one way."""

    def __init__(self, samples: CentredSamples, distances: Distances, threads: int) -> None:
        self._samples, self._distances, self._threads = samples, distances, threads
        self._low = self._high = 0.0
        self._n_held, self._full = 0, False
        self._relative = distances.relative_error(samples.n_features)

    def run(self, ranks: Sequence[int], low: float, high: float) -> tuple[list[float] | None, float, float]:
        """Return the squares of these ranks, or ``None`` where rounding leaves too many open, and a bracket of them."""
        while True:
            self._low, self._high, self._n_held, self._full = low, high, 0, False
            count = self._pass()
            places = [rank - count.below for rank in ranks]
            if not 0 <= places[0] <= places[-1] < count.lower.sum():
                low, high = self._wider()
                continue
            found, low, high = self._in_bins(count, places) if self._full else self._settled(count.held, places)
            if found is None:
                low = max(0.0, low)
                if _are_ties(low, high) or high - low >= 0.5 * (self._high - self._low):
                    return None, low, high
            elif self._low <= found[0] <= found[-1] <= self._high:
                return found, low, high
            else:
                low, high = self._wider()

    def _wider(self) -> tuple[float, float]:
        top = 4.0 * float(self._samples.radii[-1]) ** 2
        width = 8.0 * max(self._high - self._low, 1e-6 * self._high, 1e-12 * top)
        return max(0.0, self._low - width), self._high + width

    def _in_bins(self, count: _Count, places: list[int]) -> tuple[None, float, float]:
        """Return a narrower bracket: the bins of the first place among lower ends and the last among upper ends."""
        first = int(np.searchsorted(np.cumsum(count.lower), places[0], side="right"))
        last = int(np.searchsorted(np.cumsum(count.upper), places[-1], side="right"))
        width = (self._high - self._low) / _BINS
        low = self._low + (first - 1) * width if first > 0 else count.least
        return None, low, self._low + last * width if last <= _BINS else count.most

    def _settled(self, held: list[_Held], places: list[int]) -> tuple[list[float] | None, float, float]:
        """Return the squares at these places among the pairs held, or ``None``, and the interval they are in."""
        sizes = [len(one.squares) for one in held]
        squares, errors = np.concatenate([one.squares for one in held]), np.repeat([one.error for one in held], sizes)
        lower, upper = self._ends(squares, errors)
        low = float(np.partition(lower, places[0])[places[0]])
        high = float(np.partition(upper, places[-1])[places[-1]])
        is_open = np.flatnonzero((upper >= low) & (lower <= high))
        if _DEAREST * len(is_open) > self._samples.n_samples**2:
            return None, low, high
        below = int(np.count_nonzero(upper < low))
        block = np.repeat(np.arange(len(held)), sizes)[is_open]
        first, column, width = np.array([one.block for one in held])[block].T
        row, across = np.divmod(np.concatenate([one.pairs for one in held])[is_open], width)
        exact = np.sort(self._samples.squared_distances(first + row, column + across))
        return [float(exact[place - below]) for place in places], low, high

    def _pass(self) -> _Count:
        n_samples = self._samples.n_samples
        height = max(_ROWS, min(_PANEL, n_samples // (4 * self._threads)))
        panels = [slice(begin, min(begin + height, n_samples)) for begin in range(0, n_samples, height)]
        if self._threads == 1:
            parts = [self._panel(rows) for rows in panels]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                # The longest first; whoever is done takes the next.
                parts = list(pool.map(self._panel, panels))
        total = _Count()
        for part in parts:
            total.add(part)
        return total

    def _panel(self, rows: slice) -> _Count:
        """Count the pairs i < j with i among ``rows``."""
        samples, count = self._samples, _Count()
        left = self._distances.left(samples, rows)
        for begin in range(rows.start, samples.n_samples, _COLUMNS):
            columns = slice(begin, min(begin + _COLUMNS, samples.n_samples))
            right = self._distances.right(samples, columns)
            for top in range(rows.start, min(rows.stop, columns.stop), _ROWS):
                part = slice(top, min(top + _ROWS, rows.stop))
                squares = self._distances.squares(left[top - rows.start : part.stop - rows.start], right)
                if part.stop > columns.start:
                    # No comparison holds of these.
                    others = np.arange(part.start, part.stop)[:, None] >= np.arange(columns.start, columns.stop)
                    squares[others] = np.nan
                self._add(count, squares, part, columns)
        return count

    def _add(self, count: _Count, squares: FloatArray, rows: slice, columns: slice) -> None:
        radii, relative = self._samples.radii, self._relative
        error = self._distances.error(self._samples.n_features, float(radii[rows.stop - 1] + radii[columns.stop - 1]))
        limits = np.array([(self._low - error) / (1 + relative), (self._high + error) / (1 - relative)])
        # The cast may have rounded inwards.
        lowest, highest = np.nextafter(limits.astype(squares.dtype), np.array([-np.inf, np.inf], dtype=squares.dtype))
        may = squares < lowest
        count.below += int(np.count_nonzero(may))
        may ^= squares <= highest
        pairs = np.flatnonzero(may)
        if not len(pairs):
            return
        within = squares.ravel()[pairs]
        lower, upper = self._ends(within, error)
        count.least, count.most = min(count.least, float(lower.min())), max(count.most, float(upper.max()))
        count.lower += self._bins(lower)
        count.upper += self._bins(upper)
        self._n_held += len(pairs)
        # Threads may miss some of each other's counts; what one has found full stays so.
        self._full = self._full or self._n_held > _HELD_PAIRS
        if not self._full:
            block = (rows.start, columns.start, squares.shape[1])
            count.held.append(_Held(within, error, pairs.astype(np.int32), block))

    def _ends(self, squares: FloatArray, errors: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of the true squares."""
        values = squares.astype(np.float64)
        return (1 - self._relative) * values - errors, (1 + self._relative) * values + errors

    def _bins(self, ends: FloatArray) -> NDArray[np.int64]:
        width = (self._high - self._low) / _BINS
        if width > 0:
            with np.errstate(over="ignore"):
                places = np.clip(np.ceil((ends - self._low) / width), 0, _BINS + 1)
        else:
            places = np.where(ends <= self._low, 0, _BINS + 1)
        return np.bincount(places.astype(np.intp), minlength=_BINS + 2)
