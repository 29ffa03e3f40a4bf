"""The contract between problems and solvers, and the cheaper forms of itself that a problem may offer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

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


@dataclass(frozen=True)
class RowSpace:
    """An orthonormal basis B (d x r) in numpy of a space that holds all samples, and X B (n x r) where X is."""

    basis: FloatArray
    features: FloatArray

    def lower(self, projection: FloatArray) -> FloatArray:
        """Return V = B'W."""
        return self.basis.T @ projection

    def lift(self, lowered: FloatArray) -> FloatArray:
        """Return W = B V."""
        return self.basis @ lowered


class Problem:
    """Oracles of F(W) = Tr(Gamma K_XW), to be maximised over d x q matrices W with W'W = I.

    W may have any number of columns from 1 to d. A solver names the oracles that it calls; a problem that lacks one is
    refused before the run. A problem of one's own has ``counters``, ``n_features``, ``fresh`` and oracles. All else
    answers here for a problem that is evaluated in one way, exactly; others offer to be evaluated nearby, on fewer
    samples, or in fewer coordinates.
    """

    counters: Counters
    # Called with the share of a long pass over the data that is done; answers whether to go on.
    report: Callable[[float], bool] | None = None
    # Called with an oracle's name, W and the answer.
    observer: Callable[[str, FloatArray, Any], None] | None = None

    @property
    def n_features(self) -> int:
        """Number of rows d of a projection."""
        raise NotImplementedError

    def fresh(self) -> Self:
        """Return the same problem with its own counters and nothing remembered of earlier points.

        The data are shared. Referees and repeated timings use it, so that no run profits from another.
        """
        raise NotImplementedError

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        raise self._lacking("value")

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return the Euclidean gradient of F at W: 2 Phi(W) W, d x q."""
        raise self._lacking("gradient")

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and its Euclidean gradient; where they come from one pass it is one call, ``value_gradient``."""
        return self.value(projection), self.gradient(projection)

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W applied to Z, d x q."""
        raise self._lacking("hessian_vector")

    def hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to each Z of ``directions`` (b x d x q); counts as b products."""
        return np.array([self.hessian_vector(projection, direction) for direction in directions])

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian of F at W as a matrix on the directions B_u e_a' (``basis`` B is d x m).

        The result is mq x mq. Rows and columns count a fastest: entry (ua, vb) is <B_u e_a', Hess F[B_v e_b']>.
        """
        directions = [np.outer(column, axis) for column in basis.T for axis in np.eye(projection.shape[1])]
        matrix: FloatArray = np.array(
            [(basis.T @ self.hessian_vector(projection, direction)).ravel() for direction in directions]
        )
        return 0.5 * (matrix + matrix.T)

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return the surrogate matrix Phi(W), d x d and symmetric."""
        raise self._lacking("surrogate")

    def rough_surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W), or what is near it and cheaper: for a step that is checked, or a preconditioner."""
        return self.surrogate(projection)

    def surrogate_products(self, projection: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        """Return V -> Phi(W) V where that does not need Phi itself; each call counts as a gradient."""
        return None

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0: f' replaced by its value at beta = 0, or by its sign for beta > 0 where that is zero.

        For a single kernel this is the papers' sign of f' up to a positive factor, which changes no eigenvector; in a
        combination the values weigh the members against each other.
        """
        raise self._lacking("initial_surrogate")

    @property
    def surrogate_is_constant(self) -> bool:
        """Whether Phi is known to be the same at every W: then F is the quadratic Tr(W' Phi W) and a constant."""
        return False

    @property
    def few_outweigh(self) -> bool:
        """Whether samples of large norm are known to outweigh the others: F has powers of inner products."""
        return False

    def explain(self, n_components: int) -> str:
        """Say in one sentence how projections to ``n_components`` are evaluated, and why."""
        return type(self).__name__

    def evaluated(self, evaluator: str) -> Problem:
        """Return the same problem, evaluated in the way that ``evaluator`` names; counters and report are shared.

        Raises ``InputError`` for an unknown evaluator, or one that the kernel does not allow.
        """
        raise InputError(f"{type(self).__name__} cannot be evaluated as {evaluator!r}; make it with build_problem")

    def accuracy(self, n_components: int) -> float:
        """Return the relative stationarity to which gradients can be trusted; 0 where they are exact."""
        return 0.0

    def approximation(self, projection: FloatArray) -> Problem | None:
        """Return a cheaper problem near this one that shares its counters; ``None`` where this one is cheap at W."""
        return None

    def refined_at(self, projection: FloatArray) -> bool:
        """Make the oracles finer where their accuracy is not proved at W; return whether that was needed."""
        return False

    def linearised_at(self, projection: FloatArray) -> Problem:
        """Return the problem with all choices made as at W, sharing the counters: its oracles change smoothly."""
        return self

    def subsampled(self, n_samples: int) -> Problem | None:
        """Return the problem of ``n_samples`` samples, equal shares of all classes; ``None`` if there are fewer.

        It is always the same. F is about (n_samples / n)^2 of this one's, calls are counted apart.
        """
        return None

    def leading(self, n_samples: int) -> Problem | None:
        """Return the problem of the samples of largest norm, where few outweigh the others; else equal shares.

        ``None`` if there are not twice as many samples.
        """
        return None

    def in_row_space(self, projection: FloatArray) -> tuple[Problem, RowSpace] | None:
        """Return the problem in fewer coordinates that span W, sharing the counters, and those.

        ``None`` where that saves little.
        """
        return None

    def _check(self, projection: FloatArray) -> None:
        if projection.ndim != 2 or len(projection) != self.n_features:
            raise InputError(f"a projection must have {self.n_features} rows, got shape {projection.shape}")

    def _lacking(self, oracle: str) -> InputError:
        return InputError(
            f"{type(self).__name__} has no oracle {oracle}; choose another evaluator, or a solver that does without"
        )
