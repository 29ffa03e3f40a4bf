"""One run of a figure of the KPCA trick: a draw of its samples, all its settings, and the arrays that it shows.

figure 2    a row for each learner and degree (``varied`` "degree", ``value`` 1 or 2); arrays ``features`` (n_test x d),
            ``labels`` (n_test), and ``coordinates_<learner>_<degree>`` (n_test)
figure 3    a row for either trick (``varied`` "sigma"); arrays ``labels`` (n_test), and ``train_<trick>`` (n x 2),
            ``test_<trick>`` (n_test x 2), ``predictions_<trick>`` (n_test), where <trick> is "kpca" or "kernel"
figure 4    for each setting and draw a row for "kpca", for "exact" or "ridge", and for "qz"; no arrays
figure 5    the same, and Gaussians, with one draw

All rows but those of "kpca" have condition and disagreement. ``n_train`` counts samples without repetitions.

Source: Chatpatanasiri et al., "A new kernelization framework for Mahalanobis distance learning algorithms", 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    DNE,
    AnyKernel,
    KPCATrick,
    build_learner,
    dne_weights,
    fit_in_coordinates,
    kdne,
    predict_by_neighbours,
    scaled_gaussian,
    squared_distances,
)
from kdrbench.metric_learning.dne import kernel_distances
from kdrbench.metric_learning.learner import laplacian
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, finite
from kdrbench.suite.engine.run import RunResult, failed
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.kpca_trick.run import SampleSplit

# What is added to a singular K, as a share of its mean eigenvalue.
EPSILON = 1e-10
EXACT, RIDGE, QZ = "exact", "ridge", "qz"


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

    def predictions(self, train_codes: IntArray) -> list[IntArray]:
        """Return the test samples' codes by 1-NN, KPCA trick first."""
        return [
            predict_by_neighbours(squared_distances(test, train), train_codes).astype(np.intp)
            for train, test in (self.kpca, self.kernel)
        ]

    def accuracies(self, train_codes: IntArray, test_codes: IntArray) -> list[float]:
        """Return 1-NN accuracies, KPCA trick first."""
        return [float(np.mean(predicted == test_codes)) for predicted in self.predictions(train_codes)]


def draw_distinct(dataset: Dataset, n_train: int, *axes: object) -> SampleSplit:
    """Return ``n_train`` samples to learn from and all others, drawn by ``axes``.

    Equal samples would make every kernel singular: of those to learn from the first is kept.
    """
    order = rng_of("kpca figures", dataset.name, n_train, *axes).permutation(len(dataset.labels))
    chosen, rest = order[:n_train], order[n_train:]
    kept = chosen[np.sort(np.unique(dataset.features[chosen], axis=0, return_index=True)[1])]
    return SampleSplit.of(dataset, kept, rest)


def solve_both(split: SampleSplit, kernel: AnyKernel, k: int, n_components: int | None) -> Iterator[Tricks]:
    """Yield KDNE by the KPCA trick beside the kernel trick, exact or with a ridge, and by QZ.

    ``n_components`` leading directions, or as many as the KPCA trick finds negative eigenvalues.
    """
    gram, cross, codes = split.pairs.gram(kernel), split.test_pairs.gram(kernel), split.train_codes
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


Key = tuple[str, float, str]
# The columns of some rows, and the arrays that they show.
Rows = tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]
# The KPCA trick, and the kernel trick, solved exactly or with a ridge.
KPCA, KERNEL = "kpca", "kernel"
# Of Figure 2, the degrees that are compared; of Figure 3, the setting.
_DEGREES = (1, 2)
_PLANE_SIGMA, _PLANE_DIRECTIONS = 1.0, 2
# Of Figures 4 and 5: the lists of what is varied, the setting where another one is, and the Gaussians, which are ours.
VARIED = ("degrees", "sizes", "neighbours")
_DEGREE, _K = 2, 3
_SIGMAS = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Setting:
    """What is varied: one value of one of degree, n, k and sigma."""

    varied: str
    value: float
    n_train: int
    k: int
    kernel: AnyKernel

    @property
    def keys(self) -> list[Key]:
        """The keys of its rows."""
        return [(self.varied, float(self.value), series) for series in (KPCA, KERNEL, QZ)]


def settings_of(definition: Mapping[str, Any], n_features: int) -> list[Setting]:
    """Return the settings of Figure 4 or 5.

    What does not vary is degree 2, the most samples, and 3 neighbours.
    """
    most = max(definition["sizes"])
    settings = [Setting("degree", degree, most, _K, Polynomial(degree)) for degree in definition["degrees"]]
    settings += [Setting("n", count, count, _K, Polynomial(_DEGREE)) for count in definition["sizes"]]
    settings += [Setting("k", k, most, k, Polynomial(_DEGREE)) for k in definition["neighbours"]]
    sigmas = _SIGMAS if definition["figure"] == 5 else ()
    return settings + [Setting("sigma", sigma, most, _K, scaled_gaussian(sigma, n_features)) for sigma in sigmas]


