"""What Figures 2 to 5 of the KPCA trick show: projections and accuracies by either trick, as plain results.

Rows and arrays of a run, from which :mod:`kdrbench.suite.reports.figures` draws:

figure 2    :func:`leading_of`: a row for each learner and degree (``method`` the learner, ``varied`` "degree",
            ``value`` 1 or 2), with its accuracy; arrays ``features`` (n_test x d), ``labels`` (n_test), and
            ``coordinates_<learner>_<degree>`` (n_test).
figure 3    :func:`planes_of`: a row for either trick (``method`` "kpca", and "exact" or "ridge"; ``varied`` "sigma"),
            of which the second has condition and disagreement; arrays ``labels`` (n_test), and ``train_<trick>``
            (n x 2), ``test_<trick>`` (n_test x 2), ``predictions_<trick>`` (n_test), where <trick> is "kpca" or
            "kernel".
figure 4    :func:`settings_of` and :func:`tricks_of`: for each setting and draw (``run``) a row for "kpca", for
            "exact" or "ridge", and for "qz", with accuracies; all but the first have condition and disagreement.
            No arrays.
figure 5    the same with the settings of :func:`all_settings_of`, one draw.

``n_train`` counts the samples that are left when equal ones are removed (``Halves``); ``value`` of "n" is the number
that was drawn.

An array is stored as "<cell>/<name>_<run>".

Source: Chatpatanasiri et al., "A new kernelization framework for Mahalanobis distance learning algorithms", 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    AnyKernel,
    KPCATrick,
    build_learner,
    predict_by_neighbours,
    scaled_gaussian,
    squared_distances,
)
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.suite.systems.kpca_figures.trick_comparison import Halves, Tricks, draw_halves, solve_both

# The name of the KPCA trick beside those of the ways to solve the kernel trick.
KPCA = "kpca"
# The paper's setting where another one is varied.
_DEGREE, _K = 2, 3
_SIGMAS = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0)
_PLANE_SIGMA, _PLANE_DIRECTIONS = 1.0, 2


@dataclass(frozen=True)
class Leading:
    """Of Figure 2: the test samples' leading learned coordinate, of spread one, and 1-NN accuracy along it alone."""

    learner: str
    degree: int
    coordinates: FloatArray
    accuracy: float


@dataclass(frozen=True)
class Setting:
    """What is varied: one value of one of degree, n, k and sigma."""

    varied: str
    value: float
    n_train: int
    k: int
    kernel: AnyKernel


@dataclass(frozen=True)
class Planes:
    """Of Figure 3: both tricks' planes of the same halves, and the predicted labels, KPCA trick first."""

    halves: Halves
    tricks: Tricks
    predictions: tuple[IntArray, IntArray]


def leading_of(features: FloatArray, labels: IntArray, n_train: int, learners: Sequence[str]) -> Iterator[Leading]:
    """Yield each learner's leading coordinate without a kernel (degree 1) and with one of degree 2."""
    train, test = features[:n_train], features[n_train:]
    for learner in learners:
        for degree in (1, 2):
            coordinates, predicted = leading_coordinates(learner, degree, train, labels[:n_train], test)
            yield Leading(learner, degree, coordinates, float(np.mean(predicted == labels[n_train:])))


def leading_coordinates(
    learner: str, degree: int, train: FloatArray, train_labels: IntArray, test: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Return the test samples' leading learned coordinate, of spread one, and their labels by 1-NN along it alone."""
    fitted = KPCATrick(Polynomial(degree), build_learner(learner)).fit(train, train_labels)
    mapped, mapped_test = fitted.transform(train), fitted.transform(test)
    direction = leading_direction(learner, mapped)
    line, test_line = mapped @ direction, mapped_test @ direction
    predicted = predict_by_neighbours(squared_distances(test_line[:, None], line[:, None]), train_labels)
    return test_line / test_line.std(), predicted.astype(np.intp)


def leading_direction(learner: str, mapped: FloatArray) -> FloatArray:
    """Return the learner's leading direction among coordinates of mapped training samples.

    DNE orders its directions; for the others it is the one of most variance, which the metric has stretched.
    """
    if learner == "dne":
        first: FloatArray = np.eye(mapped.shape[1])[0]
        return first
    vector: FloatArray = np.linalg.svd(mapped - mapped.mean(axis=0), full_matrices=False)[2][0]
    return vector


def planes_of(dataset: Dataset, n_train: int, seed: int) -> Planes:
    """Return the leading planes of KDNE (sigma 1, 3 neighbours) by either trick on one draw of the data set."""
    halves = draw_halves(dataset, n_train, "figure 3", seed)
    kernel = scaled_gaussian(_PLANE_SIGMA, halves.train.shape[1])
    tricks = next(solve_both(*halves.grams(kernel), halves.train_labels, _K, _PLANE_DIRECTIONS))
    return Planes(halves, tricks, tricks.predictions(halves.train_labels))


@dataclass(frozen=True)
class Varied:
    """The degrees, numbers of training samples and numbers of neighbours of Figures 4 and 5."""

    degrees: Sequence[int]
    sizes: Sequence[int]
    neighbours: Sequence[int]


def settings_of(varied: Varied) -> Iterator[Setting]:
    """Yield the degrees, then the numbers of samples, then those of neighbours.

    What does not vary is degree 2, the most samples, and 3 neighbours.
    """
    most = max(varied.sizes)
    for degree in varied.degrees:
        yield Setting("degree", degree, most, _K, Polynomial(degree))
    for count in varied.sizes:
        yield Setting("n", count, count, _K, Polynomial(_DEGREE))
    for k in varied.neighbours:
        yield Setting("k", k, most, k, Polynomial(_DEGREE))


def all_settings_of(varied: Varied, n_features: int) -> Iterator[Setting]:
    """Yield the settings of Figure 5: those of Figure 4, then Gaussians, which are ours."""
    yield from settings_of(varied)
    for sigma in _SIGMAS:
        yield Setting("sigma", sigma, max(varied.sizes), _K, scaled_gaussian(sigma, n_features))


def tricks_of(dataset: Dataset, setting: Setting, draw: int, seed: int) -> tuple[Halves, list[Tricks]]:
    """Return one draw of the data set, and both tricks on it with each way to solve the kernel trick."""
    halves = draw_halves(dataset, setting.n_train, draw, seed)
    return halves, list(solve_both(*halves.grams(setting.kernel), halves.train_labels, setting.k, None))
