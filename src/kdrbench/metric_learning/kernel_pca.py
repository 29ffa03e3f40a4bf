"""Coordinates of centred feature vectors by kernel principal component analysis (KPCA)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
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
