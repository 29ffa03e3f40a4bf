"""Linear maps by a kernel on y and one eigenproblem: gradient-based KDR and supervised PCA."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, null_space, svd

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, median_distance
from kdrbench.kernels.bounded_factor import bounded_factor
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import squared_distances
from kdrbench.metric_learning.neighbours import row_blocks
from kdrbench.parameters import POSITIVE
from kdrbench.reduction.common import Components, LinearReducer, Response, Target, in_their_span, numerical_rank

# Kernels on continuous targets are factored up to this share of their trace.
_TARGET_TOLERANCE = 1e-10


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
