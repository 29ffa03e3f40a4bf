"""The contract between problems and solvers, and what solvers ask of problems that offer cheaper forms of themselves.

The functions below take any :class:`Problem` and answer with the exact problem's own behaviour where nothing else is
offered. So a solver that uses approximations also runs without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeGuard

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray


@dataclass
class Counters:
    """How often each oracle of a problem was called."""

    value: int = 0
    gradient: int = 0
    value_gradient: int = 0
    hessian_vector: int = 0
    hessian: int = 0
    surrogate: int = 0

    @property
    def total(self) -> int:
        """Calls of all oracles together."""
        return sum(getattr(self, field.name) for field in fields(self))


class Problem(Protocol):
    """Oracles of F(W) = Tr(Gamma K_XW), to be maximised over d x q matrices W with W'W = I.

    W may have any number of columns from 1 to d. A solver names the oracles that it calls; a problem that lacks one is
    refused before the run.
    """

    counters: Counters

    @property
    def n_features(self) -> int:
        """Number of rows d of a projection."""

    def fresh(self) -> Problem:
        """Return the same problem with its own counters and nothing remembered of earlier points.

        The data are shared. Referees and repeated timings use it, so that no run profits from another.
        """

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the Euclidean gradient of F at W: 2 Phi(W) W, d x q."""

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its Euclidean gradient from one pass; counts as one call, ``value_gradient``.

        Solvers ask for it by :func:`value_and_gradient_of`, so that a problem may do without.
        """

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W applied to Z, d x q."""

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return the surrogate matrix Phi(W), d x d and symmetric."""

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0, the surrogate with f' replaced by its sign at 0."""


class Coordinates(Protocol):
    """An orthonormal basis B of a subspace of the features."""

    def lower(self, projection: FloatArray) -> FloatArray:
        """Return B'W."""

    def lift(self, lowered: FloatArray) -> FloatArray:
        """Return B V."""


