"""The median of all distances between samples: exact in one pass over pairs, or estimated from groups of samples.

The pass over blocks counts the pairs that are certainly nearer than a bracket, and holds those that may lie within.
Each has a computed square v and a bound e of its rounding: the k-th true value is between the k-th smallest v - e and
the k-th smallest v + e. Only pairs that reach into that interval may be it, and for those few differences decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.blas import one_blas_thread
from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.family import FloatArray, check_finite

# Samples, and n^2 d, up to which the differences of all pairs are quicker than products.
_FEW, _DIRECT = 64, 4_000_000
# With them an estimate errs by some 1e-4 of itself.
_PAIRS, _PAIRS_OF_DRAWN = 1 << 22, 8
# Standard errors on either side of an estimate where the search begins; a miss costs a second pass.
_BRACKET = 3.5
_GROUPED_VALUES = 1 << 18
# Enough rows for a centre that a few samples far away do not move; values that stay in the second-level cache.
_CENTRE_ROWS, _CHUNK_VALUES = 1001, 1 << 17
# Beyond, a power of two has no inverse.
_EXPONENT = 1000
# A block in the second-level cache, and rows made once for many blocks.
_ROWS, _COLUMNS, _PANEL = 512, 1024, 4096
_HELD_PAIRS, _BINS = 1 << 22, 4096
# Squares that differ by no more are ties.
_TIE = 1e-11
# How many products of a pair cost as much as its differences, in reach of memory.
_DEAREST = 200
# Types of products, and differences in the end: some ten times slower, and exact however far samples are from 0.
_KINDS: tuple[Any, ...] = (np.float32, np.float64, None)
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class MedianDistance:
    """An estimate of the median of the n x n matrix of distances, or its value where ``standard_error`` is 0.

    The median is within three standard errors of ``value`` in 369 of 370 draws where the number of nearer pairs has a
    normal law, and in 8 of 9 whatever its law (Chebyshev's inequality). The error is 0 where all pairs were taken, and
    where those nearest the median are ties.
    """

    value: float
    standard_error: float


def median_distance(features: FloatArray, *, threads: int = 1) -> float:
    """Return the median of the full n x n matrix of Euclidean distances between the rows of ``features``.

    The n zero distances of each row to itself count, as in the papers' code: without them the published
    Gaussian costs are missed (Wine -1624.00 instead of -1628.14). ``features`` is n x d, n >= 2. Exact for any n, in
    n^2 d operations on ``threads`` threads, and in memory that grows with n by a few numbers a sample.

    Raises ``InputError`` when the median is zero (half of all pairs coincide), for a Gaussian has no scale then, and
    when differences of features are not finite.
    """
    ranks, samples = _middle_ranks(len(features)), _Samples(features)
    if samples.n_samples <= _FEW or samples.n_samples**2 * samples.n_features <= _DIRECT:
        from scipy.spatial.distance import pdist

        pairs = np.partition(pdist(samples.rows(slice(None), centred=False), "sqeuclidean"), ranks)
        squares = [float(pairs[rank]) for rank in ranks]
    else:
        # Products of this size gain little from threads of BLAS, which would wait for ours.
        with one_blas_thread():
            low, _, high = _sampled(samples, comb(samples.n_samples, 2) // 64, np.random.default_rng(0), _BRACKET)
            squares = _ranked_squares(samples, ranks, low, high, threads)
    # Of two samples, one of the middle places holds the distance of a sample to itself.
    middle = [0.0] * (2 - len(ranks)) + [samples.unit * float(np.sqrt(square)) for square in squares]
    return _positive(0.5 * middle[0] + 0.5 * middle[1], samples.n_samples)


def estimated_median_distance(
    features: FloatArray, rng: np.random.Generator, *, n_pairs: int = _PAIRS, drawn_from: int | None = None
) -> MedianDistance:
    """Return an estimate of :func:`median_distance` from some ``n_pairs`` pairs, with its standard error.

    The samples are dealt to groups of one size, at random by ``rng``, and the pairs within groups are taken. As all
    samples occur equally often, the number of those pairs below any distance has at most the variance of as many
    independent pairs. With a_ij = 1 for nearer pairs, less their share f, sum a_ij = 0 and r_i = sum_j a_ij, it is

        A (p - p_d) - (p_d - p_s) (sum_i r_i^2 - 2 A) <= A (p + p_d - 2 p_s),  A = sum_{i<j} a_ij^2 = N f (1 - f),

    for groups of m among n samples, N = n (n - 1) / 2, and the probabilities that groups hold a pair, p = (m - 1) / (n
    - 1), two pairs with a sample in common, p_s = p (m - 2) / (n - 2), and two without, p_d >= p_s. Quantiles of the
    pairs at f and at three deviations from it are the estimate and its limits.

    Where ``features`` are a random subset of s among n = ``drawn_from`` samples, the share of nearer pairs in the
    subset varies as well. Its variance is at most 2 f (1 - f) / s, which is added: a U-statistic of pairs has 2 zeta_1
    <= zeta_2 = f (1 - f) (Hoeffding, 1948), and drawing without replacement makes the variance smaller.

    Up to ``n_pairs`` pairs in all, the median is exact. Raises ``InputError`` as :func:`median_distance` does.
    """
    _middle_ranks(len(features))
    is_drawn = drawn_from is not None and drawn_from > len(features)
    if is_drawn:
        # More pairs say little beside what the subset leaves open.
        n_pairs = min(n_pairs, _PAIRS_OF_DRAWN * len(features))
    elif comb(len(features), 2) <= n_pairs:
        return MedianDistance(median_distance(features), 0.0)
    samples = _Samples(features)
    with one_blas_thread():
        low, middle, high = np.sqrt(_sampled(samples, n_pairs, rng, 3.0, drawn_from)) * samples.unit
    return MedianDistance(_positive(float(middle), samples.n_samples), float(max(high - middle, middle - low)) / 3.0)


def _positive(median: float, n_samples: int) -> float:
    check_finite(median)
    if median == 0.0:
        raise InputError(
            f"the median distance of these {n_samples} samples is 0, so no Gaussian bandwidth follows from it; "
            "give sigma as a number, remove repeated samples, or scale features whose squares underflow"
        )
    return median


def _middle_ranks(n_samples: int) -> list[int]:
    """Return the ranks among all pairs i < j, ascending, whose distances are in the middle of the full matrix."""
    if n_samples < 2:
        raise TooFewSamplesError(f"a median distance needs at least 2 samples, got {n_samples}")
    # Sorted, the full matrix is n zeros and then every pair twice; the two middle places are n^2/2 - 1/2 +- 1/2.
    places = [(n_samples**2 - 1) // 2, n_samples**2 // 2]
    return [(place - n_samples) // 2 for place in places if place >= n_samples]


def _sampled(
    samples: _Samples, n_pairs: int, rng: np.random.Generator, deviations: float, drawn_from: int | None = None
) -> FloatArray:
    """Return an estimate of the median squared distance between two limits, ascending."""
    n_samples = samples.n_samples
    n_groups = -(-n_samples // min(n_samples, 2 + 2 * n_pairs // n_samples))
    size, longer = divmod(n_samples, n_groups)
    dealt = rng.permutation(n_samples)
    # The first groups have one more.
    larger, smaller = np.split(dealt, [longer * (size + 1)])
    groups = larger.reshape(-1, size + 1), smaller.reshape(-1, size)
    squares = np.concatenate([_within(samples, group) for group in groups])
    n_all = drawn_from or n_samples
    share = (float(np.mean(_middle_ranks(n_all))) + 0.5) / comb(n_all, 2)
    of_subset = 2.0 * share * (1.0 - share) / n_samples if n_all > n_samples else 0.0
    # The bound of the standard deviation of the share of nearer pairs; see :func:`estimated_median_distance`.
    n, m = float(n_samples), float(size)
    common = (m - 2) / (n - 2)
    apart = ((m - 2) * (m - 3) + (n - m) * (m - 1)) / ((n - 2) * (n - 3))
    of_groups = float(np.sqrt(share * (1 - share) / len(squares) * max(0.0, 1 + apart - 2 * common)))
    deviation = deviations * float(np.hypot(of_groups, of_subset**0.5))
    places = (share + np.array([-deviation, 0.0, 0.0, deviation])) * len(squares) - 0.5
    ranks = np.clip([*np.floor(places[:2]), *np.ceil(places[2:])], 0, len(squares) - 1).astype(np.intp)
    low, left, right, high = np.partition(squares, ranks)[ranks]
    return np.array([low if places[0] >= 0 else 0.0, 0.5 * (left + right), high])


def _within(samples: _Samples, groups: NDArray[np.intp]) -> FloatArray:
    """Return the squared distances of all pairs within each row of ``groups``, which holds places of samples."""
    n_groups, size = groups.shape
    first, second = np.triu_indices(size, 1)
    squares: FloatArray = np.empty((n_groups, len(first)))
    step = max(1, _GROUPED_VALUES // (size * max(size, samples.n_features)))
    for begin in range(0, n_groups, step):
        places = groups[begin : begin + step]
        rows = samples.rows(places.ravel()).reshape(*places.shape, -1)
        lengths = samples.radii[places][..., None] ** 2
        ones = np.ones_like(lengths)
        left, right = np.dstack([-2.0 * rows, lengths, ones]), np.dstack([rows, ones, lengths])
        squares[begin : begin + step] = (left @ right.transpose(0, 2, 1))[:, first, second]
    return np.maximum(squares, 0.0, out=squares).ravel()


class _Samples:
    """The rows of X (n x d), centred and in a unit whose squares neither overflow nor vanish, ordered by length.

    The centre is a median of each column and the order ascending, so that the few samples far away share few blocks and
    do not round the distances of all others. The unit is a power of two, which rounds nothing. Rows are made when asked
    for: X is never copied as a whole. ``radii`` holds the n lengths, in their order.
    """

    def __init__(self, features: FloatArray) -> None:
        self.n_samples, self.n_features = features.shape
        self._features, self._order = features, np.arange(self.n_samples)
        rows = np.random.default_rng(0).choice(self.n_samples, min(self.n_samples, _CENTRE_ROWS), replace=False)
        # An entry of each column and not a mean of two, which might overflow.
        self._centre = np.sort(features[rows].astype(np.float64), axis=0)[len(rows) // 2]
        self.unit = 1.0
        every = slice(0, self.n_samples)
        peak = max(float(np.abs(self.rows(chunk)).max()) for chunk in self.chunks(every))
        check_finite(peak)
        self.unit = float(np.ldexp(1.0, np.clip(np.frexp(peak)[1], -_EXPONENT, _EXPONENT)))
        radii = np.concatenate([np.linalg.norm(self.rows(chunk), axis=1) for chunk in self.chunks(every)])
        self._order = np.argsort(radii, kind="stable")
        self.radii: FloatArray = radii[self._order]

    def rows(self, places: slice | NDArray[np.intp], *, centred: bool = True) -> FloatArray:
        """Return the rows at these places of the order, in units of ``unit``."""
        # Fancy indexing makes a copy.
        rows: FloatArray = self._features[self._order[places]].astype(np.float64, copy=False)
        if centred:
            with np.errstate(over="ignore", invalid="ignore"):
                rows -= self._centre
        if self.unit != 1.0:
            rows *= 1.0 / self.unit
        return rows

    def squared_distances(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> FloatArray:
        """Return the squared distances of the pairs of places (left_k, right_k) from differences, in unit^2."""
        squares: FloatArray = np.empty(len(left))
        for pairs in self.chunks(slice(0, len(left))):
            # Not of centred rows, which are rounded.
            differences = self.rows(left[pairs], centred=False) - self.rows(right[pairs], centred=False)
            squares[pairs] = np.einsum("ij,ij->i", differences, differences)
        return squares

    def chunks(self, places: slice) -> Iterator[slice]:
        """Yield parts of these places whose rows are quick to make."""
        step = max(1, _CHUNK_VALUES // self.n_features)
        for begin in range(places.start, places.stop, step):
            yield slice(begin, min(begin + step, places.stop))

    def sides(self, places: slice, kind: Any, *, right: bool) -> FloatArray:
        """Return (-2 x, |x|^2, 1) or (y, 1, |y|^2), whose products are squared distances; the rows for differences."""
        if kind is None:
            return self.rows(places, centred=False)
        sides = np.empty((places.stop - places.start, self.n_features + 2), dtype=kind)
        for chunk in self.chunks(places):
            here = sides[chunk.start - places.start : chunk.stop - places.start, :-2]
            np.multiply(self.rows(chunk), 1.0 if right else -2.0, out=here, casting="same_kind")
        squares = self.radii[places] ** 2
        sides[:, -2], sides[:, -1] = (1.0, squares) if right else (squares, 1.0)
        return sides

    def error(self, kind: Any, reach: float, largest: float) -> float:
        """Return a bound of the rounding of squares: products where lengths add to ``reach``, or differences.

        Products are sums of d + 2 terms in any order, the entries and |x|^2 rounded before: Higham, "Accuracy and
        Stability of Numerical Algorithms", 2002, section 3.1. What underflows adds a few of the least normal numbers.
        The bound is infinite where they have no digit.
        """
        d = self.n_features
        if kind is None:
            return float(2.0 * (d + 8) * _UNIT * largest)
        limits = np.finfo(kind)
        rounding = (d + 8) * 0.5 * float(limits.eps)
        if rounding >= 0.5:
            return np.inf
        relative = rounding / (1 - rounding) + (d + 6) * 0.5 * _UNIT
        return float(relative * reach**2 + 4 * (d + 2) * float(limits.tiny))


class _Held(NamedTuple):
    """Pairs of a block that may lie in the bracket: computed squares, a bound of their errors, their places in it."""

    squares: FloatArray
    error: float
    pairs: NDArray[np.int32]
    # First row, first column and number of columns.
    block: tuple[int, int, int]


class _Count:
    """What blocks add: the pairs certainly below the bracket, those in each of its bins, and the latter themselves."""

    def __init__(self) -> None:
        self.below, self.error, self.held = 0, 0.0, list[_Held]()
        self.bins = np.zeros(_BINS, dtype=np.int64)

    def add(self, below: int, bins: NDArray[np.int64], error: float, held: list[_Held]) -> None:
        """Add the counts of other blocks; pairs are held while they are few."""
        self.below, self.bins, self.error = self.below + below, self.bins + bins, max(self.error, error)
        self.held = self.held + held if self.bins.sum() <= _HELD_PAIRS else []


def _ranked_squares(samples: _Samples, ranks: Sequence[int], low: float, high: float, threads: int) -> list[float]:
    """Return the squared distances of these ranks, ascending, among all pairs i < j; the search begins in [low, high].

    They are those of the differences of samples, but for ties: of more pairs than are held that differ by 1e-11 of
    their squares, the middle of the interval is returned. One pass is enough where the bracket holds the ranks and few
    pairs.
    """
    kinds = list(_KINDS)
    while True:
        count = _pass(samples, low, high, kinds[0], threads)
        places, squares = [rank - count.below for rank in ranks], None
        missed = not 0 <= places[0] <= places[-1] < count.bins.sum()
        if not missed and count.held:
            squares, least, most = _settled(samples, count.held, places, spare=len(kinds) == 1)
            if squares is not None and low <= squares[0] <= squares[-1] <= high:
                return squares
        if missed or squares is not None:
            width = 8.0 * max(high - low, 1e-6 * high, 4e-12 * float(samples.radii[-1]) ** 2)
            low, high = max(0.0, low - width), high + width
            continue
        if not count.held:
            # Bins that hold the first and the last place.
            first, last = np.searchsorted(np.cumsum(count.bins), [places[0], places[-1]], side="right")
            least = low + first * (high - low) / _BINS - 2.0 * count.error
            most = low + (last + 1) * (high - low) / _BINS + 2.0 * count.error
        narrower = most - max(0.0, least) < 0.5 * (high - low)
        low, high = max(0.0, least), most
        if high - low <= _TIE * high or (not narrower and len(kinds) == len(ranks) == 1):
            return [0.5 * (low + high)] * len(ranks)
        if not narrower and len(kinds) == 1:
            # Two ties, and the ranks between them.
            return [_ranked_squares(samples, [rank], low, high, threads)[0] for rank in ranks]
        if count.held or not narrower:
            kinds.pop(0)


def _settled(
    samples: _Samples, held: list[_Held], places: list[int], *, spare: bool
) -> tuple[list[float] | None, float, float]:
    """Return the squares at these places among the pairs held, and the interval they are in.

    ``None`` for the squares where rounding leaves many open, unless nothing is to ``spare`` them.
    """
    sizes = [len(block.squares) for block in held]
    squares = np.concatenate([block.squares for block in held]).astype(np.float64)
    errors = np.repeat([block.error for block in held], sizes)
    lower, upper = squares - errors, squares + errors
    low = float(np.partition(lower, places[0])[places[0]])
    high = float(np.partition(upper, places[-1])[places[-1]])
    is_open = np.flatnonzero((upper >= low) & (lower <= high))
    if _DEAREST * len(is_open) > samples.n_samples**2 and not spare:
        return None, low, high
    below = int(np.count_nonzero(upper < low))
    block = np.repeat(np.arange(len(held)), sizes)[is_open]
    first, column, width = np.array([part.block for part in held])[block].T
    row, across = np.divmod(np.concatenate([part.pairs for part in held])[is_open], width)
    exact = np.sort(samples.squared_distances(first + row, column + across))
    return [float(exact[place - below]) for place in places], low, high


def _pass(samples: _Samples, low: float, high: float, kind: Any, threads: int) -> _Count:
    n_samples = samples.n_samples
    height = max(_ROWS, min(_PANEL, n_samples // (4 * threads)))
    panels = [slice(begin, min(begin + height, n_samples)) for begin in range(0, n_samples, height)]
    panel, total = partial(_panel, samples, low=low, high=high, kind=kind), _Count()
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        # The longest first; whoever is done takes the next.
        for part in pool.map(panel, panels) if pool else map(panel, panels):
            total.add(part.below, part.bins, part.error, part.held)
    return total


def _panel(samples: _Samples, rows: slice, *, low: float, high: float, kind: Any) -> _Count:
    """Count the pairs i < j with i among ``rows``."""
    from scipy.spatial.distance import cdist

    left, count = samples.sides(rows, kind, right=False), _Count()
    for begin in range(rows.start, samples.n_samples, _COLUMNS):
        columns = slice(begin, min(begin + _COLUMNS, samples.n_samples))
        right = samples.sides(columns, kind, right=True)
        for top in range(rows.start, min(rows.stop, columns.stop), _ROWS):
            part = slice(top, min(top + _ROWS, rows.stop))
            here = left[top - rows.start : part.stop - rows.start]
            squares = cdist(here, right, "sqeuclidean") if kind is None else here @ right.T
            if part.stop > columns.start:
                # No comparison holds of these.
                others = np.arange(part.start, part.stop)[:, None] >= np.arange(columns.start, columns.stop)
                squares[others] = np.nan
            error = samples.error(kind, float(samples.radii[part.stop - 1] + samples.radii[columns.stop - 1]), high)
            # The cast may round inwards.
            ends = np.array([low - error, high + error]).astype(squares.dtype)
            lowest, highest = np.nextafter(ends, np.array([-np.inf, np.inf], dtype=squares.dtype))
            may = squares < lowest
            below = int(np.count_nonzero(may))
            may ^= squares <= highest
            pairs = np.flatnonzero(may)
            within = squares.ravel()[pairs]
            # A bracket of one number has one bin.
            places = np.clip((within.astype(np.float64) - low) / ((high - low) / _BINS or np.inf), 0, _BINS - 1)
            bins = np.bincount(places.astype(np.intp), minlength=_BINS)
            held = _Held(within, error, pairs.astype(np.int32), (part.start, columns.start, squares.shape[1]))
            count.add(below, bins, error if len(pairs) else 0.0, [held] if len(pairs) else [])
    return count
