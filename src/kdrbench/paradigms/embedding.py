"""Spectral embedding of a kernel matrix, and clusters from it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels import Combination, Kernel, gram_matrix
from kdrbench.kernels.family import FloatArray
from kdrbench.solvers.stiefel import leading_eigenvectors, require_finite


def hollow_gram(kernel: Kernel | Combination, samples: FloatArray) -> FloatArray:
    """Return the kernel matrix with its diagonal set to zero, as in every problem of the papers.

    Raises ``InputError`` when the kernel is not finite on these samples.
    """
    gram = gram_matrix(kernel, samples)
    require_finite(gram)
    np.fill_diagonal(gram, 0.0)
    return gram


def degree_scaling(gram: FloatArray) -> FloatArray | None:
    """Return the diagonal of D^-1/2, D_ii = sum_j K_ij, or ``None`` where a degree is not positive.

    Polynomial kernels of odd degree and the negative kernels (squared, multiquadric) have such rows, and a narrow
    Gaussian whose values underflow: D^-1/2 does not exist for them.
    """
    degrees = gram.sum(axis=1)
    return degrees**-0.5 if (degrees > 0).all() else None


def spectral_embedding(
    gram: FloatArray, n_clusters: int, *, scaling: FloatArray | None, centred: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues (descending) and orthonormal eigenvectors U (n x k) of D^-1/2 K D^-1/2.

    Without ``scaling`` D is the identity; ``centred`` puts H = I - 11'/n on both sides.
    """
    affinity = gram if scaling is None else scaling[:, None] * gram * scaling
    if centred:
        affinity = affinity - affinity.mean(axis=0)
        affinity -= affinity.mean(axis=1)[:, None]
    return leading_eigenvectors(0.5 * (affinity + affinity.T), n_clusters)


def cluster_rows(embedding: FloatArray, seed: int = 0) -> NDArray[Any]:
    """Return the k-means labels of the rows of U (n x k), each scaled to length one: best of ten seeded starts.

    Source: Ng, Jordan, Weiss, "On spectral clustering", NIPS 2001, step 4. Rows of length zero stay zero.
    """
    # Imported here: supervised learning needs no k-means, and loading it takes longer than most solves.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    rows = embedding / np.where(lengths > 0, lengths, 1.0)
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then use fewer clusters, which can be seen in them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[Any] = KMeans(embedding.shape[1], n_init=10, random_state=seed).fit_predict(rows)
    return labels
