"""Large margin nearest neighbours (LMNN): the objective, a few steps as published, or the optimum with a proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.kernel_pca import RANK_TOLERANCE
from kdrbench.metric_learning.learner import (
    LaplacianProduct,
    checked_classes,
    class_order,
    descend,
    inverse_scale,
    leading_axes,
    target_neighbours,
)
from kdrbench.metric_learning.neighbours import IntArray, distance_rows, row_blocks
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_parameters, check_value, optional

# Beyond this condition an eigenvalue by B has too few digits to prove anything.
_SINGULAR = 1e-10
# Widths of the smoothed hinge, each started where the one before ended: the first is the margin itself.
_SMOOTHINGS = 10.0 ** -np.arange(0.0, 9.0)
# The most directions added at each width, and their sizes as shares of tr M.
_ESCAPES = 10
_STEP_SIZES = 10.0 ** -np.arange(0.0, 9.0)


@dataclass(frozen=True, eq=False)
class LMNNObjective:
    """Distances to target neighbours, and violations of their margin by impostors.

        f(M) = sum_(i,j) d_ij + c sum_(i,j) sum_{l: y_l != y_i} h(1 + d_ij - d_il) + r tr M,   d_ij = |A'x_i - A'x_j|^2

    over pairs (i, j) of a sample and its target neighbours: ``targets`` (n x k; a row's missing ones are -1), with
    M = AA', h(s) = max(s, 0), c = ``push``, r = ``regularisation`` (tr M = |A|_F^2). With ``smoothing`` mu > 0, h is
    s^2 / (2 mu) up to s = mu and s - mu/2 from there on: at most mu/2 below, with a continuous derivative.

    f is convex in M. A square A reaches every M, so that a minimum over A is one over M.

    Source: Weinberger, Saul, "Distance metric learning for large margin nearest neighbor classification", JMLR 10,
    2009, weighted as in Chatpatanasiri et al. 2010.
    """

    features: FloatArray
    codes: IntArray
    targets: IntArray
    push: float = 1.0
    regularisation: float = 0.0
    smoothing: float = 0.0

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return f at A = ``projection`` (D x d) and its (sub)gradient 2 X'SXA + 2rA."""
        projected = self.features @ projection
        value, moved, _ = self._passed(projection, projected)
        gradient: FloatArray = 2.0 * self.features.T @ moved
        gradient += 2.0 * self.regularisation * projection
        return value, gradient

    def slope(self, projection: FloatArray) -> FloatArray:
        """Return the (sub)gradient of f by M at AA' (D x D); where A is optimal it is positive semidefinite."""
        form: FloatArray = self.features.T @ self._passed(projection, self.features)[1]
        return form + self.regularisation * np.eye(self.features.shape[1])

    def lower_bound(self, projection: FloatArray) -> float:
        """Return a number that f without smoothing is nowhere below, near its minimum if A is near the optimum.

        f(M) >= <B, M> + sum_t a_t (1 + <C_t, M>) for all multipliers 0 <= a_t <= c of the triples t, where B is the
        part that is linear in M and C_t = x_ij x_ij' - x_il x_il'. So sum_t a_t is a bound if B + sum_t a_t C_t is
        positive semidefinite. Taken are the derivatives c h' at A, times the largest share in [0, 1] for which it is;
        zero, which f is never below, where B is singular.
        """
        spanned = self.features @ (basis := self._spanned())
        _, moved, multipliers = self._passed(projection, spanned)
        ridge = self.regularisation * np.eye(basis.shape[1])
        linear = self._pulls(spanned) + ridge
        pushed = spanned.T @ moved + ridge - linear
        spectrum = eigh(linear, eigvals_only=True)
        if spectrum[0] <= _SINGULAR * spectrum[-1]:
            # Targets do not span what samples do, or so little that rounding might undo the proof.
            return 0.0
        # The share s keeps B + s P semidefinite as long as s times the smallest eigenvalue of P by B is >= -1.
        smallest = float(eigh(pushed, linear, eigvals_only=True, subset_by_index=[0, 0])[0])
        return multipliers * min(1.0, -1.0 / smallest) if smallest < 0.0 else multipliers

    def _spanned(self) -> FloatArray:
        """Return an orthonormal basis of the directions in which samples differ (D x r); f knows no others."""
        centred = self.features - self.features.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        return np.asarray(vectors[:, values > RANK_TOLERANCE * values[-1]])

    def _passed(self, projection: FloatArray, columns: FloatArray) -> tuple[float, FloatArray, float]:
        """Return f, S V for the Laplacian S of its derivatives by d_ij and V = ``columns``, and the sum of all c h'."""
        # Class after class, so that the impostors of a class are side by side.
        order, codes, ends = class_order(self.codes)
        places = np.argsort(order)
        targets = np.where(self.targets >= 0, places[self.targets], -1)[order]
        squared, product = distance_rows((self.features @ projection)[order]), LaplacianProduct(columns[order])
        value = multipliers = 0.0
        for block in row_blocks(*columns.shape):
            for code in range(int(codes[block.start]), int(codes[block.stop - 1]) + 1):
                first = int(ends[code - 1]) if code else 0
                rows = slice(max(block.start, first), min(block.stop, int(ends[code])))
                here, weights, pushed = self._rows(squared(rows), targets[rows], slice(first, int(ends[code])))
                product.add(rows, weights)
                value, multipliers = value + here, multipliers + pushed
        moved = np.empty_like(columns)
        moved[order] = product.total()
        return value + self.regularisation * float(np.square(projection).sum()), moved, multipliers

    def _rows(self, squared: FloatArray, targets: IntArray, own: slice) -> tuple[float, FloatArray, float]:
        """Return what samples of one class bring to f, its derivatives by their distances, and the sum of c h'.

        ``squared`` are their distances to all n samples, of which ``own`` are of the class.
        """
        places, present = np.arange(len(squared)), targets >= 0
        # Without a target there is no margin.
        distances = np.where(present, squared[places[:, None], targets], -np.inf)
        value, multipliers, weights = float(distances[present].sum()), 0.0, np.zeros_like(squared)
        for impostors in (slice(0, own.start), slice(own.stop, None)):
            for column, reach, there in zip(targets.T, distances.T, present.T, strict=True):
                slack = np.subtract((1.0 + reach)[:, None], squared[:, impostors])
                violation, derivative = self._hinge(np.maximum(slack, 0.0, out=slack))
                derivative *= self.push
                weights[:, impostors] -= derivative
                per_row = derivative.sum(axis=1)
                weights[places[there], column[there]] += per_row[there]
                value += self.push * violation
                multipliers += float(per_row.sum())
        for column, there in zip(targets.T, present.T, strict=True):
            weights[places[there], column[there]] += 1.0
        return value, weights, multipliers

    def _hinge(self, slack: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of h and h' elementwise, for what is positive of s."""
        if self.smoothing == 0.0:
            return float(slack.sum()), (slack > 0.0).astype(np.float64)
        derivative = np.minimum(slack / self.smoothing, 1.0)
        return float((derivative * (slack - 0.5 * self.smoothing * derivative)).sum()), derivative

    def _pulls(self, columns: FloatArray) -> FloatArray:
        """Return V'SV for the Laplacian S of the targets alone and V = ``columns``."""
        form = np.zeros((columns.shape[1],) * 2)
        for column in self.targets.T:
            rows = np.flatnonzero(column >= 0)
            differences = columns[rows] - columns[column[rows]]
            form += differences.T @ differences
        return form


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
    samples worse (on m-USPS .95, .94, .92, .87 after 10, 20, 50, 200). :func:`lmnn_optimum` goes to the optimum.
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
        objective, scale = self.scaled_objective(features, labels)
        start, most = leading_axes(objective.features, self.n_components), self.max_iterations
        projection, iterations = descend(objective.value_and_gradient, start, maxiter=most, maxfun=20 * most)
        return scale * projection, iterations

    def scaled_objective(self, features: FloatArray, labels: NDArray[np.generic]) -> tuple[LMNNObjective, float]:
        """Return f on the scaled features, and the scale: that times a map of them is a map of ``features``."""
        codes, scale = checked_classes(features, labels), inverse_scale(features)
        scaled = scale * (features - features.mean(axis=0))
        objective = lmnn_objective(scaled, codes, self.n_neighbours, push=self.push, regularisation=self.regularisation)
        return objective, scale


@dataclass(frozen=True, eq=False)
class LMNNOptimum:
    """A map, its f, and a bound that f is nowhere below; their difference proves how good the map is.

    ``iterations`` are those of all descents.
    """

    projection: FloatArray
    value: float
    lower_bound: float
    iterations: int = 0

    @property
    def relative_gap(self) -> float:
        """(f - bound) / f, zero where f is zero."""
        return (self.value - self.lower_bound) / self.value if self.value > 0 else 0.0


def lmnn_optimum(
    objective: LMNNObjective,
    tolerance: float = 1e-6,
    max_iterations: int = 5000,
) -> LMNNOptimum:
    """Minimise f until the proved relative gap is at most ``tolerance``, or rounding ends it; the gap shows which.

    The hinge has a kink, where L-BFGS stalls and no single subgradient proves anything. It is smoothed, less and less;
    the smoothed derivatives are then multipliers of the dual problem (see :meth:`LMNNObjective.lower_bound`). Where a
    singular A is stationary though M is not optimal, the direction that M lacks is added. ``max_iterations`` is for
    each descent.
    """
    projection: FloatArray = np.eye(objective.features.shape[1])
    best = LMNNOptimum(projection, objective.value_and_gradient(projection)[0], 0.0)
    for smoothing in _SMOOTHINGS:
        smoothed = replace(objective, smoothing=float(smoothing))
        projection, iterations = _minimise(smoothed, projection, tolerance, max_iterations)
        value, bound = objective.value_and_gradient(projection)[0], smoothed.lower_bound(projection)
        if value < best.value:
            best = replace(best, projection=projection, value=value)
        best = replace(best, lower_bound=max(bound, best.lower_bound), iterations=best.iterations + iterations)
        if best.relative_gap <= tolerance:
            break
    return best


def _minimise(
    objective: LMNNObjective,
    start: FloatArray,
    tolerance: float,
    max_iterations: int,
) -> tuple[FloatArray, int]:
    """Return A after descents, each but the first from where a direction was added, and their iterations."""
    # Until rounding stops it.
    options = {"maxiter": max_iterations, "maxfun": 20 * max_iterations, "ftol": 0.0, "gtol": 0.0, "maxcor": 30}
    projection, iterations = descend(objective.value_and_gradient, start, **options)
    for _ in range(_ESCAPES):
        value = objective.value_and_gradient(projection)[0]
        wider = _with_lacking_direction(objective, projection)
        if wider is None:
            break
        projection, more = descend(objective.value_and_gradient, wider, **options)
        iterations += more
        if objective.value_and_gradient(projection)[0] > value * (1 - 0.1 * tolerance):
            break
    return projection, iterations


def _with_lacking_direction(objective: LMNNObjective, projection: FloatArray) -> FloatArray | None:
    """Return A of M + t vv' for the v along which f falls most steeply, or None where it falls along none."""
    value, metric = objective.value_and_gradient(projection)[0], projection @ projection.T
    slopes, directions = np.linalg.eigh(objective.slope(projection))
    if slopes[0] >= 0:
        return None
    lacking = np.outer(directions[:, 0], directions[:, 0])
    for size in _STEP_SIZES * max(float(np.trace(metric)), 1e-12):
        values, vectors = np.linalg.eigh(metric + size * lacking)
        wider: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
        if objective.value_and_gradient(wider)[0] < value:
            return wider
    return None
