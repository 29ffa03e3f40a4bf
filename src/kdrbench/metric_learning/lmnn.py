"""Large margin nearest neighbours (LMNN): the objective, and the few steps that the papers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import (
    PairSums,
    checked_classes,
    descend,
    inverse_scale,
    leading_axes,
    target_neighbours,
)
from kdrbench.metric_learning.neighbours import IntArray, distance_rows, row_blocks
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_parameters, check_value, optional


@dataclass(frozen=True, eq=False)
class LMNNObjective:
    """Distances to target neighbours, and violations of their margin by impostors.

        f(M) = sum_(i,j) d_ij + c sum_(i,j) sum_{l: y_l != y_i} h(1 + d_ij - d_il) + r tr M,   d_ij = |A'x_i - A'x_j|^2

    over pairs (i, j) of a sample and its target neighbours: ``targets`` (n x k; a row's missing ones are -1), with
    M = AA', h(s) = max(s, 0), c = ``push``, r = ``regularisation`` (tr M = |A|_F^2).

    f is convex in M. A square A reaches every M, so that a minimum over A is one over M.

    Source: Weinberger, Saul, "Distance metric learning for large margin nearest neighbor classification", JMLR 10,
    2009, weighted as in Chatpatanasiri et al. 2010.
    """

    features: FloatArray
    codes: IntArray
    targets: IntArray
    push: float = 1.0
    regularisation: float = 0.0

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return f at A = ``projection`` (D x d) and its (sub)gradient 2 X'SXA + 2rA, S the Laplacian of df / dd_ij.

        From 5000 samples on pairs are summed in float32, to six digits of f.
        """
        columns, value = self.features @ projection, 0.0
        # Class after class, so that the impostors of a class are side by side.
        sums = PairSums(columns, self.codes)
        places = np.argsort(sums.order)
        targets = np.where(self.targets >= 0, places[self.targets], -1)[sums.order]
        for block in row_blocks(*columns.shape):
            for rows, own in sums.parts(block):
                here, weights = self._rows(sums.squared(rows), targets[rows], own)
                sums.add(rows, weights)
                value += here
        gradient = sums.gradient(self.features)
        gradient += 2.0 * self.regularisation * projection
        return value + self.regularisation * float(np.square(projection).sum()), gradient

    def _rows(self, squared: FloatArray, targets: IntArray, own: slice) -> tuple[float, FloatArray]:
        """Return what samples of one class bring to f, and its derivatives by their distances.

        ``squared`` are their distances to all n samples, of which ``own`` are of the class.
        """
        places, present = np.arange(len(squared)), targets >= 0
        # Without a target there is no margin.
        distances = np.where(present, squared[places[:, None], targets], -np.inf)
        value, weights = float(distances[present].sum()), np.zeros_like(squared)
        for impostors in (slice(0, own.start), slice(own.stop, None)):
            for column, reach, there in zip(targets.T, distances.T, present.T, strict=True):
                slack = np.subtract((1.0 + reach)[:, None], squared[:, impostors])
                violation = float(np.maximum(slack, 0.0, out=slack).sum())
                derivative = np.multiply(slack > 0.0, self.push, dtype=slack.dtype)
                weights[:, impostors] -= derivative
                weights[places[there], column[there]] += derivative.sum(axis=1)[there]
                value += self.push * violation
        for column, there in zip(targets.T, present.T, strict=True):
            weights[places[there], column[there]] += 1.0
        return value, weights


def lmnn_objective(
    features: FloatArray,
    codes: IntArray,
    n_neighbours: int,
    *,
    push: float = 1.0,
    regularisation: float = 0.0,
    squared: FloatArray | None = None,
) -> LMNNObjective:
    """Return the objective with each sample's nearest ``n_neighbours`` of its class as targets.

    They are nearest by ``squared`` (n x n) if given, otherwise by the Euclidean distances of ``features``.

    Raises ``InputError`` for options out of range and when no class has two samples.
    """
    check_value("n_neighbours", n_neighbours, COUNT)
    for name, option in (("push", push), ("regularisation", regularisation)):
        check_value(f"LMNN's {name}", option, NOT_NEGATIVE)
    distances = distance_rows(features) if squared is None else squared.__getitem__
    neighbours = target_neighbours(distances, codes, n_neighbours)
    targets: NDArray[np.intp] = np.full((len(features), max(map(len, neighbours))), -1, dtype=np.intp)
    for row, columns in enumerate(neighbours):
        targets[row, : len(columns)] = columns
    return LMNNObjective(features, codes, targets, push, regularisation)


@dataclass(frozen=True)
class LMNN:
    """Minimise the sum f of :class:`LMNNObjective` on features scaled to mean squared distance one.

    ``max_iterations`` of L-BFGS over a square A from the identity, or over one of ``n_components`` columns from as many
    principal axes: f is not convex in such an A. The default stops early, for the accuracy's sake:
    where the features span n - 1 dimensions the optimum fits every training sample, and more steps classify test
    samples worse (on m-USPS .95, .94, .92, .87 after 10, 20, 50, 200).
    """

    n_neighbours: Annotated[int, COUNT] = 3
    push: Annotated[float, NOT_NEGATIVE] = 1.0
    regularisation: Annotated[float, NOT_NEGATIVE] = 0.0
    max_iterations: Annotated[int, COUNT] = 20
    n_components: Annotated[int | None, optional(COUNT)] = None

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x D, or D x ``n_components``) for ``features`` (n x D).

        Raises ``InputError`` with one class, no class of two samples, samples that all coincide, or bad options.
        """
        return self.descend(features, labels)[0]

    def descend(self, features: FloatArray, labels: NDArray[np.generic]) -> tuple[FloatArray, int]:
        """Return A and the iterations taken."""
        codes, scale = checked_classes(features, labels), inverse_scale(features)
        scaled = scale * (features - features.mean(axis=0))
        objective = lmnn_objective(scaled, codes, self.n_neighbours, push=self.push, regularisation=self.regularisation)
        start, most = leading_axes(objective.features, self.n_components), self.max_iterations
        projection, iterations = descend(objective.value_and_gradient, start, maxiter=most, maxfun=20 * most)
        return scale * projection, iterations
