"""Bandwidths of radial kernels, taken from data, and the Gaussian that has one for each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.family import FloatArray, Kernel, Pairing, pairing_block

# Up to this many samples all distances are held and sorted: 60 MB.
_HELD_SAMPLES = 4000
_BLOCK = 1024
_BINS = 4096
_SAMPLED = 1000
_HELD_VALUES = 2_000_000
_ROUNDING = 1e-13
Samples = slice | NDArray[np.intp]


def median_distance(features: FloatArray) -> float:
    """Return the median of the full n x n matrix of Euclidean distances between the rows of ``features``.

    The n zero distances of each row to itself count, as in the papers' code: without them the published
    Gaussian costs are missed (Wine -1624.00 instead of -1628.14). ``features`` is n x d, n >= 2. Exact for any n; from
    a few thousand samples on in a few passes over blocks of pairs, in memory that does not grow with their number.

    Raises ``InputError`` when the median is zero (half of all pairs coincide), for a Gaussian has no scale then, and
    when differences of features are not finite.
    """
    from scipy.spatial.distance import pdist

    n_samples = features.shape[0]
    if n_samples < 2:
        raise TooFewSamplesError(f"a median distance needs at least 2 samples, got {n_samples}")
    # Sorted, the full matrix is n zeros and then every pair twice; the two middle places are n^2/2 - 1/2 +- 1/2.
    places = [(n_samples**2 - 1) // 2, n_samples**2 // 2]
    ranks = [(place - n_samples) // 2 for place in places if place >= n_samples]
    if n_samples <= _HELD_SAMPLES:
        pairs = np.sort(pdist(features))
        middle = [float(pairs[rank]) for rank in ranks]
    else:
        middle = _ranked_distances(features, ranks)
    median = 0.5 * sum([0.0] * (2 - len(middle)) + middle)
    _check_finite(median)
    if median == 0.0:
        raise InputError(
            f"the median distance of these {n_samples} samples is 0, so no Gaussian bandwidth follows from it; "
            "give sigma as a number, remove repeated samples, or scale features whose squares underflow"
        )
    return median


def _check_finite(distance: float) -> None:
    if not np.isfinite(distance):
        raise InputError("distances of these samples are not finite, for their squares overflow; scale the features")


def _ranked_distances(features: FloatArray, ranks: list[int]) -> list[float]:
    """Return the distances with these ranks among all pairs i < j, ranks ascending and adjacent."""
    # By the median of each column: one sample far away must not round the distances of all others.
    centred = features - np.median(features, axis=0)
    unit = float(np.abs(centred).max())
    _check_finite(unit)
    if unit == 0.0:
        return [0.0] * len(ranks)
    # In units of the largest entry: squares of very large and very small ones neither overflow nor vanish.
    return [unit * distance for distance in _ranked_in_unit_cube(centred / unit, ranks)]


def _ranked_in_unit_cube(centred: FloatArray, ranks: list[int]) -> list[float]:
    """Return the same for features whose largest magnitude is one."""
    from scipy.spatial.distance import pdist

    sample = pdist(centred[:: max(1, len(centred) // _SAMPLED)]) ** 2
    top = 4.0 * float(np.einsum("ij,ij->i", centred, centred).max()) * (1 + 1e-9)
    # Wide enough to hold the median of all with the median of some; else everything is searched.
    low, high = np.quantile(sample, [0.4, 0.6])
    while True:
        width = (high - low) / _BINS
        below, counts = _histogram(centred, low, width) if width > 0 else (0, np.zeros(_BINS, dtype=np.int64))
        if not below <= ranks[0] <= ranks[-1] < below + counts.sum():
            low, high = 0.0, top
            continue
        up_to = below + np.cumsum(counts)
        first, last = (int(np.searchsorted(up_to, rank, side="right")) for rank in (ranks[0], ranks[-1]))
        if int(counts[first : last + 1].sum()) <= _HELD_VALUES:
            return _distances_in_bins(centred, low, width, first, last, [rank - below for rank in ranks], counts)
        if first < last:
            return [_ranked_in_unit_cube(centred, [rank])[0] for rank in ranks]
        if width <= 1e-14 * high:
            # Ties: as many equal values as a bin of rounding's width holds.
            return [float(np.sqrt(low + (first + 0.5) * width))] * len(ranks)
        # Half a bin more on either side, so that no rounding of the edges loses the ranks.
        low, high = low + (first - 0.5) * width, low + (first + 1.5) * width


def _distances_in_bins(
    centred: FloatArray, low: float, width: float, first: int, last: int, ranks: list[int], counts: NDArray[np.int64]
) -> list[float]:
    """Return the distances of these ranks, counted from the first bin of all, from the bins that hold them."""
    values = []
    for squares in _squared_distances(centred):
        bins = _bin(squares, low, width)
        values.append(squares[(bins >= first) & (bins <= last)])
    ordered, before = np.sort(np.concatenate(values)), int(counts[:first].sum())
    return [float(np.sqrt(ordered[rank - before])) for rank in ranks]


def _histogram(centred: FloatArray, low: float, width: float) -> tuple[int, NDArray[np.int64]]:
    """Return how many squared distances lie below ``low``, and how many in each bin from there on."""
    below, counts = 0, np.zeros(_BINS, dtype=np.int64)
    for squares in _squared_distances(centred):
        bins = _bin(squares, low, width)
        below += int(np.count_nonzero(bins < 0))
        counts += np.bincount(bins[(bins >= 0) & (bins < _BINS)], minlength=_BINS)
    return below, counts


def _bin(squares: FloatArray, low: float, width: float) -> NDArray[np.int64]:
    return np.asarray(np.clip(np.floor((squares - low) / width), -1, _BINS), dtype=np.int64)


def _squared_distances(centred: FloatArray) -> Iterator[FloatArray]:
    """Yield the squared distances of all pairs i < j, block by block; those below rounding are zero."""
    lengths = np.einsum("ij,ij->i", centred, centred)
    for row in range(0, len(centred), _BLOCK):
        for column in range(row, len(centred), _BLOCK):
            rows, columns = slice(row, row + _BLOCK), slice(column, column + _BLOCK)
            block = pairing_block(Pairing.DIFFERENCE, centred[rows], centred[columns])
            block[block <= _ROUNDING * np.add.outer(lengths[rows], lengths[columns])] = 0.0
            yield block[np.triu_indices(len(block), 1)] if row == column else block.ravel()


def neighbour_distances(features: FloatArray, neighbour: int = 7) -> FloatArray:
    """Return the distance of each row of ``features`` (n x d) to its ``neighbour``-th nearest other row.

    The bandwidth of each sample in local scaling; the papers leave it open.

    Source: Zelnik-Manor and Perona, "Self-tuning spectral clustering", NIPS 2004 (there too with the 7th neighbour).

    Raises ``InputError`` with fewer than ``neighbour`` + 1 samples, and when more than ``neighbour`` samples coincide.
    """
    from scipy.spatial import KDTree

    n_samples = features.shape[0]
    if n_samples <= neighbour:
        raise TooFewSamplesError(
            f"bandwidths from the {neighbour}-th nearest neighbour need more than {neighbour} samples, got {n_samples}"
        )
    distances: FloatArray = KDTree(features).query(features, k=[neighbour + 1])[0][:, 0]
    _check_finite(float(distances.max()))
    if distances.min() == 0.0:
        raise InputError(
            f"sample {int(distances.argmin())} coincides with its {neighbour}-th nearest neighbour, so it has no "
            "bandwidth; remove repeated samples, choose a larger neighbour, or scale features whose squares underflow"
        )
    return distances


@dataclass(frozen=True, eq=False)
class RelativeGaussian:
    """f_ij(beta) = exp(-beta / (2 sigma_i sigma_j)) over the difference pairing: "RBF-relative".

    ``sigmas`` holds the n bandwidths, distances > 0; beta is the n x n array of all pairs of those samples, in
    their order, or with ``column_sigmas`` that of the pairs of samples with those. The factor 1/(sigma_i sigma_j) of f'
    is the matrix Sigma of the papers' surrogate. A kernel on samples with one bandwidth each is positive definite only
    approximately; solvers do not need it to be.

    Source: NeurIPS 2019, Table 1 and Theorem 3 (Psi = Sigma * Gamma * K).

    Raises ``InputError`` unless the bandwidths are finite and positive, and for beta of another shape.
    """

    sigmas: FloatArray
    column_sigmas: FloatArray | None = None
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def __post_init__(self) -> None:
        bad = ~(np.isfinite(self.sigmas) & (self.sigmas > 0))
        if self.sigmas.ndim != 1 or bad.any():
            example = f"; sample {int(np.argmax(bad))} has {self.sigmas[bad][0]!r}" if bad.any() else ""
            raise InputError(f"bandwidths must be one finite number > 0 for each sample{example}")

    def value(self, beta: FloatArray) -> FloatArray:
        """Return exp(-beta / (2 sigma_i sigma_j))."""
        scaled: FloatArray = beta * (-0.5 * self._inverse_products(beta))
        return np.exp(scaled, out=scaled)

    def derivative(self, beta: FloatArray) -> FloatArray:
        """Return -f(beta) / (2 sigma_i sigma_j)."""
        return self.value(beta) * (-0.5 * self._inverse_products(beta))

    def value_and_derivative(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both from one exponential."""
        value = self.value(beta)
        return value, value * (-0.5 * self._inverse_products(beta))

    def second_derivative(self, beta: FloatArray) -> FloatArray:
        """Return f(beta) / (2 sigma_i sigma_j)^2."""
        return self.value(beta) * (0.5 * self._inverse_products(beta)) ** 2

    def _inverse_products(self, beta: FloatArray) -> FloatArray:
        columns = self.sigmas if self.column_sigmas is None else self.column_sigmas
        n_rows, n_columns = len(self.sigmas), len(columns)
        if beta.shape != (n_rows, n_columns):
            raise InputError(
                f"this kernel has bandwidths for {n_rows} samples, so beta must be {n_rows} x {n_columns}; "
                f"got shape {beta.shape}"
            )
        return np.multiply.outer(1.0 / self.sigmas, 1.0 / columns)


def restricted(kernel: Kernel, rows: Samples, columns: Samples) -> Kernel:
    """Return the kernel for some rows and columns of its samples' pairs: itself, unless samples have bandwidths."""
    if isinstance(kernel, RelativeGaussian):
        return RelativeGaussian(kernel.sigmas[rows], kernel.sigmas[columns])
    return kernel
