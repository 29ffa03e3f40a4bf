"""Evaluation of Gaussian kernels through a factor of the kernel matrix: linear in n, to a requested error.

The kernel matrix of projected samples, K = f(beta), lives on q dimensions, and its spectrum falls fast where the
bandwidth is not small against their spread. A pivoted Cholesky factor B (n x m) with

    K - BB' positive semi-definite,   trace(K - BB') <= tolerance * n

replaces K; f' and f'' of a Gaussian are multiples of f. Sums with Gamma * BB' are those of :mod:`.weights`, so
value, gradient, products and surrogate cost O(n m d) instead of O(n^2 d). Each is near the exact one to the order of
the tolerance; the approximate gradient is not quite the derivative of the approximate F, so no solver gets closer than
that. One gradient of an exact evaluator at a solution measures how near it is.

Source: :mod:`kdrbench.kernels.bounded_factor` for the factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.evaluation.base import DifferenceSums, curvature_form
from kdrbench.evaluation.cost_model import SINGLE_PRECISION
from kdrbench.evaluation.pairs import single_precision_features
from kdrbench.evaluation.weights import GammaSums, initial_surrogate, own_weights, weighted_gram
from kdrbench.kernels import Gaussian, terms_of
from kdrbench.kernels.bounded_factor import Factor, pivoted_cholesky
from kdrbench.kernels.combination import kernel_values
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import FRACTION, check_value
from kdrbench.problems import TraceObjective


class LowRankProblem(DifferenceSums["_Point"]):
    """Approximate oracles of a :class:`TraceObjective` with a Gaussian kernel.

    ``tolerance`` bounds trace(K - BB')/n at every W, unless ``max_rank`` is reached before. Raises ``InputError`` for
    another kernel, or a tolerance that is not between 0 and 1.
    """

    def __init__(
        self, objective: TraceObjective, tolerance: float, *, threads: int = 1, max_rank: int | None = None
    ) -> None:
        if not isinstance(objective.kernel, Gaussian):
            raise InputError(f"low-rank factors are for Gaussian kernels, not for {objective.kernel!r}")
        check_value("the tolerance of a low-rank factor", tolerance, FRACTION)
        self._sums, self._threads, self._max_rank = GammaSums(objective.gamma, threads), threads, max_rank
        # Of the sums; the factor itself is always made in float64.
        single = tolerance >= SINGLE_PRECISION
        self._dtype: Any = np.float32 if single else np.float64
        super().__init__(single_precision_features(objective) if single else objective.array)
        self.tolerance, self._objective = float(tolerance), objective
        self._kernel = objective.kernel
        self._pivots: tuple[NDArray[np.intp], ...] | None = None

    def linearised_at(self, projection: FloatArray) -> LowRankProblem:
        """Return the problem whose factors have the pivots of W everywhere, and so change smoothly; counters shared."""
        twin = self.fresh()
        twin.counters, twin.report = self.counters, self.report
        twin._pivots = self._at(projection).factored.pivots
        # Only one factor is held at a time: from here on the twin is called.
        self._forget()
        return twin

    def suffices_at(self, projection: FloatArray) -> bool:
        """Return whether the tolerance is kept at W; a ``max_rank`` may have been reached before it was."""
        factor = self._at(projection).factored
        return factor.trace <= self.tolerance * len(factor.columns)

    def _samples(self, projection: FloatArray) -> FloatArray:
        return self._at(projection).samples

    def _value(self, projection: FloatArray) -> float:
        point = self._at(projection)
        total = float(point.degrees.sum())
        if self._objective.gamma.zero_diagonal:
            total -= float(
                own_weights(self._objective.gamma)
                @ np.einsum("ij,ij->i", point.factored.columns, point.factored.columns)
            )
        return total

    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        # What Gamma has on its diagonal cancels.
        point, slope = self._at(projection), -0.5 / float(self._kernel.sigma) ** 2
        result: FloatArray = point.degrees[:, None] * columns - self._sums.applied(point.factored.columns, columns)
        result *= 2.0 * slope
        return result

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        point, bend = self._at(projection), (0.5 / float(self._kernel.sigma) ** 2) ** 2

        def weighted(columns: FloatArray) -> FloatArray:
            return self._curved(projection, columns)

        def quadratic(columns: FloatArray) -> FloatArray:
            return bend * self._sums.quadratic(point.factored.columns, columns, self.report)

        return curvature_form(self._kernel.pairing, weighted, moved, point.samples, quadratic)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._quadratic(projection, self._features)

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        point = self._at(projection)
        result: FloatArray = weighted_gram(columns, point.degrees, self._threads, self.report)
        result -= self._sums.quadratic(point.factored.columns, columns, self.report)
        result *= -1.0 / float(self._kernel.sigma) ** 2
        return result

    def _initial_surrogate(self) -> FloatArray:
        return initial_surrogate(self._objective, self._threads, self.report)

    def _curved(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        return (0.5 / self._kernel.sigma**2) ** 2 * self._sums.applied(self._at(projection).factored.columns, columns)

    def _factor(self, samples: FloatArray) -> Factor:
        """Return B and trace(K - BB')."""
        terms, n_samples = terms_of(self._kernel), len(samples)

        def rows(pivots: NDArray[np.intp]) -> FloatArray:
            return kernel_values(terms, samples[pivots], samples)

        largest = self._max_rank or n_samples
        factor = pivoted_cholesky(rows, np.ones(n_samples), self.tolerance, largest, self._pivots)
        if factor is None:
            raise InputError("the kernel is not finite on these samples: scale the features")
        return factor._replace(columns=np.ascontiguousarray(factor.columns, dtype=self._dtype))

    def _made_at(self, projection: FloatArray) -> _Point:
        samples: FloatArray = (self._features @ projection.astype(self._dtype, copy=False)).astype(np.float64)
        # Squared distances are differences of squares; degrees and products are blind to an offset.
        samples -= samples.mean(axis=0)
        return _Point(samples, self._factor(samples), self._sums)


@dataclass
class _Point:
    """P = XW with the factor B of its kernel matrix, whose columns are in ``factored``."""

    samples: FloatArray
    factored: Factor
    sums: GammaSums

    @cached_property
    def degrees(self) -> FloatArray:
        """(Gamma * BB') 1, its diagonal kept."""
        return self.sums.applied(self.factored.columns, np.ones_like(self.factored.columns[:, :1]))[:, 0]
