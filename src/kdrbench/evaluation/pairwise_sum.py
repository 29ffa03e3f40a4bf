"""Phi as its definition says: a sum over pairs of samples, each with a d x d matrix of its own.

    Phi(W)  = 1/2 sum_ij Gamma_ij f'(beta_ij) A_ij,   A_ij = a b' + b a',   beta_ij = a' W W' b
    F(W)    = sum_ij Gamma_ij f(beta_ij),             grad F = 2 Phi(W) W

with a = x_i, b = x_j (dot) or a = b = x_i - x_j (difference). It takes n^2 steps of Python and n^2 d^2 operations where
X'GX takes n^2 d: kept as the slow original it is, and because nothing else here is as plain.

Source: Wu, Ioannidis, Sznaier, Li, Kaeli, Dy, "Iterative Spectral Method for Alternative Clustering", AISTATS 2018
(arXiv 1909.03441); A_ij as in NeurIPS 2019, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.passes import run_pass
from kdrbench.kernels import Kernel, Pairing, Term, restricted, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

_Slope = Callable[[Kernel, FloatArray], FloatArray]


class PairwiseSumProblem(Evaluator):
    """Value, gradient and surrogates by loops over pairs, for any kernel; no second derivatives."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.features)
        self._gamma = objective.gamma.dense()
        self._terms = terms_of(objective.kernel)

    def _forget(self) -> None:
        pass

    def _value(self, projection: FloatArray) -> float:
        def visit(total: FloatArray, i: int) -> None:
            for j in range(len(self._gamma)):
                for term, a, b in self._pairs(i, j):
                    beta = float(a @ projection @ projection.T @ b)
                    total += self._gamma[i, j] * _at(term, i, j, beta, _value)

        return float(self._summed(np.zeros(()), visit))

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return 2.0 * self._surrogate(projection) @ projection

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._weighted(projection, _derivative)

    def _initial_surrogate(self) -> FloatArray:
        return self._weighted(np.zeros((self.n_features, 1)), _initial_slope)

    def _weighted(self, projection: FloatArray, slope: _Slope) -> FloatArray:
        """Return 1/2 sum_ij Gamma_ij s_ij A_ij."""

        def visit(total: FloatArray, i: int) -> None:
            for j in range(len(self._gamma)):
                for term, a, b in self._pairs(i, j):
                    beta = float(a @ projection @ projection.T @ b)
                    weight = self._gamma[i, j] * _at(term, i, j, beta, slope)
                    total += 0.5 * weight * (np.outer(a, b) + np.outer(b, a))

        return self._summed(np.zeros((self.n_features,) * 2), visit)

    def _summed(self, zero: FloatArray, visit: Callable[[FloatArray, int], None]) -> FloatArray:
        (total,) = run_pass(range(len(self._gamma)), 1, zero.copy, visit, self.report)
        return total

    def _pairs(self, i: int, j: int) -> Iterator[tuple[Term, FloatArray, FloatArray]]:
        """Yield a and b of one pair of samples for each member of the kernel."""
        first, second = self._features[i], self._features[j]
        for term in self._terms:
            if term.kernel.pairing is Pairing.DOT:
                yield term, first, second
            else:
                yield term, first - second, first - second


def _at(term: Term, i: int, j: int, beta: float, function: _Slope) -> float:
    """Return mu times a function of one pair's kernel."""
    kernel = restricted(term.kernel, slice(i, i + 1), slice(j, j + 1))
    return term.weight * float(function(kernel, np.full((1, 1), beta))[0, 0])


def _value(kernel: Kernel, beta: FloatArray) -> FloatArray:
    return kernel.value(beta)


def _derivative(kernel: Kernel, beta: FloatArray) -> FloatArray:
    return kernel.derivative(beta)


def _initial_slope(kernel: Kernel, zero: FloatArray) -> FloatArray:
    slope = kernel.derivative(zero)
    return slope if slope.any() else np.sign(kernel.derivative(zero + 1.0))
