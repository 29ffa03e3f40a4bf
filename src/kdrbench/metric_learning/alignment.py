"""A kernel for classification as the combination of base kernels that is most aligned with the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.combination import Combination, Term
from kdrbench.kernels.family import FloatArray, Kernel
from kdrbench.metric_learning.gram import AnyKernel, SamplePairs
from kdrbench.metric_learning.learner import class_codes
from kdrbench.metric_learning.neighbours import IntArray, row_blocks

# A base kernel whose other entries are below this share of its diagonal distinguishes no samples.
_NEAR_IDENTITY = 1e-6
# Some rows of the kernels: a slice -> one (rows) x n array for each.
_KernelRows = Callable[[slice], list[FloatArray]]


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
    return _target_rows(codes, slice(None))


def _target_rows(codes: IntArray, rows: slice) -> FloatArray:
    n_classes = len(np.unique(codes))
    target: FloatArray = np.where(codes[rows, None] == codes, 1.0, -1.0 / (n_classes - 1))
    return target


def align(grams: Sequence[FloatArray], codes: IntArray, *, centred: bool = False) -> Alignment:
    """Return the weights whose combination of kernels K_k (n x n) is most aligned with the labels.

        max_v  <K, T> / (|K| |T|),   K = sum_k v_k K_k / (tr K_k / n),   v >= 0,  tr K = n

    Its direction solves the quadratic program min_v v'Mv - 2 v'b over v >= 0 with M_kl = <K_k, K_l> and
    b_k = <K_k, T>, which is the non-negative least squares problem min |sum_k v_k K_k - T|. It is solved from the
    triangle of a QR decomposition of the kernels as vectors: M would square their condition.

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
    return _aligned(lambda rows: [gram[rows] for gram in grams], codes, centred=centred)[0]


def _aligned(kernel_rows: _KernelRows, codes: IntArray, *, centred: bool) -> tuple[Alignment, FloatArray]:
    """Return the alignment of kernels that come a block of rows at a time, and their traces; O(n) memory."""
    traces, means, nearly = _summary(kernel_rows, len(codes))
    if not (np.isfinite(traces).all() and traces.min() > 0):
        raise InputError(f"kernel {int(traces.argmin())} has the trace {traces.min():.6g}; it must be > 0")
    scales, triangle = len(codes) / traces, np.zeros((0, len(traces) + 1))
    counts = np.bincount(codes)[codes]
    of_target = (counts - (len(codes) - counts) / (len(np.unique(codes)) - 1)) / len(codes)
    for rows in row_blocks(len(codes)):
        blocks = [*kernel_rows(rows), _target_rows(codes, rows)]
        if centred:
            # Of symmetric matrices: the means of columns are those of rows.
            blocks = [
                block - mean[rows, None] - mean + mean.mean()
                for block, mean in zip(blocks, [*means, of_target], strict=True)
            ]
        columns = np.column_stack([block.ravel() for block in blocks])
        columns[:, :-1] *= scales
        # The triangle of all rows is that of the triangles of their parts.
        triangle = np.linalg.qr(np.vstack([triangle, columns]), mode="r")
    weights, rank = _nonnegative(triangle[:, :-1], triangle[:, -1])
    share = weights / weights.sum()
    fitted = triangle[:, :-1] @ share
    reached = float(fitted @ triangle[:, -1] / np.linalg.norm(fitted) / np.linalg.norm(triangle[:, -1]))
    return Alignment(share, reached, rank, float(share[nearly].sum())), traces


def _summary(kernel_rows: _KernelRows, n_samples: int) -> tuple[FloatArray, list[FloatArray], NDArray[np.bool_]]:
    """Return of each kernel its trace, the means of its rows, and whether it distinguishes no samples."""
    parts = [[_of_rows(block, rows) for block in kernel_rows(rows)] for rows in row_blocks(n_samples)]
    means = [np.concatenate([part.means for part in kernel]) for kernel in zip(*parts, strict=True)]
    largest = np.array([[(part.trace, part.on, part.off) for part in kernel] for kernel in zip(*parts, strict=True)])
    traces, on, off = largest[:, :, 0].sum(axis=1), largest[:, :, 1].max(axis=1), largest[:, :, 2].max(axis=1)
    return traces, means, off <= _NEAR_IDENTITY * on


@dataclass(frozen=True, eq=False)
class _Rows:
    """Of some rows of a kernel: their means, their part of the trace, the largest entries on and off the diagonal."""

    means: FloatArray
    trace: float
    on: float
    off: float


def _of_rows(block: FloatArray, rows: slice) -> _Rows:
    places = np.arange(len(block)), np.arange(rows.start, rows.stop)
    diagonal, means, rest = block[places], block.mean(axis=1), np.abs(block)
    rest[places] = 0.0
    return _Rows(means, float(diagonal.sum()), float(np.abs(diagonal).max()), float(rest.max()))


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
    weights, _ = nnls(units, target, maxiter=100 * len(norms))
    scaled: FloatArray = weights / np.where(norms > 0, norms, 1.0)
    return scaled, int(np.linalg.matrix_rank(units, rtol=1e-12))


def aligned_kernel(
    kernels: Sequence[Kernel],
    pairs: SamplePairs,
    labels: NDArray[np.generic],
    *,
    centred: bool = False,
) -> tuple[Combination, Alignment]:
    """Return the combination of ``kernels`` that :func:`align` finds on ``pairs`` of the training samples, and how.

    Kernels are computed a block of rows at a time and none is kept. Raises ``InputError`` as :func:`align`.
    """
    codes = class_codes(labels)
    if not kernels:
        raise InputError("alignment needs at least one kernel; got none")

    def rows_of(rows: slice) -> list[FloatArray]:
        some = pairs.rows(rows)
        return [some.gram(kernel) for kernel in kernels]

    alignment, traces = _aligned(rows_of, codes, centred=centred)
    terms = [
        Term(float(weight * len(codes) / trace), kernel)
        for weight, trace, kernel in zip(alignment.weights, traces, kernels, strict=True)
        if weight > 0
    ]
    return Combination(tuple(terms)), alignment


def check_single_kernels(kernels: Sequence[AnyKernel]) -> Sequence[Kernel]:
    """Return ``kernels``; ``InputError`` unless each is a single kernel of :mod:`kdrbench.kernels`."""
    if any(callable(kernel) or isinstance(kernel, Combination) for kernel in kernels):
        raise InputError("alignment combines single kernels of kdrbench.kernels; select others by cross_validation")
    return kernels  # type: ignore[return-value]
