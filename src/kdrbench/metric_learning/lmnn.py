"""Large margin nearest neighbours (LMNN): a few steps, as published, or the optimum with a proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.learner import checked_classes, inverse_scale
from kdrbench.metric_learning.lmnn_objective import LMNNObjective, lmnn_objective
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_parameters

# Widths of the smoothed hinge, each started where the one before ended: the first is the margin itself.
_SMOOTHINGS = 10.0 ** -np.arange(0.0, 9.0)
# The most directions added at each width, and their sizes as shares of tr M.
_ESCAPES = 10
_STEP_SIZES = 10.0 ** -np.arange(0.0, 9.0)


@dataclass(frozen=True)
class LMNN:
    """Minimise the sum f of :class:`LMNNObjective` on features scaled to mean squared distance one.

    ``max_iterations`` of L-BFGS over a square A from the identity. The default stops early, for the accuracy's sake:
    where the features span n - 1 dimensions the optimum fits every training sample, and more steps classify test
    samples worse (on m-USPS .95, .94, .92, .87 after 10, 20, 50, 200). :func:`lmnn_optimum` goes to the optimum.
    """

    n_neighbours: Annotated[int, COUNT] = 3
    push: Annotated[float, NOT_NEGATIVE] = 1.0
    regularisation: Annotated[float, NOT_NEGATIVE] = 0.0
    max_iterations: Annotated[int, COUNT] = 20

    def __post_init__(self) -> None:
        check_parameters(self, "learner option")

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> FloatArray:
        """Return A (D x D) for ``features`` (n x D).

        Raises ``InputError`` with one class, no class of two samples, samples that all coincide, or bad options.
        """
        return self.descend(features, labels)[0]

    def descend(self, features: FloatArray, labels: NDArray[np.generic]) -> tuple[FloatArray, int]:
        """Return A and the iterations taken."""
        objective, scale = self.scaled_objective(features, labels)
        projection, iterations = descend(objective, np.eye(features.shape[1]), self.max_iterations)
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
    projection, iterations = descend(objective, start, max_iterations, precise=True)
    for _ in range(_ESCAPES):
        value = objective.value_and_gradient(projection)[0]
        wider = _with_lacking_direction(objective, projection)
        if wider is None:
            break
        projection, more = descend(objective, wider, max_iterations, precise=True)
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


def descend(
    objective: LMNNObjective,
    start: FloatArray,
    max_iterations: int,
    *,
    precise: bool = False,
) -> tuple[FloatArray, int]:
    """Return A after L-BFGS on the objective from ``start`` (D x d), and its iterations.

    ``precise``: until rounding stops it.
    """
    from scipy.optimize import minimize

    def evaluate(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
        return value, gradient.ravel()

    options: dict[str, float] = {"maxiter": max_iterations, "maxfun": 20 * max_iterations}
    if precise:
        options |= {"ftol": 0.0, "gtol": 0.0, "maxcor": 30}
    minimum = minimize(evaluate, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return minimum.x.reshape(start.shape), int(minimum.nit)
