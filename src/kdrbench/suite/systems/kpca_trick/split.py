"""The samples of one split, the candidate kernels, and what a run has learned of them, judged by the test samples."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels import Combination, Gaussian, Polynomial, Term, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import AnyKernel, SamplePairs, kernel_pca, scaled_gaussian
from kdrbench.metric_learning.kernel_pca import KernelPCA
from kdrbench.metric_learning.neighbours import IntArray, predict_by_neighbours, squared_distances
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run_files import RunFiles, take_array
from kdrbench.suite.engine.seeds import rng_of


def candidates_of(definition: Mapping[str, Any], n_features: int) -> list[AnyKernel]:
    """Return scaled Gaussians or polynomials (x'y + 1)^p, as defined."""
    if "degrees" in definition:
        return [Polynomial(degree) for degree in definition["degrees"]]
    return [scaled_gaussian(float(sigma), n_features) for sigma in definition["sigmas"]]


# The arrays of what was learned.
_PARTS = ("weights", "vectors", "projection")
# Training samples in the coordinates of a kernel (n x D), and the vectors (n x D) that make them.
Coordinates = tuple[FloatArray, FloatArray]


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
        """Return the training samples in the KPCA coordinates of a kernel, and the vectors that make them."""
        gram = self.pairs.gram(kernel, up_to_constant=True)
        coordinates = kernel_pca(gram)
        return coordinates.transform(gram), coordinates.scaled_vectors


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


@dataclass(frozen=True, eq=False)
class LearnedMap:
    """What was learned on n training samples, by which others are mapped.

    ``weights`` (m) are those of the candidate kernels; with none of them, samples are taken as they are. ``vectors``
    (n x D) are :attr:`.KernelPCA.scaled_vectors` of that kernel, ``projection`` (D x d) is the learner's map.
    """

    weights: FloatArray
    vectors: FloatArray
    projection: FloatArray

    def save(self, referee: Referee, name: str) -> None:
        """Leave the arrays among the files of the run."""
        for part in _PARTS:
            referee.save(f"{name}_{part}", getattr(self, part))

    @classmethod
    def take(cls, files: RunFiles, name: str) -> LearnedMap:
        """Read what :meth:`save` left, and remove it."""
        return cls(*(take_array(files.array(f"{name}_{part}")) for part in _PARTS))  # type: ignore[arg-type]


def name_of(batch: Batch, key: tuple[Any, ...], number: int) -> str:
    """Return under which name a run leaves the map of a row: that of its kernel is 0, those of candidates follow."""
    return f"{batch.rows.index(key)}_{number}"


def weights_of(kernel: AnyKernel, candidates: Sequence[AnyKernel]) -> FloatArray:
    """Return the weights of the candidates in a combination of them, or of the one of them that it is."""
    shares = {term.kernel: term.weight for term in terms_of(kernel)}  # type: ignore[arg-type]
    return np.array([shares.get(one, 0.0) for one in candidates])  # type: ignore[arg-type]


def accuracy_of(learned: LearnedMap, split: SampleSplit, candidates: Sequence[AnyKernel]) -> tuple[float, Seconds]:
    """Return the share of test samples that 1-NN classifies rightly, and the seconds of mapping and classifying."""
    if learned.weights.size:
        weighted = zip(learned.weights.tolist(), candidates, strict=True)
        kernel = Combination(tuple(Term(weight, one) for weight, one in weighted if weight != 0))  # type: ignore[arg-type]
        gram = split.pairs.gram(kernel, up_to_constant=True)
        # What transforms samples; the eigenvalues are not needed for it.
        coordinates = KernelPCA(np.empty(0), learned.vectors, gram.mean(axis=0))
        train = coordinates.transform(gram)
    else:
        coordinates, train = None, split.train
    mapped = train @ learned.projection
    cpu, wall = time.process_time(), time.perf_counter()
    test = split.test
    if coordinates is not None:
        test = coordinates.transform(split.test_pairs.gram(kernel, up_to_constant=True))
    predicted = predict_by_neighbours(squared_distances(test @ learned.projection, mapped), split.train_codes)
    spent = Seconds(time.perf_counter() - wall, time.process_time() - cpu)
    return float(np.mean(predicted == split.test_codes)), spent
