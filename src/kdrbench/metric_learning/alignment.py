"""A kernel for classification as the combination of base kernels that is most aligned with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.combination import Combination, Term, doubly_centred
from kdrbench.kernels.family import FloatArray, Kernel
from kdrbench.metric_learning.gram import AnyKernel, SamplePairs
from kdrbench.metric_learning.learner import class_codes
from kdrbench.metric_learning.neighbours import IntArray

# A base kernel whose other entries are below this share of its diagonal distinguishes no samples.
_NEAR_IDENTITY = 1e-6


@dataclass(frozen=True, eq=False)
class Alignment:
    """Weights v >= 0 of trace-normalised kernels, what they reach, and how far they are determined.

    ``alignment`` is the cosine between sum_k v_k K_k and the target. ``rank`` is that of the kernels as vectors:
    below their number the weights are not unique, and only the combination is. ``identity_share`` is the share of the
    combination's trace that nearly diagonal kernels bring: near 1, every sample is as far from all others.
    """

    weights: FloatArray
    alignment: float
    rank: int
    identity_share: float


def alignment_target(codes: IntArray) -> FloatArray:
    """Return T (n x n): 1 for two samples of one of the p classes, -1/(p - 1) otherwise.

    Source: Chatpatanasiri et al. 2010, Eqs. 9 to 12.
    """
    n_classes = len(np.unique(codes))
    target: FloatArray = np.where(codes[:, None] == codes, 1.0, -1.0 / (n_classes - 1))
    return target


def align(grams: Sequence[FloatArray], codes: IntArray, *, centred: bool = False) -> Alignment:
    """Return the weights whose combination of kernels K_k (n x n) is most aligned with the labels.

        max_v  <K, T> / (|K| |T|),   K = sum_k v_k K_k / (tr K_k / n),   v >= 0,  tr K = n

    Its direction solves the quadratic program min_v v'Mv - 2 v'b over v >= 0 with M_kl = <K_k, K_l> and
    b_k = <K_k, T>, which is the non-negative least squares problem min |sum_k v_k K_k - T|. It is solved from a QR
    factor of the kernels as vectors: M would square their condition.

    With ``centred``, kernels and target are centred in the inner products. Learners see centred kernels only, and the
    uncentred alignment also rewards what centring takes away: where classes are made of many clusters, as the 102
    molecules of Musk2, its kernel may be worse than none.

    Source: Chatpatanasiri et al. 2010, Eqs. 9 to 12; Cristianini et al. 2002; centred: Cortes, Mohri, Rostamizadeh,
    JMLR 13, 2012.

    Raises ``InputError`` without kernels, for one without trace, and when no kernel is positively aligned (b <= 0).
    """
    if not grams or any(gram.shape != (len(codes),) * 2 for gram in grams):
        raise InputError(
            f"alignment needs at least one kernel of {len(codes)} x {len(codes)} samples; got shapes "
            f"{[gram.shape for gram in grams]}"
        )
    traces = np.array([float(np.trace(gram)) for gram in grams])
    if not (np.isfinite(traces).all() and traces.min() > 0):
        raise InputError(f"kernel {int(traces.argmin())} has the trace {traces.min():.6g}; it must be > 0")
    scales = len(codes) / traces
    prepare = doubly_centred if centred else np.asarray
    columns = np.column_stack([prepare(scale * gram).ravel() for scale, gram in zip(scales, grams, strict=True)])
    target = prepare(alignment_target(codes)).ravel()
    weights, rank = _nonnegative(columns, target)
    share = weights / weights.sum()
    fitted = columns @ share
    reached = float(fitted @ target / np.linalg.norm(fitted) / np.linalg.norm(target))
    nearly = np.array([_near_identity(gram) for gram in grams])
    return Alignment(share, reached, rank, float(share[nearly].sum()))


def _nonnegative(columns: FloatArray, target: FloatArray) -> tuple[FloatArray, int]:
    """Return the minimiser of |columns v - target| over v >= 0, and the columns' rank."""
    from scipy.optimize import nnls

    norms = np.linalg.norm(columns, axis=0)
    units = columns / np.where(norms > 0, norms, 1.0)
    products = units.T @ target
    # A cosine of rounding's size is none.
    if not np.any(products > 1e-12 * np.linalg.norm(target)):
        raise InputError(
            "no kernel is positively aligned with the labels (b <= 0 in the alignment's quadratic program); "
            "choose other kernels, or select one by cross validation"
        )
    orthonormal, triangle = np.linalg.qr(units)
    rank = int(np.linalg.matrix_rank(triangle, rtol=1e-12))
    weights, _ = nnls(triangle, orthonormal.T @ target, maxiter=100 * len(norms))
    scaled: FloatArray = weights / np.where(norms > 0, norms, 1.0)
    return scaled, rank


def aligned_kernel(
    kernels: Sequence[Kernel],
    pairs: SamplePairs,
    labels: NDArray[np.generic],
    *,
    centred: bool = False,
) -> tuple[Combination, Alignment]:
    """Return the combination of ``kernels`` that :func:`align` finds on ``pairs`` of the training samples, and how."""
    codes = class_codes(labels)
    grams = [pairs.gram(kernel) for kernel in kernels]
    alignment = align(grams, codes, centred=centred)
    traces = [float(np.trace(gram)) / len(gram) for gram in grams]
    terms = [
        Term(float(weight) / trace, kernel)
        for weight, trace, kernel in zip(alignment.weights, traces, kernels, strict=True)
        if weight > 0
    ]
    return Combination(tuple(terms)), alignment


def check_single_kernels(kernels: Sequence[AnyKernel]) -> Sequence[Kernel]:
    """Return ``kernels``; ``InputError`` unless each is a single kernel of :mod:`kdrbench.kernels`."""
    if any(callable(kernel) or isinstance(kernel, Combination) for kernel in kernels):
        raise InputError("alignment combines single kernels of kdrbench.kernels; select others by cross_validation")
    return kernels  # type: ignore[return-value]


def _near_identity(gram: FloatArray) -> bool:
    rest = gram - np.diag(np.diagonal(gram))
    return bool(np.abs(rest).max() <= _NEAR_IDENTITY * np.abs(np.diagonal(gram)).max())
