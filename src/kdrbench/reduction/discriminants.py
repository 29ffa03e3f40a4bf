"""Discriminant analysis beyond the linear one: by kernels, and by local scatter."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, null_space

from kdrbench.errors import InputError
from kdrbench.estimators.definitions import Options, kernel_definition, pairwise_kernel
from kdrbench.kernels import Kernel
from kdrbench.kernels.family import FloatArray, Pairing, pairing_block
from kdrbench.memory import check_memory
from kdrbench.metric_learning import squared_distances
from kdrbench.parameters import COUNT, POSITIVE
from kdrbench.reduction.common import (
    Components,
    LinearReducer,
    Reducer,
    Response,
    Shrinkage,
    in_their_span,
    numerical_rank,
    shrinkage_of,
)


@dataclass(repr=False, eq=False)
class KernelDiscriminantAnalysis(Reducer):
    """Kernel Fisher discriminant analysis: linear discriminants of feature vectors, at most one less than classes.

    Maximises w'S_b w / w'(S_w + c I) w over w in the feature space of a kernel, S_b and S_w the scatter matrices (over
    n) between and within classes of feature vectors, c = ``regularization`` tr(S_b + S_w). With Z (n x (k - 1)) an
    orthonormal basis of the centred class indicators and HKH the centred kernel matrix, w = sum_i a_i phi(x_i),

        a = (HKH + n c I)^-1 Z b,   Z'HKH (HKH + n c I)^-1 Z b = l b,

    one Cholesky factor of n x n and an eigenproblem of k - 1. ``fit`` raises ``ValueError`` before it begins where n x
    n arrays would not fit in memory.

    Parameters
    ----------
    n_components : int or None
        The most components; ``None``: k - 1.
    kernel : str or kernel
        Family of :mod:`kdrbench.kernels`: ``gaussian``, ``polynomial``, ``linear``; or a kernel object.
    kernel_params : dict or None
        Options of the family; those left out have its defaults: a Gaussian's sigma is the median distance.
    regularization : float
        c as a share of the variance of feature vectors, > 0.

    Attributes
    ----------
    dual_components_ : ndarray of shape (q, n_samples)
        Rows a': values are k(x, samples_) a less a constant. Their covariance is I less a share of c.
    eigenvalues_ : ndarray of shape (q,)
        l, largest first: l / (1 - l) is the ratio that is maximised.
    kernel_ :
        The kernel with its bandwidth.
    samples_ : ndarray of shape (n_samples, n_features)
        The training samples.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf, Mueller, "Fisher discriminant analysis with kernels", NNSP 1999; Baudat, Anouar,
    "Generalized discriminant analysis using a kernel approach", Neural Computation 12, 2000 (several classes).
    """

    n_components: Components = None
    _: KW_ONLY
    kernel: str | Kernel = "gaussian"
    kernel_params: Options = None
    regularization: Annotated[float, POSITIVE] = 1e-3

    _continuous = False
    _bytes_of_pairs = 18.0

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        n_samples = len(features)
        kernel = pairwise_kernel(self, kernel_definition(self), features, n_components)
        self.kernel_, self.samples_ = kernel, features
        gram = _gram(kernel, features, features)
        self._means = gram.mean(axis=0)
        gram -= self._means
        gram -= gram.mean(axis=1, keepdims=True)
        ridge = self.regularization * float(np.trace(gram))
        if not ridge > 0.0:
            raise InputError("the kernel is constant or not positive semidefinite on these samples; choose another one")
        gram[np.diag_indices(n_samples)] += ridge
        # An orthonormal basis (n x (k - 1)) of the class indicators less their means.
        indicators = response.indicators()
        sizes = np.sqrt(indicators.sum(axis=0))
        basis = (indicators / sizes) @ null_space(sizes[None, :])
        try:
            # The transpose is in Fortran's order, so that it is factored in place.
            solved = cho_solve(cho_factor(gram.T, lower=True, overwrite_a=True), basis)
        except LinAlgError as error:
            raise InputError("the kernel is not positive semidefinite on these samples; choose another one") from error
        # Z'HKH (HKH + r I)^-1 Z = I - r Z'(HKH + r I)^-1 Z.
        values, vectors = eigh(ridge * (basis.T @ solved))
        count = min(n_components, len(values))
        self.eigenvalues_ = np.clip(1.0 - values[:count], 0.0, 1.0)
        scale = np.sqrt(n_samples / np.maximum(self.eigenvalues_, np.finfo(float).eps))
        self.dual_components_ = ((solved @ vectors[:, :count]) * scale).T
        self._n_features_out = count

    def _mapped(self, features: FloatArray) -> FloatArray:
        gram = _gram(self.kernel_, features, self.samples_)
        return np.asarray((gram - self._means) @ self.dual_components_.T)


def _gram(kernel: Kernel, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return K for rows of ``left`` (m x d) and ``right`` (n x d), m x n; ``InputError`` where it is not finite."""
    if kernel.pairing is Pairing.DIFFERENCE:
        gram = kernel.value(squared_distances(left, right))
    else:
        gram = kernel.value(pairing_block(kernel.pairing, left, right))
    if not np.isfinite(gram).all():
        raise InputError("the kernel overflows on these samples: scale the features")
    return gram


