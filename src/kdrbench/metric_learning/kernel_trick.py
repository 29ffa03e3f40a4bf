"""The classical kernel trick for the same learners, in dual variables: what the KPCA trick is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.dne import dne_weights, n_negative
from kdrbench.metric_learning.kernel_pca import rank_threshold
from kdrbench.metric_learning.learner import checked_classes, laplacian
from kdrbench.metric_learning.nca import nca_slopes
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_value, optional


@dataclass(frozen=True, eq=False)
class KDNESolution:
    """Dual variables U (n x d): x -> U'k_x, their eigenvalues (d), and what is known of the problem.

    ``rank`` and ``condition`` are those of the kernel, the latter from its smallest eigenvalue even if that is rounding
    noise; ``singular`` says that rank < n.
    """

    dual: FloatArray
    values: FloatArray
    rank: int
    condition: float

    @property
    def singular(self) -> bool:
        """Whether the exact problem has undetermined eigenvalues (Proposition 2)."""
        return self.rank < len(self.dual)


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
    if rank < n_samples and epsilon == 0.0:
        raise InputError(_singular(rank, n_samples, condition))
    try:
        values, vectors = eigh(0.5 * (form + form.T), metric)
    except LinAlgError as error:
        raise InputError(_singular(rank, n_samples, condition)) from error
    kept = n_negative(values) if n_components is None else n_components
    return KDNESolution(vectors[:, :kept], values[:kept], rank, condition)


def _singular(rank: int, n_samples: int, condition: float) -> str:
    return (
        f"KDNE's generalised eigenproblem is singular: the kernel has rank {rank} of {n_samples} "
        f"(condition {condition:.3g}), so that some eigenvalues are undetermined; set epsilon > 0, or use the "
        "KPCA trick"
    )


@dataclass(frozen=True, eq=False)
class KNCAPoint:
    """KNCA at U (n x d): f, its gradient by U, and the direction V (n x d) with df/dA = Phi V.

    Phi holds the feature vectors as columns. A descent of A = Phi U by df/dA is one of U by V; the gradient by U is KV.
    """

    value: float
    gradient: FloatArray
    direction: FloatArray


def knca(dual: FloatArray, gram: FloatArray, codes: IntArray, *, regularisation: float = 0.0) -> KNCAPoint:
    """Evaluate NCA by the kernel trick, where A = Phi U and x -> U'k_x.

        f(U) = -sum_i sum_{j != i, y_j = y_i} p_ij + r tr(U'KU),   p_ij by exp(-|U'k_i - U'k_j|^2)
        V = 2 S K U + 2 r U

    with S the Laplacian of :func:`nca_objective`, r = ``regularisation``, and tr(U'KU) = |A|^2 (Hilbert-Schmidt).

    Source: Chatpatanasiri et al. 2010, Proposition 1 and Theorem 3.
    """
    mapped = gram @ dual
    value, moved = nca_slopes(mapped, codes)
    direction: FloatArray = 2.0 * moved + 2.0 * regularisation * dual
    penalty = regularisation * float(np.vdot(dual, mapped))
    return KNCAPoint(value + penalty, gram @ direction, direction)
