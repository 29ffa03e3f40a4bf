"""Sufficient dimension reduction: the directions of X on which y depends, by inverse regression or a kernel on y.

SIR, SAVE and directional regression look at the distribution of X given y, in slices of y. With Z = X whitened, slices
s of share p_s, m_s = E[Z | s], V_s = Cov[Z | s] and B_s = V_s + m_s m_s', each takes the leading eigenvectors of a
matrix M of these moments. Gradient-based KDR and supervised PCA take those of a matrix that a kernel on y makes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, null_space, svd

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, median_distance
from kdrbench.kernels.bounded_factor import bounded_factor
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.neighbours import row_blocks
from kdrbench.metric_learning import squared_distances
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import POSITIVE, whole
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

# Kernels on continuous targets are factored up to this share of their trace.
_TARGET_TOLERANCE = 1e-10


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


@dataclass(repr=False, eq=False)
class GradientKDR(LinearReducer):
    """Gradient-based kernel dimension reduction (gKDR): the directions in which E[f(y) | x] changes.

    The gradients of all regression functions of y on x, estimated by kernel ridge regression, span the directions that
    y depends on. Takes the leading eigenvectors of their mean outer product,

        M = 1/n sum_i D_i' (K + n e I)^-1 L (K + n e I)^-1 D_i,   D_i (n x d) = grad_x k(., x) at x_i,

    K the Gaussian kernel of the samples, L that of y: for class labels 1 for equal ones and 0 else, for continuous y a
    Gaussian. Takes n x n memory and O(n^2 (n + d r)) operations, r the rank of L.

    Parameters
    ----------
    n_components : int or None
        The most components: at most the rank of the samples. ``None``: one less than the number of classes, or 1.
    bandwidth : float
        sigma of K = exp(-|x - z|^2 / (2 sigma^2)) as a share of the median distance of the samples, > 0.
    regularization : float
        e, > 0.

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        Orthonormal rows.
    eigenvalues_ : ndarray of shape (q,)
        Of M, largest first.
    sigma_ : float
        The bandwidth.

    References
    ----------
    Fukumizu, Leng, "Gradient-based kernel dimension reduction for regression", JASA 109, 2014 (arXiv 1109.0455). The
    defaults are those of the authors' sample program; they tune the bandwidths over 0.25 to 2 medians.
    """

    n_components: Components = None
    _: KW_ONLY
    bandwidth: Annotated[float, POSITIVE] = 1.0
    regularization: Annotated[float, POSITIVE] = 1e-5
    target: Target = "auto"

    _bytes_of_pairs = 18.0

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        n_samples = len(centred)
        self.sigma_ = self.bandwidth * median_distance(centred)
        kernel = Gaussian(self.sigma_)
        targets = response.indicators()
        if response.classes is None:
            factors = bounded_factor(Gaussian(median_distance(targets)), targets, _TARGET_TOLERANCE, n_samples)
            if factors is None:
                raise InputError("the kernel of y has no finite values; scale y")
            targets = factors[0]
        # Gradients are sums of differences of samples.
        samples, span = in_their_span(centred)
        gram = kernel.value(squared_distances(samples, samples))
        gram[np.diag_indices(n_samples)] += n_samples * self.regularization
        # The transpose is in Fortran's order, so that it is factored in place.
        weights = cho_solve(cho_factor(gram.T, lower=True, overwrite_a=True), targets)
        values, vectors = eigh(_gradient_moment(kernel, samples, weights))
        self.eigenvalues_ = values[::-1][:n_components]
        return np.asarray(vectors[:, ::-1][:, :n_components].T @ span)


def _gradient_moment(kernel: Gaussian, features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return 1/n sum_i G_i'G_i (d x d), where row c of G_i is the gradient of sum_j w_jc k(., x_j) at x_i."""
    n_samples, n_features = features.shape
    moment: FloatArray = np.zeros((n_features, n_features))
    for rows in row_blocks(n_samples, n_features):
        gram = kernel.value(squared_distances(features[rows], features))
        for column in weights.T:
            # The gradient of k(x, x_j) is k(x, x_j) (x_j - x) / sigma^2.
            gradients = gram @ (column[:, None] * features) - (gram @ column)[:, None] * features[rows]
            moment += gradients.T @ gradients
    moment /= n_samples * kernel.sigma**4
    return moment


@dataclass(repr=False, eq=False)
class SupervisedPCA(LinearReducer):
    """Supervised principal components: the orthonormal directions with the largest HSIC with y.

    Maximises tr(W'X'HLHXW) over W'W = I, H = I - 11'/n: the Hilbert-Schmidt independence criterion with a linear kernel
    on XW. Its solution is the leading eigenvectors of X'HLHX, here the singular vectors of X'HR with L = RR', in
    O(n d r) operations. With L = I it is PCA. For class labels L is 1 for equal ones and 0 else,
    for continuous y it is yy'.

    Parameters
    ----------
    n_components : int or None
        The most components; k classes, or a linear kernel on y, have at most k - 1, or 1. ``None``: that many.

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        Orthonormal rows; q is at most ``n_components`` and the rank of X'HLHX.
    eigenvalues_ : ndarray of shape (q,)
        Of X'HLHX, largest first.

    References
    ----------
    Barshan, Ghodsi, Azimifar, Zolghadri Jahromi, "Supervised principal component analysis: visualization,
    classification and regression on subspaces and submanifolds", Pattern Recognition 44, 2011 (Algorithm 1, and its
    dual form).
    """

    n_components: Components = None
    _: KW_ONLY
    target: Target = "auto"

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        targets = response.indicators()
        targets = targets - targets.mean(axis=0)
        if response.classes is not None:
            # HY 1 = 0, so that HY, of rank k - 1, may be taken in a basis of what is orthogonal to 1.
            targets = targets @ null_space(np.ones((1, targets.shape[1])))
        vectors, singular, _ = svd(centred.T @ targets, full_matrices=False)
        count = min(numerical_rank(singular, len(centred)), n_components)
        self.eigenvalues_ = singular[:count] ** 2
        return np.asarray(vectors[:, :count].T)
