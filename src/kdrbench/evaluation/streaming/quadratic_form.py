"""Kernels of which F is a quadratic form, and Phi_0 of every kernel, from one pass over samples that are streamed.

For linear and squared kernels and polynomials of degree 1, F(W) = Tr(W' Phi W) + c with the Phi of every W: the sums of
:func:`initial_surrogate` are all that is needed of the samples. For samples in memory :mod:`.factored` does the same.
"""

from __future__ import annotations

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.streams import Stream
from kdrbench.kernels import Kernel, Linear, Pairing, Polynomial, Squared, has_constant_slope
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.problems.groups import Members
from kdrbench.samples import Engine, Sums

_ROUNDING = 1e-13


class QuadraticForm(Evaluator):
    """Oracles of a :class:`TraceObjective` whose kernel has one slope, by an ``engine``.

    Raises ``InputError`` for other kernels.
    """

    def __init__(self, objective: TraceObjective, *, engine: Engine) -> None:
        kernel, gamma = objective.kernel, objective.gamma
        if not isinstance(kernel, Linear | Squared | Polynomial) or not has_constant_slope(kernel):
            raise InputError(f"F is a quadratic form for linear and squared kernels, not for {kernel!r}")
        super().__init__(objective.samples)
        self._kernel: Linear | Squared | Polynomial = kernel
        self._stream = Stream(objective.samples, gamma, engine, centred=kernel.pairing is Pairing.DIFFERENCE)
        # The offset of each pair, times Gamma.
        offset, groups = kernel.offset if isinstance(kernel, Polynomial) else 0.0, self._stream.groups
        self._constant = offset * float(groups.totals @ groups.theta @ groups.totals - groups.diagonal)
        # Found when first needed, and the same for all twins.
        self._found = list[FloatArray]()

    def _forget(self) -> None:
        pass

    def _value(self, projection: FloatArray) -> float:
        return float(np.vdot(projection, self._phi() @ projection)) + self._constant

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return np.asarray(2.0 * self._phi() @ projection)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._phi().copy()

    def _initial_surrogate(self) -> FloatArray:
        return self._phi().copy()

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        return np.asarray(2.0 * self._phi() @ directions)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        return np.asarray(np.kron(2.0 * basis.T @ self._phi() @ basis, np.eye(projection.shape[1])))

    def _phi(self) -> FloatArray:
        if not self._found:
            self._stream.report = self.report
            self._found.append(initial_surrogate(self._stream, self._kernel))
        return self._found[0]


def initial_surrogate(stream: Stream, kernel: Kernel) -> FloatArray:
    """Return f'(0) X' Gamma X (dot) or 2 f'(0) X' (diag(Gamma 1) - Gamma) X (difference), from one pass.

    Where f'(0) is zero, the sign of f' above 0 replaces it.
    """
    groups, d = stream.groups, stream.samples.shape[1]
    is_dot = kernel.pairing is Pairing.DOT
    if is_dot:
        own = np.diagonal(groups.theta) * float(groups.zero_diagonal)
    else:
        # Degrees are zero for every centred Gamma, but for rounding.
        own = groups.theta @ groups.totals
        own[np.abs(own) <= _ROUNDING * np.abs(groups.theta) @ np.abs(groups.totals)] = 0.0

    def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
        members.add(total[0], np.ones((1, len(rows))), rows)
        if own.any():
            add_gram(total[1], rows, members.spread(own, squared=is_dot))

    sums, gram = stream.with_rows(np.zeros((d, 1)), [(groups.number, 1, d), (d, d)], added)
    slope = float(kernel.derivative(np.zeros((1, 1)))[0, 0])
    slope = slope or float(np.sign(kernel.derivative(np.ones((1, 1)))[0, 0]))
    inner = quadratic(groups.theta, sums.swapaxes(1, 2)) - gram
    return slope * inner if is_dot else -2.0 * slope * inner


def quadratic(theta: FloatArray, sums: FloatArray) -> FloatArray:
    """Return sum_gh Theta_gh S_g S_h' for S (g x e x m)."""
    values, vectors = np.linalg.eigh(theta)
    total = np.zeros((sums.shape[1],) * 2)
    for value, vector in zip(values, vectors.T, strict=True):
        if abs(value) > _ROUNDING * np.abs(values).max():
            mixed = np.tensordot(vector, sums, axes=1)
            total += value * (mixed @ mixed.T)
    return total


def add_gram(total: FloatArray, rows: FloatArray, weights: FloatArray) -> None:
    """Add X' diag(w) X; each sign is half the work of a general product."""
    for sign in (1.0, -1.0):
        mine = sign * weights > 0
        if mine.any():
            scaled = rows[mine] * np.sqrt(sign * weights[mine])[:, None]
            total += sign * (scaled.T @ scaled)