def keys_of(definition: Mapping[str, Any], n_features: int) -> list[Key]:
    """Return the keys of the rows of a figure."""
    return [key for keys, _ in _parts_of(definition, n_features) for key in keys]


def _parts_of(definition: Mapping[str, Any], n_features: int) -> Iterator[tuple[list[Key], Callable[..., Rows]]]:
    """Yield the keys of rows that are computed together, and what computes them from data, draw and seed."""
    if definition["figure"] == 2:
        for learner in definition["learners"]:
            keys = [("degree", float(degree), learner) for degree in _DEGREES]
            yield keys, partial(leading_of, definition["n_train"], learner)
    elif definition["figure"] == 3:
        keys = [("sigma", _PLANE_SIGMA, series) for series in (KPCA, KERNEL)]
        yield keys, partial(planes_of, definition["n_train"])
    else:
        yield from ((one.keys, partial(tricks_of, one)) for one in settings_of(definition, n_features))


def run_figure(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the rows of draw ``number``; where what makes some of them raises, these have failed."""
    for keys, make in _parts_of(batch.definition, dataset.features.shape[1]):
        try:
            (rows, arrays), _ = referee.timed(partial(make, dataset, number, batch.seed))
        except Exception as error:
            yield from (failed(error, key) for key in keys)
            continue
        for name, array in arrays.items():
            referee.save(name, array)
        for key, columns in zip(keys, rows, strict=True):
            yield RunResult(Status.CONVERGED, "", columns=columns, key=key)


def leading_of(n_train: int, learner: str, dataset: Dataset, *_: int) -> Rows:
    """Return the rows of Figure 2: accuracies of 1-NN along the leading learned coordinate alone, for each degree.

    The first ``n_train`` samples are those to learn from. The coordinate has spread one; a polynomial of degree 1 is
    no kernel.
    """
    train, test = dataset.features[:n_train], dataset.features[n_train:]
    codes, labels = dataset.labels[:n_train], dataset.labels[n_train:]
    rows, arrays = [], {"features": test, "labels": labels}
    for degree in _DEGREES:
        fitted = KPCATrick(Polynomial(degree), build_learner(learner)).fit(train, codes)
        mapped, mapped_test = fitted.transform(train), fitted.transform(test)
        # DNE orders its directions; for others the leading one has most variance, which the metric has stretched.
        direction = np.eye(mapped.shape[1])[0]
        if learner != "dne":
            direction = np.linalg.svd(mapped - mapped.mean(axis=0), full_matrices=False)[2][0]
        line, test_line = mapped @ direction, mapped_test @ direction
        predicted = predict_by_neighbours(squared_distances(test_line[:, None], line[:, None]), codes)
        arrays[f"coordinates_{learner}_{degree}"] = test_line / test_line.std()
        accuracy = float(np.mean(predicted == labels))
        rows.append({"method": learner, "accuracy": accuracy, "n_train": n_train, "n_test": len(labels)})
    return rows, arrays


def planes_of(n_train: int, dataset: Dataset, _: int, seed: int) -> Rows:
    """Return the rows of Figure 3: one draw of the data set in the leading planes of KDNE by either trick."""
    split = draw_distinct(dataset, n_train, "figure 3", seed)
    kernel = scaled_gaussian(_PLANE_SIGMA, split.train.shape[1])
    tricks = next(solve_both(split, kernel, _K, _PLANE_DIRECTIONS))
    arrays: dict[str, NDArray[Any]] = {"labels": split.test_codes}
    for series, mapped, predicted in zip(
        (KPCA, KERNEL), (tricks.kpca, tricks.kernel), tricks.predictions(split.train_codes), strict=True
    ):
        for part, array in zip(("train", "test", "predictions"), (*mapped, predicted), strict=True):
            arrays[f"{part}_{series}"] = array
    return _columns(split, tricks, _K), arrays


def tricks_of(setting: Setting, dataset: Dataset, draw: int, seed: int) -> Rows:
    """Return the rows of one setting of Figure 4 or 5: both tricks, and QZ."""
    split = draw_distinct(dataset, setting.n_train, draw, seed)
    kernel, qz = solve_both(split, setting.kernel, setting.k, None)
    return [*_columns(split, kernel, setting.k), _columns(split, qz, setting.k)[1]], {}


def _columns(split: SampleSplit, tricks: Tricks, k: int) -> list[dict[str, Any]]:
    """Return the columns of the KPCA trick, then those of the kernel trick."""
    sizes = {"k": k, "n_train": len(split.train), "n_test": len(split.test)}
    accuracy, kernel_accuracy = tricks.accuracies(split.train_codes, split.test_codes)
    numbers = {"condition": finite(tricks.condition), "disagreement": finite(tricks.disagreement)}
    return [
        {"method": KPCA, "accuracy": accuracy, **sizes},
        {"method": tricks.method, "accuracy": kernel_accuracy, **numbers, **sizes},
    ]
