"""The median of all distances between samples: exact in one pass over pairs, or estimated from groups of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.blas import one_blas_thread
from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.distances import CentredSamples, check_finite
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.ranked import ranked_squares

# Samples, and n^2 d, up to which the differences of all pairs are quicker than products.
_FEW, _DIRECT = 64, 4_000_000
# With them an estimate errs by some 1e-4 of itself.
_PAIRS, _PAIRS_OF_DRAWN = 1 << 22, 8
# Standard errors on either side of an estimate where the search begins; a miss costs a second pass.
_BRACKET = 3.5
_GROUPED_VALUES = 1 << 18


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
    ranks, samples = _middle_ranks(len(features)), CentredSamples(features)
    if samples.n_samples <= _FEW or samples.n_samples**2 * samples.n_features <= _DIRECT:
        from scipy.spatial.distance import pdist

        pairs = np.partition(pdist(samples.rows(slice(None), centred=False), "sqeuclidean"), ranks)
        squares = [float(pairs[rank]) for rank in ranks]
    else:
        # Products of this size gain little from threads of BLAS, which would wait for ours.
        with one_blas_thread():
            low, _, high = _sampled(samples, _pairs_of(samples.n_samples) // 64, np.random.default_rng(0), _BRACKET)
            squares = ranked_squares(samples, ranks, low, high, threads)
    # Of two samples, one of the middle places holds the distance of a sample to itself.
    middle = [0.0] * (2 - len(ranks)) + [samples.unit * float(np.sqrt(square)) for square in squares]
    return _positive(0.5 * middle[0] + 0.5 * middle[1], samples)


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
    elif _pairs_of(len(features)) <= n_pairs:
        return MedianDistance(median_distance(features), 0.0)
    samples = CentredSamples(features)
    with one_blas_thread():
        low, middle, high = np.sqrt(_sampled(samples, n_pairs, rng, 3.0, drawn_from)) * samples.unit
    return MedianDistance(_positive(float(middle), samples), float(max(high - middle, middle - low)) / 3.0)


def _positive(median: float, samples: CentredSamples) -> float:
    check_finite(median)
    if median == 0.0:
        raise InputError(
            f"the median distance of these {samples.n_samples} samples is 0, so no Gaussian bandwidth follows from it; "
            "give sigma as a number, remove repeated samples, or scale features whose squares underflow"
        )
    return median


def _pairs_of(n_samples: int) -> int:
    return n_samples * (n_samples - 1) // 2


def _middle_ranks(n_samples: int) -> list[int]:
    """Return the ranks among all pairs i < j, ascending, whose distances are in the middle of the full matrix."""
    if n_samples < 2:
        raise TooFewSamplesError(f"a median distance needs at least 2 samples, got {n_samples}")
    # Sorted, the full matrix is n zeros and then every pair twice; the two middle places are n^2/2 - 1/2 +- 1/2.
    places = [(n_samples**2 - 1) // 2, n_samples**2 // 2]
    return [(place - n_samples) // 2 for place in places if place >= n_samples]


def _sampled(
    samples: CentredSamples, n_pairs: int, rng: np.random.Generator, deviations: float, drawn_from: int | None = None
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
    share = (float(np.mean(_middle_ranks(n_all))) + 0.5) / _pairs_of(n_all)
    of_subset = 2.0 * share * (1.0 - share) / n_samples if n_all > n_samples else 0.0
    deviation = deviations * float(np.hypot(_deviation(n_samples, size, share, len(squares)), of_subset**0.5))
    places = (share + np.array([-deviation, 0.0, 0.0, deviation])) * len(squares) - 0.5
    ranks = np.clip([*np.floor(places[:2]), *np.ceil(places[2:])], 0, len(squares) - 1).astype(np.intp)
    low, left, right, high = np.partition(squares, ranks)[ranks]
    return np.array([low if places[0] >= 0 else 0.0, 0.5 * (left + right), high])


def _deviation(n_samples: int, size: int, share: float, n_pairs: int) -> float:
    """Return the bound of the standard deviation of the share of nearer pairs; see the estimate."""
    n, m = float(n_samples), float(size)
    common = (m - 2) / (n - 2)
    apart = ((m - 2) * (m - 3) + (n - m) * (m - 1)) / ((n - 2) * (n - 3))
    return float(np.sqrt(share * (1 - share) / n_pairs * max(0.0, 1 + apart - 2 * common)))


def _within(samples: CentredSamples, groups: NDArray[np.intp]) -> FloatArray:
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
