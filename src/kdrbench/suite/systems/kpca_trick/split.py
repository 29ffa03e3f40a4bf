"""The samples of one split, and the candidate kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels import Combination, Gaussian, Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import AnyKernel, SamplePairs, kernel_pca, scaled_gaussian
from kdrbench.metric_learning.kernel_pca import KernelPCA
from kdrbench.metric_learning.neighbours import IntArray, predict_by_neighbours, squared_distances
from kdrbench.suite.engine.seeds import rng_of


def candidates_of(definition: Mapping[str, Any], n_features: int) -> list[AnyKernel]:
    """Return scaled Gaussians or polynomials (x'y + 1)^p, as defined."""
    if "degrees" in definition:
        return [Polynomial(degree) for degree in definition["degrees"]]
    return [scaled_gaussian(float(sigma), n_features) for sigma in definition["sigmas"]]


# Training samples in the coordinates of a kernel (n x D), and what transforms others.
Coordinates = tuple[FloatArray, KernelPCA]


@dataclass(frozen=True)
class SampleSplit:
    """Training and test samples of one draw, without stratification, and what all kernels need of their pairs."""

    train: FloatArray
    train_codes: IntArray
    test: FloatArray
    test_codes: IntArray

    @classmethod
    def of(cls, dataset: Dataset, train: IntArray, test: IntArray) -> SampleSplit:
        """Return the split of a data set by rows."""
        features, codes = dataset.features, dataset.labels
        return cls(features[train], codes[train], features[test], codes[test])

    @cached_property
    def pairs(self) -> SamplePairs:
        """Pairs of training samples."""
        return SamplePairs(self.train, self.train)

    @cached_property
    def test_pairs(self) -> SamplePairs:
        """Pairs of test samples with training samples."""
        return SamplePairs(self.test, self.train)

    def coordinates(self, kernel: AnyKernel) -> Coordinates:
        """Return the training samples in the KPCA coordinates of a kernel, and what transforms others."""
        gram = self.pairs.gram(kernel, up_to_constant=True)
        coordinates = kernel_pca(gram)
        return coordinates.transform(gram), coordinates

    def accuracy(self, train: FloatArray, test: FloatArray) -> float:
        """Return the share of test samples that 1-NN classifies rightly, both parts as they are mapped."""
        predicted = predict_by_neighbours(squared_distances(test, train), self.train_codes)
        return float(np.mean(predicted == self.test_codes))


def draw_split(dataset: Dataset, number: int, n_train: int, seed: int) -> SampleSplit:
    """Return split ``number`` of the data set; it depends on nothing else but size and seed."""
    order = rng_of("kpca split", dataset.name, number, seed).permutation(len(dataset.labels))
    return SampleSplit.of(dataset, *np.split(order, [n_train]))


def kernel_in_words(kernel: AnyKernel, n_features: int) -> str:
    """Return a kernel in a few words: sigma in the paper's units, degrees, and shares of a combination's weights."""
    if isinstance(kernel, Combination):
        total = sum(term.weight for term in kernel.terms)
        shares = (f"{term.weight / total:.3g} {kernel_in_words(term.kernel, n_features)}" for term in kernel.terms)
        return " + ".join(shares)
    if isinstance(kernel, Gaussian):
        return f"sigma {kernel.sigma / np.sqrt(n_features):.3g}"
    return f"degree {kernel.degree}" if isinstance(kernel, Polynomial) else repr(kernel)
