"""Learners by descent, NCA and LMNN: their objectives are sums over pairs of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.blas import one_blas_thread
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, least_exponent
from kdrbench.kernels.neighbours import distance_rows, row_blocks
from kdrbench.metric_learning.learner import centred_features, checked_classes, target_neighbours
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_parameters, check_value, optional, whole

# Samples from which on their pairs are summed in single precision.
_MANY = 5000
# The share of the least exponent of a normal number at which exponents of chances are cut.
_FARTHEST = 0.45
# A to f(A) and its gradient.
Objective = Callable[[FloatArray], tuple[float, FloatArray]]


class PairSums:
    """Sums over pairs with weights w of samples X (n x D) projected to V = XA, whose ``order`` is class after class.

    Classes come as they first appear: what they are called changes no rounding. Many samples are in float32, which
    gives sums six or seven digits in half the time. Less than a step of L-BFGS gains is lost: steps are counted, or end
    at 1e-5 of the objective. ``squared`` gives rows of the squared distances of V.

    The columns C of products are columns of X, of which sums over rows of w suffice since w V = (w X) A; with more than
    twice as many features as components they are columns of V, and sums over columns of w are taken as well.
    """

    def __init__(self, features: FloatArray, projection: FloatArray, codes: IntArray) -> None:
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        classes = np.argsort(np.argsort(first))[inverse]
        self.order = np.argsort(classes, kind="stable")
        self._classes, self._ends = classes[self.order], [0, *np.cumsum(np.bincount(classes)).tolist()]
        self._samples, self._projection = features[self.order], projection
        self._projected = self._samples @ projection
        dtype = np.float32 if len(features) >= _MANY else np.float64
        self.squared = distance_rows(self._projected.astype(dtype))
        self._is_of_features = features.shape[1] <= 2 * projection.shape[1]
        columns = self._samples if self._is_of_features else self._projected
        # With ones, so that products give the sums of weights, too.
        self._columns: FloatArray = np.column_stack([columns, np.ones(len(columns))]).astype(dtype)
        self._turned: FloatArray = self._columns[:, -1:] if self._is_of_features else self._columns
        self._sums, self._turned_sums = np.zeros(self._columns.shape), np.zeros(self._turned.shape)

    def parts(self, block: slice) -> Iterator[tuple[slice, slice]]:
        """Yield for each class its rows in a block of rows, and all its rows."""
        for code in range(int(self._classes[block.start]), int(self._classes[block.stop - 1]) + 1):
            own = slice(self._ends[code], self._ends[code + 1])
            yield slice(max(block.start, own.start), min(block.stop, own.stop)), own

    def products(self, weights: FloatArray, columns: slice) -> FloatArray:
        """Return the sums over some columns of rows of weights, times C and one."""
        return np.asarray(weights @ self._columns[columns])

    def add(
        self,
        rows: slice,
        columns: slice,
        weights: FloatArray,
        products: FloatArray,
        scale: FloatArray | float = 1.0,
    ) -> None:
        """Add w = ``scale`` (of each row) times ``weights``, (rows) x (columns), whose ``products`` are known."""
        self._sums[rows] += scale * products
        self._turned_sums[columns] += weights.T @ (scale * self._turned[rows])

    def gradient(self) -> FloatArray:
        """Return 2 X'S V, S the :func:`laplacian` of w, which is not made."""
        ends = self._sums[:, -1:] + self._turned_sums[:, -1:]
        if self._is_of_features:
            products = self._sums[:, :-1]
            turned = products.T @ self._projected
            moved = ends * self._projected - products @ self._projection
            return np.asarray(2.0 * (self._samples.T @ moved - turned))
        moved = ends * self._projected - self._sums[:, :-1] - self._turned_sums[:, :-1]
        return np.asarray(2.0 * self._samples.T @ moved)


