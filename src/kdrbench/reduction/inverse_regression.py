"""Sliced inverse regression, sliced average variance estimation and directional regression.

All three look at the distribution of X given y, in slices of y, and find directions in which it varies with y. With
Z = X whitened, slices s of share p_s, m_s = E[Z | s], V_s = Cov[Z | s] and B_s = V_s + m_s m_s', each takes the leading
eigenvectors of a matrix M of these moments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import eigh, svd

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import whole
from kdrbench.reduction.common import (
    Components,
    LinearReducer,
    Response,
    Shrinkage,
    Target,
    in_their_span,
    numerical_rank,
    shrinkage_of,
)


@dataclass(repr=False, eq=False)
class _InverseRegression(LinearReducer):
    """Directions of X in which its distribution varies with y, from moments of slices."""

    n_components: Components = None
    _: KW_ONLY
    n_slices: Annotated[int, whole(2)] = 10
    shrinkage: Shrinkage = None
    target: Target = "auto"

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        n_samples, n_features = centred.shape
        # What is orthogonal to all samples has no variance in any slice either.
        samples, axes = in_their_span(centred)
        too_few = len(axes) < n_features and len(axes) >= len(np.unique(centred, axis=0)) - 1
        share = shrinkage_of(self.shrinkage, centred, forced=too_few)
        variances = np.einsum("ij,ij->j", samples, samples) / n_samples
        shrunk = (1.0 - share) * variances + share * variances.sum() / n_features
        scale, slices = np.sqrt(shrunk), response.slices(self.n_slices)
        values, vectors = self._leading(samples / scale, variances / shrunk, slices)
        self.eigenvalues_ = values[:n_components]
        return np.asarray((axes.T / scale @ vectors[:, :n_components]).T)

    @abstractmethod
    def _leading(self, white: FloatArray, variances: FloatArray, slices: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the eigenvalues of M, largest first, as far as they are not zero by rounding, and their vectors.

        ``white``: Z, n x r; ``variances``: those of its columns, which are uncorrelated: ones where nothing was shrunk.
        """


class SIR(_InverseRegression):
    """Sliced inverse regression: the directions in which the mean of X given y varies.

    M = sum_s p_s m_s m_s', the covariance of the slices' means in whitened coordinates. It finds no direction in which
    X is symmetric about a constant whatever y is: see :class:`SAVE` and :class:`DirectionalRegression`. For class
    labels a class is a slice, and the directions are those of linear discriminant analysis.

    Parameters
    ----------
    n_components : int or None
        The most components; S slices have at most S - 1. ``None``: one less than the number of classes, or 1.
    n_slices : int
        Slices of equally many samples, >= 2, where y is continuous.
    shrinkage : "auto", float or None
        s in the covariance (1 - s) S + s tr(S) / d I that whitens. ``None``: 0 unless independent features
        outnumber samples, which would be separated whatever y is; then ``auto``, that of Ledoit and Wolf (2004).

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        Rows b', with b'Sb = 1 (shrunk) and orthogonal in S; q is at most ``n_components`` and the rank of M.
    eigenvalues_ : ndarray of shape (q,)
        Of M, largest first: without shrinkage the share of a component's variance that lies between slices.

    References
    ----------
    Li, "Sliced inverse regression for dimension reduction", JASA 86, 1991.
    """

    def _leading(self, white: FloatArray, variances: FloatArray, slices: IntArray) -> tuple[FloatArray, FloatArray]:
        means = np.column_stack([np.sqrt(share) * rows.mean(axis=0) for share, rows in _parts(white, slices)])
        vectors, singular, _ = svd(means, full_matrices=False)
        # Weighted by the shares, the means have the sum zero.
        rank = min(numerical_rank(singular, max(white.shape)), max(1, means.shape[1] - 1))
        return singular[:rank] ** 2, vectors[:, :rank]


class SAVE(_InverseRegression):
    """Sliced average variance estimation: the directions in which the covariance of X given y differs from that of X.

    M = sum_s p_s (C - V_s)^2, C = Cov[Z], the identity unless it was shrunk. It also finds directions in which X is
    symmetric whatever y is, and needs more samples in a slice than :class:`SIR`: it estimates covariances.

    Parameters and attributes are those of :class:`SIR`; for class labels a class is a slice.

    References
    ----------
    Cook, Weisberg, discussion of "Sliced inverse regression for dimension reduction", JASA 86, 1991.
    """

    def _leading(self, white: FloatArray, variances: FloatArray, slices: IntArray) -> tuple[FloatArray, FloatArray]:
        total = np.zeros((len(variances),) * 2)
        for share, rows in _parts(white, slices):
            difference = np.diag(variances) - np.cov(rows.T, bias=True).reshape(total.shape)
            total += share * (difference @ difference)
        return _eigenvectors(total)


class DirectionalRegression(_InverseRegression):
    """Directional regression: the directions in which differences of samples vary with the slices of both.

    M = E[(2C - A)^2] over independent pairs of slices, A_st = E[(Z - Z~)(Z - Z~)' | s, t], C = Cov[Z]. In closed form

        M = 2 sum_s p_s (C - B_s)^2 + 2 T^2 + 2 tr(T) T,   T = sum_s p_s m_s m_s',

    so that it finds the directions of both :class:`SIR` (from T) and :class:`SAVE`.

    Parameters and attributes are those of :class:`SIR`; for class labels a class is a slice.

    References
    ----------
    Li, Wang, "On directional regression for dimension reduction", JASA 102, 2007.
    """

    def _leading(self, white: FloatArray, variances: FloatArray, slices: IntArray) -> tuple[FloatArray, FloatArray]:
        total = np.zeros((len(variances),) * 2)
        between = np.zeros_like(total)
        for share, rows in _parts(white, slices):
            difference = np.diag(variances) - rows.T @ rows / len(rows)
            total += share * (difference @ difference)
            mean = rows.mean(axis=0)
            between += share * np.outer(mean, mean)
        return _eigenvectors(2.0 * (total + between @ between + np.trace(between) * between))


def _parts(white: FloatArray, slices: IntArray) -> Iterator[tuple[float, FloatArray]]:
    """Yield the share of each slice, and its whitened samples."""
    for one in range(int(slices.max()) + 1):
        rows = white[slices == one]
        yield len(rows) / len(slices), rows


def _eigenvectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a positive semidefinite matrix that are not rounding, largest first, and vectors."""
    values, vectors = eigh(matrix)
    rank = numerical_rank(values[::-1], len(values))
    return values[::-1][:rank], vectors[:, ::-1][:, :rank]