class ApproximableProblem(Problem, Protocol):
    """A problem that can be evaluated in other ways: nearby, on fewer samples, or in fewer coordinates."""

    # Called with the share of a long pass over the data that is done; answers whether to go on.
    report: Callable[[float], bool] | None
    observer: Callable[[str, FloatArray, Any], None] | None  # called with an oracle's name, W and the answer

    def explain(self, n_components: int) -> str:
        """Say in one sentence how projections to ``n_components`` are evaluated, and why."""

    def evaluated(self, evaluator: str) -> Problem:
        """Return the same problem, evaluated in the way that ``evaluator`` names; counters and report are shared.

        Raises ``InputError`` where the kernel does not allow it.
        """

    def accuracy(self, n_components: int) -> float:
        """Return the relative stationarity to which gradients can be trusted; 0 where they are exact."""

    def approximation(self, n_components: int) -> ApproximableProblem | None:
        """Return a cheaper problem near this one that shares its counters; ``None`` where this one is cheap."""

    def refined_at(self, projection: FloatArray) -> bool:
        """Make the oracles finer where their accuracy is not proved at W; return whether that was needed."""

    def linearised_at(self, projection: FloatArray) -> Problem:
        """Return the problem with all choices of its approximations made as at W; counters are shared."""

    def subsampled(self, n_samples: int) -> Problem | None:
        """Return the problem of ``n_samples`` of the samples, always the same; ``None`` if there are no more."""

    def leading(self, n_samples: int) -> Problem | None:
        """Return the problem of the ``n_samples`` that decide most; ``None`` if there are not twice as many."""

    @property
    def few_outweigh(self) -> bool:
        """Whether samples of large norm outweigh the others: F has powers of inner products."""

    def in_row_space(self, projection: FloatArray) -> tuple[Problem, Coordinates] | None:
        """Return the same problem in fewer coordinates that span W, and those; ``None`` where that saves little."""

    def surrogate_products(self, projection: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        """Return V -> Phi(W) V where that does not need Phi itself; each call counts as a gradient."""

    @property
    def surrogate_is_constant(self) -> bool:
        """Whether Phi is known to be the same at every W: then F is the quadratic Tr(W' Phi W) and a constant."""

    def hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to each Z of ``directions`` (b x d x q); counts as b products."""

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W as a matrix on the directions B_u e_a' (``basis`` B is d x m).

        The result is mq x mq. Rows and columns count a fastest: entry (ua, vb) is <B_u e_a', Hess F[B_v e_b']>.
        """


_OFFERS = frozenset(
    {"report", "explain", "evaluated", "accuracy", "approximation", "linearised_at", "subsampled", "in_row_space"}
    | {"refined_at", "surrogate_is_constant", "leading", "few_outweigh"}
)


def is_approximable(problem: Problem) -> TypeGuard[ApproximableProblem]:
    """Return whether the problem offers approximations of itself."""
    return all(hasattr(problem, name) for name in _OFFERS)


def approximation_of(problem: Problem, n_components: int) -> ApproximableProblem | None:
    """Return a cheaper problem near this one, if it offers one."""
    return problem.approximation(n_components) if is_approximable(problem) else None


def accuracy_of(problem: Problem, n_components: int) -> float:
    """Return the relative stationarity to which gradients can be trusted; 0 where nothing else is known."""
    return problem.accuracy(n_components) if is_approximable(problem) else 0.0


def evaluated_as(evaluator: str, problem: Problem) -> Problem:
    """Return the problem, evaluated in the way named; ``InputError`` where it offers one way only."""
    if not is_approximable(problem):
        raise InputError(f"{type(problem).__name__} cannot be evaluated as {evaluator!r}; make it with build_problem")
    return problem.evaluated(evaluator)


def in_row_space(problem: Problem, projection: FloatArray) -> tuple[Problem, Coordinates] | None:
    """Return the problem in coordinates of the row space, and those, where it offers them and they save much."""
    return problem.in_row_space(projection) if is_approximable(problem) else None


def value_and_gradient_of(problem: Any, projection: FloatArray) -> tuple[float, FloatArray]:
    """Return F(W) and its gradient, from one pass where the problem offers that; by two calls otherwise."""
    if callable(fused := getattr(problem, "value_and_gradient", None)):
        value, gradient = fused(projection)
        return value, gradient
    return problem.value(projection), problem.gradient(projection)


def surrogate_is_constant(problem: Problem) -> bool:
    """Return whether Phi is known to be the same at every W."""
    return is_approximable(problem) and problem.surrogate_is_constant


def few_outweigh(problem: Problem) -> bool:
    """Return whether samples of large norm are known to outweigh the others."""
    return is_approximable(problem) and problem.few_outweigh


def surrogate_products_of(problem: Problem, projection: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return V -> Phi(W) V where the problem offers that without Phi itself."""
    offered = getattr(problem, "surrogate_products", None)
    return offered(projection) if callable(offered) else None


def hessian_vectors_of(problem: Problem, projection: FloatArray, directions: FloatArray) -> FloatArray:
    """Return the Hessian applied to each of ``directions`` (b x d x q), in one pass where the problem offers that."""
    if callable(together := getattr(problem, "hessian_vectors", None)):
        return np.asarray(together(projection, directions))
    return np.array([problem.hessian_vector(projection, direction) for direction in directions])


def hessian_of(problem: Problem, projection: FloatArray, basis: FloatArray) -> FloatArray:
    """Return what :meth:`ApproximableProblem.hessian` does.

    It is built from products, one for each direction, where the problem has no oracle of that name.
    """
    if callable(hessian := getattr(problem, "hessian", None)):
        return np.asarray(hessian(projection, basis))
    directions = [np.outer(column, axis) for column in basis.T for axis in np.eye(projection.shape[1])]
    matrix: FloatArray = np.array(
        [(basis.T @ problem.hessian_vector(projection, direction)).ravel() for direction in directions]
    )
    return 0.5 * (matrix + matrix.T)
