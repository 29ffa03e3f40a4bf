"""Kernel principal component analysis (KPCA), and the KPCA trick that makes kernel versions of learners with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.gram import AnyKernel, SamplePairs
from kdrbench.metric_learning.learner import Learner, learn_map
from kdrbench.parameters import COUNT, check_value, optional

# The package's one notion of rank: eigenvalues below this share of the largest are zero.
RANK_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class KernelPCA:
    """Orthonormal coordinates of feature vectors about the mean of n training ones.

        z(x) = Lambda^-1/2 V' H (k_x - K1/n)

    for the eigenvectors V (n x r) and eigenvalues ``values`` Lambda > 0, largest first, of HKH, H = I - 11'/n, and
    k_x the kernel of x with the training samples. Distances of coordinates are those of feature vectors, projected to
    the span of the training ones. ``scaled_vectors`` is V Lambda^-1/2, ``column_means`` K1/n.

    Source: Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", 1998;
    Chatpatanasiri et al. 2010, section 3.
    """

    values: FloatArray
    scaled_vectors: FloatArray
    column_means: FloatArray

    def transform(self, gram: FloatArray) -> FloatArray:
        """Return the coordinates (m x r) of m samples from their kernel with the n training ones (m x n).

        Training samples have the same coordinates whether they come back alone, together or in another order.
        Raises ``InputError`` for another number of columns.
        """
        if gram.ndim != 2 or gram.shape[1] != len(self.column_means):
            raise InputError(
                f"the kernel must be between samples and the {len(self.column_means)} training samples, "
                f"m x {len(self.column_means)}; got shape {gram.shape}"
            )
        centred = gram - self.column_means
        centred -= centred.mean(axis=1, keepdims=True)
        coordinates: FloatArray = centred @ self.scaled_vectors
        return coordinates


def kernel_pca(gram: FloatArray, n_components: int | None = None) -> KernelPCA:
    """Return KPCA of a training kernel K (n x n), all components or the ``n_components`` largest there are.

    K need be positive semidefinite only once centred; a constant added to it changes nothing. Eigenvalues up to
    1e-12 of the largest, or up to the rounding errors of K itself, count as zero.

    Raises ``InputError`` for a K that is not square, symmetric and finite, has a negative eigenvalue once centred, or
    is constant, and for ``n_components`` that is not an integer >= 1.
    """
    check_value("n_components", n_components, optional(COUNT))
    _check_symmetric(gram)
    means = gram.mean(axis=0)
    centred = gram - means
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = eigh(0.5 * (centred + centred.T))
    threshold = rank_threshold(values, float(np.abs(gram).max()))
    if values[0] < -threshold:
        raise InputError(
            f"the kernel is not positive semidefinite: once centred, its most negative eigenvalue is {values[0]:.6g} "
            f"(the largest is {values[-1]:.6g}); choose another kernel, or clip its eigenvalues first"
        )
    kept = np.flatnonzero(values > threshold)[::-1][:n_components]
    if not len(kept):
        raise InputError(f"the kernel is constant on these {len(gram)} samples; there is nothing to learn from")
    return KernelPCA(values[kept], vectors[:, kept] / np.sqrt(values[kept]), means)


def rank_threshold(values: FloatArray, magnitude: float) -> float:
    """Return up to where eigenvalues of a matrix are zero, given those and the largest entry before centring."""
    rounding = 8.0 * len(values) * float(np.finfo(np.float64).eps) * magnitude
    return max(RANK_TOLERANCE * float(np.abs(values).max()), rounding)


def _check_symmetric(gram: FloatArray) -> None:
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
        raise InputError(f"a training kernel must be a finite square matrix, got shape {gram.shape}")
    asymmetry, largest = float(np.abs(gram - gram.T).max()), float(np.abs(gram).max())
    if asymmetry > 1e-8 * largest:
        raise InputError(
            f"a training kernel must be symmetric; entries differ from their mirror by up to {asymmetry:.3g}"
        )


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A learned map on coordinates: x -> A'z(x), whose Euclidean distances are the learned ones.

    ``samples`` are the training samples, or ``None`` where the kernel is given as matrices.
    """

    coordinates: KernelPCA
    projection: FloatArray
    kernel: AnyKernel | None
    samples: FloatArray | None

    def transform(self, features: FloatArray) -> FloatArray:
        """Return A'z(x) (m x d) for m x D features, or for their kernel with the training samples (m x n)."""
        if self.kernel is None or self.samples is None:
            return self.transform_gram(features)
        if features.ndim != 2 or features.shape[1] != self.samples.shape[1]:
            raise InputError(f"expected features with {self.samples.shape[1]} columns, got shape {features.shape}")
        return self.transform_gram(SamplePairs(features, self.samples).gram(self.kernel, up_to_constant=True))

    def transform_gram(self, gram: FloatArray) -> FloatArray:
        """Do the same from the kernel matrix (m x n)."""
        mapped: FloatArray = self.coordinates.transform(gram) @ self.projection
        return mapped


@dataclass(frozen=True)
class KPCATrick:
    """``learner`` in the feature space of ``kernel``.

    By the representer theorem an optimal map of feature vectors needs only their components in the span of the training
    ones, and there KPCA coordinates are orthonormal: the learner, unchanged, finds in coordinates what its kernelised
    formula would find in dual variables, with the same objective, also with a Frobenius (Hilbert-Schmidt) regulariser.

    ``kernel`` is a kernel or combination of :mod:`kdrbench.kernels`, for instance :func:`scaled_gaussian`; a function
    of two arrays of features; or "precomputed", and then kernel matrices replace features. ``n_components`` keeps
    only the largest components (Remark 4): quicker, and not the same result.

    Source: Chatpatanasiri, Korsrilabutr, Tangchanachaianan, Kijsirikul, "A new kernelization framework for Mahalanobis
    distance learning algorithms", Neurocomputing 73, 2010: Theorems 1 to 3, Proposition 3.
    """

    kernel: AnyKernel | str
    learner: Learner
    n_components: int | None = None

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> KernelMap:
        """Learn from ``features`` (n x D), or a kernel matrix (n x n), and n class labels.

        Raises ``InputError`` for a kernel that is not positive semidefinite or constant, and whatever the learner
        refuses.
        """
        if isinstance(self.kernel, str):
            if self.kernel != "precomputed":
                raise InputError(
                    f"a kernel must be 'precomputed', a kernel of kdrbench.kernels or a function; got {self.kernel!r}"
                )
            return fit_in_coordinates(self.learner, features, labels, self.n_components)
        if not np.isfinite(features).all():
            raise InputError(f"features hold {int((~np.isfinite(features)).sum())} NaN or infinite values")
        gram = SamplePairs(features, features).gram(self.kernel, up_to_constant=True)
        trick = fit_in_coordinates(self.learner, gram, labels, self.n_components)
        return KernelMap(trick.coordinates, trick.projection, self.kernel, features)


def fit_in_coordinates(
    learner: Learner, gram: FloatArray, labels: NDArray[np.generic], n_components: int | None = None
) -> KernelMap:
    """Return the learner's map in the KPCA coordinates of a training kernel (n x n)."""
    coordinates = kernel_pca(gram, n_components)
    return KernelMap(coordinates, learn_map(learner, coordinates.transform(gram), labels), None, None)
