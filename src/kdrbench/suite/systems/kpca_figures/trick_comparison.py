"""KDNE by the KPCA trick and by the kernel trick, side by side: what they map samples to, and how far they disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    DNE,
    AnyKernel,
    SamplePairs,
    dne_weights,
    fit_in_coordinates,
    kdne,
    predict_by_neighbours,
    squared_distances,
)
from kdrbench.metric_learning.dne import kernel_distances
from kdrbench.metric_learning.learner import laplacian
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.suite.engine.seeds import rng_of

# What is added to a singular K, as a share of its mean eigenvalue.
EPSILON = 1e-10
EXACT, RIDGE, QZ = "exact", "ridge", "qz"


@dataclass(frozen=True)
class Halves:
    """Training samples, no two of them equal, and test samples of a data set."""

    train: FloatArray
    train_labels: IntArray
    test: FloatArray
    test_labels: IntArray

    def grams(self, kernel: AnyKernel) -> tuple[FloatArray, FloatArray]:
        """Return the kernel of training samples with themselves, and of test samples with them."""
        return SamplePairs(self.train, self.train).gram(kernel), SamplePairs(self.test, self.train).gram(kernel)


@dataclass(frozen=True)
class Tricks:
    """KDNE of one kernel by both tricks: mapped training and test samples, and what solved the kernel trick.

    ``method``: ``exact`` where K is regular, ``ridge`` with ``EPSILON`` where it is not, ``qz`` for a general solver
    that does not notice.
    """

    kpca: tuple[FloatArray, FloatArray]
    kernel: tuple[FloatArray, FloatArray]
    condition: float
    method: str

    @property
    def disagreement(self) -> float:
        """Largest difference of learned squared distances between test and training samples, over their largest."""
        first, second = (squared_distances(test, train) for train, test in (self.kpca, self.kernel))
        return float(np.abs(first - second).max() / max(first.max(), second.max()))

    def predictions(self, train_labels: IntArray) -> tuple[IntArray, IntArray]:
        """Return the test samples' labels by 1-NN, KPCA trick first."""
        first, second = (
            predict_by_neighbours(squared_distances(test, train), train_labels).astype(np.intp)
            for train, test in (self.kpca, self.kernel)
        )
        return first, second

    def accuracies(self, halves: Halves) -> tuple[float, float]:
        """Return 1-NN accuracies, KPCA trick first."""
        first, second = (float(np.mean(one == halves.test_labels)) for one in self.predictions(halves.train_labels))
        return first, second


def draw_halves(dataset: Dataset, n_train: int, *axes: object) -> Halves:
    """Return ``n_train`` samples to learn from and all others, drawn by ``axes``.

    Equal samples would make every kernel singular: of those to learn from the first is kept.
    """
    order = rng_of("kpca figures", dataset.name, n_train, *axes).permutation(len(dataset.labels))
    chosen, rest = order[:n_train], order[n_train:]
    kept = chosen[np.sort(np.unique(dataset.features[chosen], axis=0, return_index=True)[1])]
    return Halves(dataset.features[kept], dataset.labels[kept], dataset.features[rest], dataset.labels[rest])


def solve_both(
    gram: FloatArray, cross: FloatArray, codes: IntArray, k: int, n_components: int | None
) -> Iterator[Tricks]:
    """Yield KDNE by the KPCA trick beside the kernel trick, exact or with a ridge, and by QZ.

    ``gram`` is n x n, ``cross`` m x n. ``n_components`` leading directions, or as many as the KPCA trick finds negative
    eigenvalues.
    """
    primal = fit_in_coordinates(DNE(k, n_components), gram, codes)
    kpca = (primal.transform_gram(gram), primal.transform_gram(cross))
    count, condition = kpca[0].shape[1], float(np.linalg.cond(gram))
    try:
        duals = {EXACT: kdne(gram, codes, k, n_components=count).dual}
    except InputError:
        duals = {RIDGE: kdne(gram, codes, k, epsilon=EPSILON, n_components=count).dual}
    duals[QZ] = by_qz(gram, codes, k, count)
    for method, dual in duals.items():
        yield Tricks(kpca, (gram @ dual, cross @ dual), condition, method)


def by_qz(gram: FloatArray, codes: IntArray, k: int, count: int) -> FloatArray:
    """Return dual variables from a general solver that does not notice singularity, scaled to u'Ku = 1."""
    form = gram @ (0.5 * laplacian(dne_weights(kernel_distances(gram), codes, k))) @ gram
    with np.errstate(all="ignore"):
        values, vectors = eig(form, gram)
    real = np.where(np.isfinite(values.real), values.real, np.inf)
    chosen = vectors[:, np.argsort(real)[:count]].real
    # Vectors that K takes to zero cannot be scaled; they stay small.
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", chosen, gram @ chosen), 1e-16 * np.linalg.norm(gram)))
    dual: FloatArray = chosen / lengths
    return dual
