"""Spectral embedding of a kernel matrix, and clusters from it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kdrbench.evaluation.gram import DenseGram, HollowGram
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.krylov import largest_eigenpairs
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, require_finite

_RESIDUAL = 1e-8


def degree_scaling(gram: HollowGram) -> FloatArray | None:
    """Return the diagonal of D^-1/2, D_ii = sum_j K_ij, or ``None`` where a degree is not positive.

    Polynomial kernels of odd degree and the negative kernels (squared, multiquadric) have such rows, and a narrow
    Gaussian whose values underflow: D^-1/2 does not exist for them.

    Raises ``InputError`` when the kernel is not finite on these samples.
    """
    degrees = gram.degrees()
    require_finite(degrees)
    return degrees**-0.5 if (degrees > 0).all() else None


class Degrees:
    """D^-1/2 of one kernel matrix after the other; where it does not exist once, it is given up for good."""

    def __init__(self, wanted: bool) -> None:
        self.in_use = wanted

    def scaling(self, gram: HollowGram) -> FloatArray | None:
        """Return that of the next kernel matrix, or ``None``."""
        found = degree_scaling(gram) if self.in_use else None
        self.in_use = found is not None
        return found


def spectral_embedding(
    gram: HollowGram,
    n_clusters: int,
    *,
    scaling: FloatArray | None,
    centred: bool,
    start: FloatArray | None = None,
    tolerance: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues (descending) and orthonormal eigenvectors U (n x k) of D^-1/2 K D^-1/2.

    Without ``scaling`` D is the identity; ``centred`` puts H = I - 11'/n on both sides. Where K is not an array, a
    Krylov method finds them, from the guess ``start`` (n x k) if there is one, to residuals |A u - lambda u| of 1e-8
    |A|, or of a hundredth of ``tolerance`` where that is more.

    Raises ``InputError`` when the kernel is not finite on these samples.
    """
    if isinstance(gram, DenseGram):
        return leading_eigenvectors(_affinity(gram.array, scaling, centred), n_clusters)
    weights = 1.0 if scaling is None else scaling[:, None]

    def applied(columns: FloatArray) -> FloatArray:
        product = weights * gram.applied(weights * _centred(columns, centred))
        return _centred(product, centred)

    return largest_eigenpairs(
        applied, gram.n_samples, n_clusters, tolerance=max(_RESIDUAL, 0.01 * tolerance), start=start
    )


def _affinity(array: FloatArray, scaling: FloatArray | None, centred: bool) -> FloatArray:
    affinity = array if scaling is None else scaling[:, None] * array * scaling
    if centred:
        affinity = affinity - affinity.mean(axis=0)
        affinity -= affinity.mean(axis=1)[:, None]
    return 0.5 * (affinity + affinity.T)


def _centred(columns: FloatArray, wanted: bool) -> FloatArray:
    return columns - columns.mean(axis=0) if wanted else columns


def cluster_rows(embedding: FloatArray, seed: int = 0) -> NDArray[Any]:
    """Return the k-means labels of the rows of U (n x k), each scaled to length one: best of ten seeded starts.

    Source: Ng, Jordan, Weiss, "On spectral clustering", NIPS 2001, step 4. Rows of length zero stay zero.
    """
    # Imported here: supervised learning needs no k-means, and loading it takes longer than most solves.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    rows = embedding / np.where(lengths > 0, lengths, 1.0)
    # The work is in many short steps: threads wait for each other, on a busy machine many times longer than they work.
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then use fewer clusters, which can be seen in them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[Any] = KMeans(embedding.shape[1], n_init=10, random_state=seed).fit_predict(rows)
    return labels