def inverse_scale(features: FloatArray) -> float:
    """Return s such that the mean squared distance of the pairs i < j of rows of s times ``features`` is one.

    NCA's and LMNN's objectives have a unit of length: without a common scale their starts would mean different things
    for different kernels.

    Raises ``InputError`` when all samples coincide, and when their differences or the scale overflow.
    """
    centred = centred_features(features)
    # The mean over pairs is twice the variance, with n - 1.
    largest = float(np.abs(centred).max(initial=0.0))
    if largest <= 1e-14 * float(np.abs(features).max(initial=0.0)):
        raise InputError(f"all {len(features)} samples coincide; no metric can separate them")
    mean_square = 2.0 * float(np.square(centred / largest).sum()) / (len(features) - 1)
    with np.errstate(divide="ignore", over="ignore"):
        scale = float(np.float64(1.0) / (largest * np.sqrt(mean_square)))
    if not math.isfinite(scale):
        raise InputError(f"features differ by {largest:.3g} at most, which is too small to scale; give larger units")
    return scale


def descend(
    value_and_gradient: Objective, start: FloatArray, tolerance: float | None = None, **options: float
) -> tuple[FloatArray, int]:
    """Return A after L-BFGS on an objective of A from ``start`` (D x d), and its iterations."""
    from scipy.optimize import minimize

    def evaluate(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = value_and_gradient(flat.reshape(start.shape))
        return value, gradient.ravel()

    minimum = minimize(evaluate, start.ravel(), jac=True, method="L-BFGS-B", tol=tolerance, options=options)
    return minimum.x.reshape(start.shape), int(minimum.nit)


def leading_axes(centred: FloatArray, n_components: int | None) -> FloatArray:
    """Return the start of a map of centred features (n x D): their first principal axes, D x ``n_components``.

    The identity for ``None``. Raises ``InputError`` for more components than features.
    """
    n_features = centred.shape[1]
    if n_components is None:
        return np.eye(n_features)
    check_value("n_components", n_components, whole(1, n_features, f"the {n_features} features"))
    _, axes = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(axes[:, : -n_components - 1 : -1])


def _learned(
    learner: Any, features: FloatArray, labels: NDArray[np.generic], **options: float
) -> tuple[FloatArray, int]:
    """Return A after a learner's descent on features scaled to mean squared distance one, and its iterations."""
    codes, scale = checked_classes(features, labels), inverse_scale(features)
    # About the mean: objectives know differences only, which are computed from products.
    scaled = scale * (features - features.mean(axis=0))
    # Products of blocks are small: threads of BLAS would wait for each other.
    with one_blas_thread():
        objective, start = learner.objective(scaled, codes), leading_axes(scaled, learner.n_components)
        projection, iterations = descend(objective, start, maxiter=learner.max_iterations, **options)
    return scale * projection, iterations


@dataclass(frozen=True)
class NCA:
    """Maximise the expected number of samples that a random neighbour classifies rightly.

        min_A  f(A) = -sum_i sum_{j != i, y_j = y_i} p_ij,   p_ij = exp(-|A'x_i - A'x_j|^2) / sum_{l != i} exp(...)

    by L-BFGS from the identity, at most ``max_iterations``, on features scaled to mean squared distance one; for A with
    ``n_components`` columns from as many principal axes. Where D
    is not less than n - 1 a map exists that collapses every class and makes f as small as one likes: start and stopping
    then decide the result.

    Source: Goldberger, Roweis, Hinton, Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    max_iterations: Annotated[int, COUNT] = 50
    n_components: Annotated[int | None, optional(COUNT)] = None

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x d) for ``features`` (n x D).

        Raises ``InputError`` with one class, samples that all coincide, or more components than features.
        """
        return self.descend(features, labels)[0]

    def descend(
        self, features: FloatArray, labels: NDArray[np.generic], tolerance: float = 1e-5
    ) -> tuple[FloatArray, int]:
        """Return A and the iterations taken; fewer than ``max_iterations`` where L-BFGS met ``tolerance``."""
        return _learned(self, features, labels, tolerance=tolerance)

    def objective(self, features: FloatArray, codes: IntArray) -> Objective:
        """Return f and its gradient as a function of A."""
        return partial(nca_objective, features=features, codes=codes)


def nca_objective(projection: FloatArray, features: FloatArray, codes: IntArray) -> tuple[float, FloatArray]:
    """Return f(A) of :class:`NCA` and its gradient 2 X'S X A for A = ``projection`` (D x d), X = ``features`` (n x D).

        S = Laplacian of  w_ij = p_ij (1[y_i = y_j] - p_i),   p_i = sum_{j: y_j = y_i} p_ij

    Source: Chatpatanasiri et al. 2010, Eqs. 5 and 6; the gradient as printed there lacks a minus sign for the f that is
    minimised. Memory is O(n d). From 5000 samples on pairs are summed in float32, to six digits of f.
    """
    # Class after class, so that samples of a class are side by side.
    sums, value, n_samples = PairSums(features, projection, codes), 0.0, len(features)
    for block in row_blocks(n_samples, projection.shape[1]):
        # exp(-d_ij) times what makes the largest of a row one.
        chances = sums.squared(block)
        itself = np.arange(len(chances)), np.arange(block.start, block.stop)
        chances[itself] = np.inf
        np.subtract(chances.min(axis=1, keepdims=True), chances, out=chances)
        # Products of two of them then stay normal numbers: others take a hundred times as long to multiply.
        np.maximum(chances, _FARTHEST * least_exponent(chances.dtype), out=chances)
        np.exp(chances, out=chances)
        chances[itself] = 0.0
        for rows, own in sums.parts(block):
            mine = chances[rows.start - block.start : rows.stop - block.start]
            others = slice(0, own.start), slice(own.stop, n_samples)
            right, *wrong = (sums.products(mine[:, columns], columns) for columns in (own, *others))
            wrongs = wrong[0][:, -1:] + wrong[1][:, -1:]
            total = right[:, -1:] + wrongs
            rights = right[:, -1:] / total
            value -= float(rights.sum())
            # w = p (1[same class] - rights), p the chances over their total; 1 - rights from what is wrong.
            sums.add(rows, own, mine[:, own], right, wrongs / total / total)
            for columns, products in zip(others, wrong, strict=True):
                sums.add(rows, columns, mine[:, columns], products, -rights / total)
    return value, sums.gradient()


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
        # Class after class, so that the impostors of a class are side by side.
        sums, value = PairSums(self.features, projection, self.codes), 0.0
        places = np.argsort(sums.order)
        targets = np.where(self.targets >= 0, places[self.targets], -1)[sums.order]
        every = slice(0, len(self.features))
        for block in row_blocks(len(self.features), projection.shape[1]):
            for rows, own in sums.parts(block):
                here, weights = self._rows(sums.squared(rows), targets[rows], own)
                sums.add(rows, every, weights, sums.products(weights, every))
                value += here
        gradient = sums.gradient()
        gradient += 2.0 * self.regularisation * projection
        return value + self.regularisation * float(np.square(projection).sum()), gradient

    def _rows(self, squared: FloatArray, targets: IntArray, own: slice) -> tuple[float, FloatArray]:
        """Return what samples of one class bring to f, and its derivatives by their distances.

        ``squared`` are their distances to all n samples, of which ``own`` are of the class.
        """
        rows, present = np.arange(len(squared)), targets >= 0
        # Without a target there is no margin.
        distances = np.where(present, squared[rows[:, None], targets], -np.inf)
        value, weights = float(distances[present].sum()), np.zeros_like(squared)
        # Few samples of other classes are nearer than the farthest target and its margin.
        near = squared < (1.0 + distances.max(axis=1))[:, None]
        near[:, own] = False
        impostors = np.flatnonzero(near)
        of_row, reached = impostors // squared.shape[1], squared.reshape(-1)[impostors]
        violated = np.zeros(len(impostors), dtype=weights.dtype)
        for column, reach, there in zip(targets.T, distances.T, present.T, strict=True):
            slack = np.maximum((1.0 + reach)[of_row] - reached, 0.0)
            value += self.push * float(slack.sum())
            inside = slack > 0.0
            violated += inside
            counts = np.bincount(of_row, inside, len(rows))
            weights[rows[there], column[there]] += (1.0 + self.push * counts)[there]
        weights.reshape(-1)[impostors] = -self.push * violated
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
        return _learned(self, features, labels, maxfun=20 * self.max_iterations)

    def objective(self, features: FloatArray, codes: IntArray) -> Objective:
        """Return f and its gradient as a function of A."""
        push, regularisation = self.push, self.regularisation
        objective = lmnn_objective(features, codes, self.n_neighbours, push=push, regularisation=regularisation)
        return objective.value_and_gradient
