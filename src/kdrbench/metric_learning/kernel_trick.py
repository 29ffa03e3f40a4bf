"""The classical kernel trick for DNE, in dual variables: what the KPCA trick is compared with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.dne import dne_weights, n_negative
from kdrbench.metric_learning.kernel_pca import rank_threshold
from kdrbench.metric_learning.learner import checked_classes, laplacian
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_value, optional


class KDNESolution(NamedTuple):
    """Dual variables U (n x d): x -> U'k_x, and their eigenvalues (d)."""

    dual: FloatArray
    values: FloatArray


def kernel_distances(gram: FloatArray) -> FloatArray:
    """Return the squared distances of feature vectors from their kernel (n x n)."""
    squared: FloatArray = -2.0 * gram
    squared += np.diagonal(gram)[:, None]
    squared += np.diagonal(gram)
    np.fill_diagonal(squared, 0.0)
    return np.maximum(squared, 0.0, out=squared)


def kdne(
    gram: FloatArray,
    labels: NDArray[np.generic],
    n_neighbours: int = 3,
    *,
    epsilon: float = 0.0,
    n_components: int | None = None,
) -> KDNESolution:
    """Solve DNE by the kernel trick, a generalised eigenproblem.

        K(D - W)K u = lambda (K + epsilon tr(K)/n I) u,   u'(K + ...)u = 1

    for a kernel K (n x n), with W as in :class:`DNE` by distances of feature vectors; U holds the eigenvectors to the
    negative eigenvalues, or to the ``n_components`` smallest.

    Source: Chatpatanasiri et al. 2010, Proposition 2: if K is singular, K(D - W)K is singular on the same vectors,
    which then solve the equation with any lambda. An ``epsilon`` > 0 makes it regular, and another problem.

    Raises ``InputError`` when K is singular, or too near to it for the Cholesky factor, and epsilon is zero.
    """
    check_value("epsilon", epsilon, NOT_NEGATIVE)
    check_value("n_components", n_components, optional(COUNT))
    codes = checked_classes(gram, labels)
    n_samples, spectrum = len(gram), np.asarray(np.linalg.eigvalsh(gram), dtype=np.float64)
    rank = int(np.count_nonzero(spectrum > rank_threshold(spectrum, float(np.abs(gram).max()))))
    condition = float(spectrum[-1] / max(abs(spectrum[0]), np.finfo(np.float64).tiny))
    form = gram @ (0.5 * laplacian(dne_weights(kernel_distances(gram), codes, n_neighbours))) @ gram
    metric = gram + epsilon * float(np.trace(gram)) / n_samples * np.eye(n_samples)
    singular = (
        f"KDNE's generalised eigenproblem is singular: the kernel has rank {rank} of {n_samples} "
        f"(condition {condition:.3g}), so that some eigenvalues are undetermined; set epsilon > 0, or use the "
        "KPCA trick"
    )
    if rank < n_samples and epsilon == 0.0:
        raise InputError(singular)
    try:
        values, vectors = eigh(0.5 * (form + form.T), metric)
    except LinAlgError as error:
        raise InputError(singular) from error
    kept = n_negative(values) if n_components is None else n_components
    return KDNESolution(vectors[:, :kept], values[:kept])
