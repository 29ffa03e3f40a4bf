"""The choice of a kernel: by cross validation of the nearest neighbour rule, or by alignment with the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.combination import Combination, Term
from kdrbench.kernels.family import FloatArray, Polynomial
from kdrbench.kernels.neighbours import row_blocks
from kdrbench.metric_learning.kernel_pca import AnyKernel, SamplePairs, kernel_pca, scaled_gaussian
from kdrbench.metric_learning.learner import Learner, class_codes, learn_map
from kdrbench.metric_learning.neighbours import IntArray, predict_by_neighbours, squared_distances
from kdrbench.parameters import check_value, whole

# The 21 that the paper prints: .01 .025 .05 .075 .1 and so on for each power of ten, to 1000.
SIGMAS = (*(float(f"{step}e{power}") for power in range(-2, 3) for step in (1, 2.5, 5, 7.5)), 1000.0)
# Kernels of some rows with some columns: one array for each kernel.
_KernelBlocks = Callable[[slice, slice], list[FloatArray]]
# Entries of each kernel that a QR decomposition takes at a time, so that they stay in the second-level cache.
_ENTRIES = 4096


def gaussian_grid(n_features: int) -> list[AnyKernel]:
    """Return scaled Gaussians with the paper's 21 sigmas, from 0.01 to 1000."""
    return [scaled_gaussian(sigma, n_features) for sigma in SIGMAS]


def polynomial_grid(max_degree: int = 5) -> list[AnyKernel]:
    """Return (x'y + 1)^p for p = 1 to ``max_degree``."""
    return [Polynomial(degree) for degree in range(1, max_degree + 1)]


