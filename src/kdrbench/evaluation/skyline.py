"""X' diag(w) X for one X and many weights w, without what most samples have in common.

In images, counts and indicators most samples have the same number m_j in feature j, wherever zero was put by centring
and scaling. Sort the features by how many samples differ from m_j, and the samples by the last feature in which they
do. Then sample i of Z = X - 1m' has nothing beyond its first l_i features, which is called a skyline, and

    X' diag(w) X = Z' diag(w) Z + m (Z'w)' + (Z'w) m' + (w'1) m m'

takes sum_i l_i^2 multiplications where the plain product takes n d^2: .38 of them for MNIST. All but the first term
come from one more column of ones. It is exact but for rounding.

The terms may be larger than their sum where a sample is much nearer to 0 than m is. So Z is used only if |m| is at most
``_FARTHEST`` times the length of every sample. Then the rounding, for any w, is at most (1 + 2 * 4)^2 times that of the
plain sum, whose measure is sum_i |w_i| |x_i|^2: the factors of a term are at most |z_i| + |m| <= |x_i| + 2 |m|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation.weights import Rows, upper_gram, weighted_gram
from kdrbench.kernels.family import FloatArray
from kdrbench.samples.passes import Report, chunks

IntArray = NDArray[np.intp]

# The median of this number of samples, evenly taken, is a value that most samples share, if there is one.
_PROBES = 33
_FARTHEST = 4.0
# A skyline of a larger share of the plain product's work is not worth picking rows for, nor is a small product.
_WORTH = 0.7
# Groups of samples whose rows of Z are taken as long as the longest of them.
_LEVELS = 10
# Rows of a level are held up to this number of entries: all of Z takes at most 64 MiB then.
_HELD_ENTRIES = 2**23 // _LEVELS
_SMALLEST = 5e7


class WeightedGrams:
    """X' diag(w) X of one X (``features``, n x d), for any w."""

    def __init__(self, features: FloatArray, threads: int = 1) -> None:
        self._features, self._threads = features, threads
        # Found when first needed; ``None`` in it where the plain product is better.
        self._found: list[_Skyline | None] = []

    def of(self, weights: FloatArray, report: Report | None = None) -> FloatArray:
        """Return X' diag(w) X, d x d, in double precision."""
        if not self._found:
            self._found.append(_skyline_of(self._features))
        skyline = self._found[0]
        if skyline is None or not weights.any():
            return weighted_gram(self._features, weights, self._threads, report)
        return skyline.gram(weights, self._threads, report)


class _Level(NamedTuple):
    """Rows of [1, Z], all as long as the longest of them: of ``samples``, held where that is little."""

    samples: IntArray
    width: int
    rows: Rows


def _level(features: FloatArray, common: FloatArray, samples: IntArray, order: IntArray) -> _Level:
    def rows(places: slice) -> FloatArray:
        taken = features.take(samples[places], axis=0).take(order, axis=1)
        made = np.ones((len(taken), 1 + len(order)), dtype=taken.dtype)
        np.subtract(taken, common[order], out=made[:, 1:])
        return made

    held = len(samples) * (1 + len(order)) <= _HELD_ENTRIES
    return _Level(samples, 1 + len(order), rows(slice(None)) if held else rows)


class _Skyline:
    """Z = X - 1m' with its features and samples sorted, those of longest rows first."""

    def __init__(self, features: FloatArray, common: FloatArray, order: IntArray, lengths: IntArray) -> None:
        self._common = common.astype(float)
        # Where a feature is in the order.
        self._places = np.argsort(order)
        samples = np.argsort(-lengths, kind="stable")
        self._levels = [
            _level(features, common, samples[level], order[: lengths[samples[level.start]]])
            for level in chunks(len(lengths), -(-len(lengths) // _LEVELS))
        ]

    def gram(self, weights: FloatArray, threads: int, report: Report | None) -> FloatArray:
        """Return X' diag(w) X."""
        inner = np.zeros((1 + len(self._common),) * 2, order="F")
        for level in self._levels:
            inner[: level.width, : level.width] += upper_gram(level.rows, weights[level.samples], threads, report)
        products = inner[1:, 1:] + np.triu(inner[1:, 1:], 1).T
        result = products.take(self._places, axis=0).take(self._places, axis=1)
        # Z'w and the sum of w, which the column of ones has made.
        sums, total = inner[0, 1:].take(self._places), inner[0, 0]
        crossed = np.outer(self._common, sums + 0.5 * total * self._common)
        result += crossed + crossed.T
        return result


def _skyline_of(features: FloatArray) -> _Skyline | None:
    n_samples, n_features = features.shape
    if n_samples < _PROBES or n_samples * n_features**2 < _SMALLEST:
        return None
    probes = features[np.linspace(0, n_samples - 1, _PROBES).astype(int)]
    common = np.sort(probes, axis=0)[_PROBES // 2]
    # In an order of their own the probes' rows are shortest: where these are long, all rows need not be looked at.
    if _share(_lengths(probes, common, _order(probes, common)), n_features) > _WORTH:
        return None
    shortest = min(float(np.einsum("ij,ij->i", features[rows], features[rows]).min()) for rows in chunks(n_samples))
    if float(common @ common) > _FARTHEST**2 * shortest:
        return None
    order = _order(features, common)
    lengths = _lengths(features, common, order)
    return _Skyline(features, common, order, lengths) if _share(lengths, n_features) <= _WORTH else None


def _order(features: FloatArray, common: FloatArray) -> IntArray:
    """Return the features, those first that differ most often from what is common."""
    counts = np.zeros(len(common), dtype=np.intp)
    for rows in chunks(len(features)):
        counts += np.count_nonzero(features[rows] != common, axis=0)
    return np.argsort(-counts, kind="stable")


def _lengths(features: FloatArray, common: FloatArray, order: IntArray) -> IntArray:
    """Return l_i: where in the order the last feature is that differs."""
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(1, len(order) + 1)
    return np.concatenate([((features[rows] != common) * places).max(axis=1) for rows in chunks(len(features))])


def _share(lengths: IntArray, n_features: int) -> float:
    """Return the work of a skyline, as a share of the plain product's."""
    return float(np.mean((lengths / n_features) ** 2))