@dataclass(repr=False, eq=False)
class LFDA(LinearReducer):
    """Local Fisher discriminant analysis: classes apart, near samples of a class together.

    A class may be several clusters, which stay apart.

    Maximises tr((W'S_w W)^-1 W'S_b W) over the local scatter matrices

        S_w = 1/2 sum_ij w_ij (x_i - x_j)(x_i - x_j)',  w_ij = a_ij / n_c in a class c of n_c samples, else 0,
        S_b = 1/2 sum_ij b_ij (x_i - x_j)(x_i - x_j)',  b_ij = a_ij (1/n - 1/n_c) in a class, else 1/n,

    a_ij = exp(-|x_i - x_j|^2 / (s_i s_j)), s_i the distance of x_i to its ``n_neighbors``-th nearest sample of its
    class. With a_ij = 1 it is linear discriminant analysis. Unlike that, it has n_features components.

    Parameters
    ----------
    n_components : int or None
        Number of components; ``None``: one less than the number of classes.
    n_neighbors : int
        Of local scaling; the farthest sample of a class that has fewer.
    shrinkage : "auto", float or None
        s of (1 - s) S_w + s tr(S_w) / d I in the place of S_w. ``None``: 0 if S_w is regular in the span of the
        samples, else ``auto``, that of Ledoit and Wolf (2004) for the samples less their class means.

    Attributes
    ----------
    components_ : ndarray of shape (q, n_features)
        Rows v' with v'S_w v = 1 times the square root of their eigenvalues; q is at most
        ``n_components`` and the rank of the features.
    eigenvalues_ : ndarray of shape (q,)
        The ratios of local scatter, largest first.

    References
    ----------
    Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", JMLR 8, 2007
    (section 3). Local scaling: Zelnik-Manor, Perona, "Self-tuning spectral clustering", NIPS 2004.
    """

    n_components: Components = None
    _: KW_ONLY
    n_neighbors: Annotated[int, COUNT] = 7
    shrinkage: Shrinkage = None

    _continuous = False

    def _rows(self, centred: FloatArray, response: Response, n_components: int) -> FloatArray:
        # Neither scatter has anything orthogonal to all samples.
        samples, span = in_their_span(centred)
        within, between = _local_scatter(samples, response, self.n_neighbors)
        spectrum = eigh(within, eigvals_only=True)[::-1]
        if not spectrum.sum() > np.finfo(float).eps * np.square(centred).sum():
            raise InputError("the samples of each class coincide: LFDA needs scatter within classes")
        regular = numerical_rank(spectrum, len(centred)) == len(within)
        means = np.array([centred[response.values == one].mean(axis=0) for one in range(response.n_classes)])
        share = shrinkage_of(self.shrinkage, centred - means[response.values], forced=not regular)
        shrunk = (1.0 - share) * within + share * np.trace(within) / centred.shape[1] * np.eye(len(span))
        values, vectors = eigh(between, shrunk)
        self.eigenvalues_ = values[::-1][:n_components]
        rows: FloatArray = (span.T @ vectors[:, ::-1][:, :n_components]).T
        rows *= np.sqrt(np.maximum(self.eigenvalues_, np.finfo(float).eps))[:, None]
        return rows


def _local_scatter(samples: FloatArray, response: Response, n_neighbors: int) -> tuple[FloatArray, FloatArray]:
    """Return S_w and S_b of :class:`LFDA` for centred samples (n x r), r x r, from pairs within classes alone.

    With P_c = 1/n_c X_c'(D - A)X_c and T_c the scatter of a class, S_w = sum_c P_c and
    S_b = X'X - sum_c (n_c / n T_c + (1 - n_c / n) P_c).
    """
    within = np.zeros((samples.shape[1],) * 2)
    between = samples.T @ samples
    for one in range(response.n_classes):
        rows = samples[response.values == one]
        rows = rows - rows.mean(axis=0)
        count, share = len(rows), len(rows) / len(samples)
        check_memory(24 * count**2, f"the affinities of {count} samples", "learn from fewer samples")
        affinity = squared_distances(rows, rows)
        scales = np.sqrt(np.partition(affinity, min(n_neighbors, count - 1), axis=1)[:, min(n_neighbors, count - 1)])
        # Samples that coincide with their neighbours are near to these alone.
        affinity /= np.maximum(np.outer(scales, scales), np.finfo(float).tiny)
        affinity = np.exp(-affinity)
        local = rows.T @ (affinity.sum(axis=1)[:, None] * rows - affinity @ rows) / count
        within += local
        between -= share * (rows.T @ rows) + (1.0 - share) * local
    return 0.5 * (within + within.T), 0.5 * (between + between.T)