def stratified_folds(codes: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold 0 ... n_folds - 1 of each sample: shuffled, the classes dealt out one after the other.

    Folds differ by one sample at most, as do their shares of each class. A class may have fewer samples than there are
    folds. Raises ``InputError`` unless 2 <= n_folds <= n.
    """
    check_value("n_folds", n_folds, whole(2, len(codes), f"the {len(codes)} samples"))
    shuffled = rng.permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[dealt] = np.arange(len(codes)) % n_folds
    return folds


@dataclass(frozen=True, eq=False)
class Part:
    """Coordinates and class codes of training samples, and of others that the metric is judged by."""

    train: FloatArray
    train_codes: IntArray
    test: FloatArray
    test_codes: IntArray

    def accuracy(self, learner: Learner) -> float:
        """Return the share of test samples that 1-NN classifies rightly in the metric learned from the others."""
        projection = learn_map(learner, self.train, self.train_codes)
        return self.accuracy_of(self.train @ projection, self.test @ projection)

    def accuracy_of(self, train: FloatArray, test: FloatArray) -> float:
        """Return the share of test samples that 1-NN classifies rightly, both parts as they are mapped."""
        predicted = predict_by_neighbours(squared_distances(test, train), self.train_codes)
        return float(np.mean(predicted == self.test_codes))


def fold_parts(kernel: AnyKernel, pairs: SamplePairs, codes: IntArray, folds: IntArray) -> Iterator[Part]:
    """Yield for each fold the coordinates by KPCA of the samples outside it, in which all learners can be judged."""
    gram = pairs.gram(kernel, up_to_constant=True)
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        train = gram[np.ix_(outside, outside)]
        coordinates = kernel_pca(train, "auto")
        yield Part(
            coordinates.transform(train),
            codes[outside],
            coordinates.transform(gram[np.ix_(inside, outside)]),
            codes[inside],
        )


def best_of(accuracies: FloatArray) -> int:
    """Return the row of ``accuracies`` (kernels x folds) with the highest mean, of equal ones the last.

    In a grid of bandwidths that is the widest, whose metric is the smoothest.
    """
    # In units of rounding, so that means of the same counts in another order are equal.
    means = np.round(accuracies.mean(axis=1), 12)
    return int(len(means) - 1 - means[::-1].argmax())


def cross_validated_kernel(
    kernels: Sequence[AnyKernel],
    learner: Learner,
    pairs: SamplePairs,
    labels: NDArray[np.generic],
    rng: np.random.Generator,
    *,
    n_folds: int = 5,
) -> tuple[AnyKernel, FloatArray]:
    """Return the kernel with the best accuracy of 1-NN, by :func:`best_of`, and all accuracies (kernels x folds).

    ``pairs`` are those of the training samples with each other. Raises ``InputError`` without kernels, and whatever the
    learner refuses on the samples outside a fold.
    """
    if not kernels:
        raise InputError("cross validation needs at least one kernel to select from; got none")
    codes = class_codes(labels)
    folds = stratified_folds(codes, n_folds, rng)
    accuracies = np.array(
        [[part.accuracy(learner) for part in fold_parts(kernel, pairs, codes, folds)] for kernel in kernels]
    )
    return kernels[best_of(accuracies)], accuracies


@dataclass(frozen=True, eq=False)
class Alignment:
    """Weights v >= 0 of trace-normalised kernels, and the cosine between sum_k v_k K_k and the target."""

    weights: FloatArray
    alignment: float


def _target(codes: IntArray, rows: slice, columns: slice) -> FloatArray:
    """Return these parts of T (n x n): 1 for two samples of one of the p classes, -1/(p - 1) otherwise."""
    n_classes = len(np.unique(codes))
    return np.asarray(np.where(codes[rows, None] == codes[columns], 1.0, -1.0 / (n_classes - 1)))


def _aligned(kernels: _KernelBlocks, codes: IntArray, *, centred: bool) -> tuple[Alignment, FloatArray]:
    """Return the alignment of kernels that come in blocks, and their traces; memory O(n)."""
    traces, means = _summary(kernels, len(codes))
    if not (np.isfinite(traces).all() and traces.min() > 0):
        raise InputError(f"kernel {int(traces.argmin())} has the trace {traces.min():.6g}; it must be > 0")
    counts = np.bincount(codes)[codes]
    of_target = (counts - (len(codes) - counts) / (len(np.unique(codes)) - 1)) / len(codes)
    scales, all_means = [*(len(codes) / traces), 1.0], np.vstack([means, of_target])
    triangle: FloatArray = np.zeros((0, len(scales)))
    for rows in row_blocks(len(codes)):
        # Of symmetric matrices, from the diagonal on.
        columns = slice(rows.start, len(codes))
        blocks = [*kernels(rows, columns), _target(codes, rows, columns)]
        if centred:
            # Of symmetric matrices: the means of columns are those of rows.
            blocks = [
                block - mean[rows, None] - mean[columns] + mean.mean()
                for block, mean in zip(blocks, all_means, strict=True)
            ]
        # Right of the diagonal each entry counts twice.
        twice = np.where(np.arange(columns.start, len(codes)) < rows.stop, 1.0, np.sqrt(2.0))
        vectors = np.array([(scale * block * twice).ravel() for scale, block in zip(scales, blocks, strict=True)])
        for begin in range(0, vectors.shape[1], _ENTRIES):
            # The triangle of all entries is that of the triangles of their parts.
            entries = np.vstack([triangle, vectors[:, begin : begin + _ENTRIES].T])
            triangle = np.asarray(np.linalg.qr(entries, mode="r"))
    weights = _nonnegative(triangle[:, :-1], triangle[:, -1])
    share = weights / weights.sum()
    fitted = triangle[:, :-1] @ share
    reached = float(fitted @ triangle[:, -1] / np.linalg.norm(fitted) / np.linalg.norm(triangle[:, -1]))
    return Alignment(share, reached), traces


def _summary(kernels: _KernelBlocks, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """Return of each kernel its trace and the means of its rows."""
    n_kernels = len(kernels(slice(0, 1), slice(0, 1)))
    traces, means = np.zeros(n_kernels), np.zeros((n_kernels, n_samples))
    for rows in row_blocks(n_samples):
        for number, block in enumerate(kernels(rows, slice(rows.start, n_samples))):
            width = rows.stop - rows.start
            traces[number] += np.trace(block)
            means[number, rows] += block.sum(axis=1)
            means[number, rows.stop :] += block[:, width:].sum(axis=0)
    return traces, means / n_samples


def _nonnegative(columns: FloatArray, target: FloatArray) -> FloatArray:
    """Return the minimiser of |columns v - target| over v >= 0."""
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
    return scaled


def aligned_kernel(
    kernels: Sequence[AnyKernel], pairs: SamplePairs, labels: NDArray[np.generic], *, centred: bool = False
) -> tuple[Combination, Alignment]:
    """Return the combination of ``kernels`` that is most aligned with the labels on training samples, and how.

        max_v  <K, T> / (|K| |T|),   K = sum_k v_k K_k / (tr K_k / n),   v >= 0,  tr K = n

    Its direction solves the quadratic program min_v v'Mv - 2 v'b over v >= 0 with M_kl = <K_k, K_l> and
    b_k = <K_k, T>, which is the non-negative least squares problem min |sum_k v_k K_k - T|. It is solved from the
    triangle of a QR decomposition of the kernels as vectors: M would square their condition. Kernels are computed in
    blocks of rows of ``pairs`` and none is kept.

    With ``centred``, kernels and target are centred in the inner products. Learners see centred kernels only, and the
    uncentred alignment also rewards what centring takes away: where classes are made of many clusters, as the 102
    molecules of Musk2, its kernel may be worse than none.

    Source: Chatpatanasiri et al. 2010, Eqs. 9 to 12; Cristianini et al. 2002; centred: Cortes, Mohri, Rostamizadeh,
    JMLR 13, 2012.

    Raises ``InputError`` without kernels, for a combination or function among them, for one without trace, and when no
    kernel is positively aligned (b <= 0).
    """
    singles = [kernel for kernel in kernels if not (callable(kernel) or isinstance(kernel, Combination))]
    if len(singles) < len(kernels):
        raise InputError("alignment combines single kernels of kdrbench.kernels; select others by cross_validation")
    codes = class_codes(labels)
    if not singles:
        raise InputError("alignment needs at least one kernel; got none")

    def blocks(rows: slice, columns: slice) -> list[FloatArray]:
        some = pairs.block(rows, columns)
        return [some.gram(kernel) for kernel in singles]

    alignment, traces = _aligned(blocks, codes, centred=centred)
    terms = [
        Term(float(weight * len(codes) / trace), kernel)
        for weight, trace, kernel in zip(alignment.weights, traces, singles, strict=True)
        if weight > 0
    ]
    return Combination(tuple(terms)), alignment
