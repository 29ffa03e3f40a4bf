"""A costly problem whose second order is taken from a cheaper one nearby."""

from __future__ import annotations

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Coordinates, Counters, Problem


class BlendedProblem:
    """F and its gradient of ``exact``, surrogate and Hessian of ``rough``, which shares its counters.

    Newton steps from an inexact Hessian converge to the same points, a little slower.
    """

    def __init__(self, exact: Problem, rough: Problem) -> None:
        self._exact, self._rough = exact, rough
        self.counters: Counters = exact.counters
        self.report = exact.report

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self._exact.n_features

    def fresh(self) -> BlendedProblem:
        """Return the same problem with its own counters."""
        exact, rough = self._exact.fresh(), self._rough.fresh()
        rough.counters = exact.counters
        return BlendedProblem(exact, rough)

    def evaluated(self, evaluator: str) -> Problem:
        """Return the exact problem, evaluated in that way."""
        return self._exact.evaluated(evaluator)

    def rough(self, n_components: int) -> Problem | None:
        """Return the cheaper problem."""
        return self._rough

    def frozen(self, projection: FloatArray) -> Problem:
        """Return the problem itself."""
        return self

    def thinned(self, n_samples: int) -> Problem | None:
        """Return the cheaper problem of some of the samples."""
        return self._rough.thinned(n_samples)

    def accuracy(self, n_components: int) -> float:
        """Return that of the gradient."""
        return self._exact.accuracy(n_components)

    def explain(self, n_components: int) -> str:
        """Say how values and gradients are evaluated."""
        return self._exact.explain(n_components)

    def in_row_space(self, projection: FloatArray) -> tuple[Problem, Coordinates] | None:
        """Return ``None``: a problem is blended where it is solved."""
        return None

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        return self._exact.value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return 2 Phi(W) W."""
        return self._exact.gradient(projection)

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its gradient."""
        return self._exact.value_and_gradient(projection)

    def riemannian_gradient(self, projection: FloatArray) -> FloatArray:
        """Return (I - WW') grad F."""
        return self._exact.riemannian_gradient(projection)

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the rough Hessian applied to Z."""
        return self._rough.hessian_vector(projection, direction)

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the rough Hessian on directions."""
        return self._rough.hessian(projection, basis)

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return the rough surrogate."""
        return self._rough.surrogate(projection)

    def initial_surrogate(self) -> FloatArray:
        """Return the rough Phi_0."""
        return self._rough.initial_surrogate()
