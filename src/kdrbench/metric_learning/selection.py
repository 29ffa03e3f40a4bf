"""Selection of a kernel by cross validation of the nearest neighbour rule in the learned metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, Polynomial
from kdrbench.metric_learning.kernel_pca import AnyKernel, SamplePairs, kernel_pca, scaled_gaussian
from kdrbench.metric_learning.learner import Learner, class_codes, learn_map
from kdrbench.metric_learning.neighbours import IntArray, predict_by_neighbours, squared_distances
from kdrbench.parameters import check_value, whole

# The 21 that the paper prints: .01 .025 .05 .075 .1 and so on for each power of ten, to 1000.
SIGMAS = (*(float(f"{step}e{power}") for power in range(-2, 3) for step in (1, 2.5, 5, 7.5)), 1000.0)


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
        squared = squared_distances(self.test @ projection, self.train @ projection)
        return float(np.mean(predict_by_neighbours(squared, self.train_codes) == self.test_codes))


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
