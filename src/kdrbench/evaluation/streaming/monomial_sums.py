"""Polynomial kernels from sums over chunks of samples that need not be in memory.

A polynomial (s beta + c)^p of u_i'u_j, u_i = W'x_i, is phi(u_i)' M phi(u_j) for the monomials phi of degree up to p and

    M_aa = p! / (a! (p - |a|)!) s^|a| c^(p - |a|)

by the multinomial theorem. So with Gamma = E Theta E' (:mod:`kdrbench.evaluation.streams`), T_g = sum_i E_ig phi(u_i)
and V = Theta T M

    F = sum_gh Theta_gh T_g' M T_h - sum_i Gamma_ii f(|u_i|^2),
    dF/du_i = 2 sum_g E_ig d(V_g' phi)/du_i - 2 Gamma_ii f'(|u_i|^2) u_i,      grad F = X' dF/dU,

and Phi from the sums of the monomials of f' with the rows of X; what a zero diagonal takes away is the second term of
each. Time O(n m (q + c)) for m = C(q + p, p), memory k m, and k m d for Phi. Nothing is approximated. For samples in
memory :mod:`kdrbench.evaluation.factored` does the same by arrays of n rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.bases import Monomials, pairs_of
from kdrbench.evaluation.streaming.quadratic_form import add_gram, initial_surrogate, quadratic
from kdrbench.evaluation.streams import Stream, Visit
from kdrbench.kernels import Polynomial
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.problems.groups import Members
from kdrbench.samples import Engine, Sums


class Powers(Monomials):
    """The monomials of (s u'v + c)^p, not damped: d phi / du_a = D_a phi."""

    def __init__(self, n_dimensions: int, kernel: Polynomial, degree: int, factor: float) -> None:
        super().__init__(n_dimensions, degree)
        powers = self._exponents.sum(axis=1)
        # The series of exp(u'v) has 1 / a! here.
        falling = np.array([float(comb(degree, k)) for k in range(degree + 1)])
        orders = np.cumprod([1.0, *range(1, degree + 1)])
        scales = falling * orders * kernel.scale ** np.arange(degree + 1.0)
        self._scales = (
            factor * (scales * np.power(kernel.offset, degree - np.arange(degree + 1.0)))[powers] * self._scales
        )

    def features(self, samples: FloatArray) -> FloatArray:
        """Return phi, m x c."""
        result = np.empty((self.size, samples.shape[1]))
        result[0] = 1.0
        for made, source, axis in self._steps:
            np.multiply(result[source], samples[axis], out=result[made])
        return result


@dataclass
class _Point:
    """One W with V and F."""

    projection: FloatArray
    basis: Powers
    coefficients: FloatArray
    value: float


class MonomialSums(Evaluator):
    """Oracles of a :class:`TraceObjective` with a polynomial kernel, by an ``engine``.

    Raises ``InputError`` for another kernel.
    """

    def __init__(self, objective: TraceObjective, *, engine: Engine) -> None:
        if not isinstance(objective.kernel, Polynomial):
            raise InputError(f"sums of monomials are for polynomial kernels, not for {objective.kernel!r}")
        super().__init__(objective.samples)
        self._kernel = objective.kernel
        self._stream = Stream(objective.samples, objective.gamma, engine, centred=False)
        groups = self._stream.groups
        self._theta, self._number = groups.theta, groups.number
        self._own = np.diagonal(groups.theta) * float(groups.zero_diagonal)
        self._forget()

    def _forget(self) -> None:
        self._point: _Point | None = None

    def _value(self, projection: FloatArray) -> float:
        return self._at(projection).value

    def _gradient(self, projection: FloatArray) -> FloatArray:
        point, kernel, own = self._at(projection), self._kernel, self._own
        basis, tables = point.basis, point.basis.tables(point.coefficients, 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            found = members.mixed(basis.mixed, basis.features(samples), tables)
            weights = members.spread(own, squared=True) * kernel.derivative(_squares(samples))
            return np.asarray(found[1:] - weights * samples)

        return self._turned_back(projection, projection, basis.size, slopes)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        kernel, own, (d, q) = self._kernel, self._own, projection.shape
        basis = Powers(q, kernel, kernel.degree - 1, kernel.degree * kernel.scale)

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples), rows)
            weights = members.spread(own, squared=True) * kernel.derivative(_squares(samples))
            add_gram(total[1], rows, weights)

        sums, gram = self._over().with_rows(projection, [(self._number, basis.size, d), (d, d)], added)
        return self._quadratic(basis, sums.swapaxes(1, 2)) - gram

    def _initial_surrogate(self) -> FloatArray:
        return initial_surrogate(self._over(), self._kernel)

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        return np.stack([self._along(projection, direction) for direction in directions])

    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        point, q = self._at(projection), projection.shape[1]
        basis, kernel, diagonal = point.basis, self._kernel, self._own
        both = np.hstack([projection, direction])

        def changes(total: Sums, samples: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples[:q]), np.ascontiguousarray(samples[q:].T))

        (sums,) = self._over().narrow(both, basis.size, [(self._number, basis.size, q)], changes)
        change = np.sum([basis.shifted(sums[:, :, a], a) for a in range(q)], axis=0)
        own = basis.tables(point.coefficients, 2)
        turned = basis.tables(self._theta @ basis.inverted(change), 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            here, moved = samples[:q], samples[q:]
            features = basis.features(here)
            held, found = (members.mixed(basis.mixed, features, tables) for tables in (own, turned))
            result: FloatArray = found[1:].copy()
            for number, (a, b) in enumerate(pairs_of(q), q + 1):
                result[a] += held[number] * moved[b]
                if a != b:
                    result[b] += held[number] * moved[a]
            weights, squares = members.spread(diagonal, squared=True), _squares(here)
            result -= weights * kernel.derivative(squares) * moved
            along = np.einsum("ac,ac->c", here, moved)
            result -= 2.0 * weights * kernel.second_derivative(squares) * along * here
            return result

        return self._turned_back(projection, both, basis.size, slopes)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        q, width, number = projection.shape[1], basis.shape[1], self._number
        point, kernel, diagonal, pairs = self._at(projection), self._kernel, self._own, pairs_of(q)
        functions, own = point.basis, point.basis.tables(point.coefficients, 2)

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            features, moved = functions.features(samples), rows @ basis
            members.add(total[0], features, moved)
            held = members.mixed(functions.mixed, features, own)
            weights, squares = members.spread(diagonal, squared=True), _squares(samples)
            slope, bend = weights * kernel.derivative(squares), 2.0 * weights * kernel.second_derivative(squares)
            for place, (a, b) in enumerate(pairs):
                entries = held[q + 1 + place] - bend * samples[a] * samples[b] - slope * float(a == b)
                total[1][place] += (moved.T * entries) @ moved

        shapes = [(number, functions.size, width), (len(pairs), width, width)]
        sums, form = self._over().with_rows(projection, shapes, added)
        columns = sums.swapaxes(1, 2)
        changes = np.concatenate([functions.shifted(columns, a) for a in range(q)], axis=1)
        result = self._quadratic(functions, changes).reshape(q, width, q, width)
        for place, (a, b) in enumerate(pairs):
            result[a, :, b] += form[place]
            if a != b:
                result[b, :, a] += form[place]
        flat = result.transpose(1, 0, 3, 2).reshape(width * q, -1)
        return np.asarray(flat + flat.T)

    def _quadratic(self, basis: Powers, sums: FloatArray) -> FloatArray:
        return quadratic(self._theta, basis.whitened(sums))

    def _turned_back(self, projection: FloatArray, columns: FloatArray, size: int, visit: Visit) -> FloatArray:
        """Return 2 X' G for the columns G' that ``visit`` returns."""
        d, q = projection.shape
        sums, _ = self._over().narrow(columns, size, [(q, d), (q,)], visit)
        return np.ascontiguousarray(2.0 * sums.T)

    def _at(self, projection: FloatArray) -> _Point:
        """Return the sums at W, held until the next W."""
        if self._point is None or not np.array_equal(self._point.projection, projection):
            kernel, own = self._kernel, self._own
            basis = Powers(projection.shape[1], kernel, kernel.degree, 1.0)

            def visit(total: Sums, samples: FloatArray, members: Members) -> None:
                members.add(total[0], basis.features(samples), np.ones((samples.shape[1], 1)))
                total[1][0] += members.spread(own, squared=True) @ kernel.value(_squares(samples))

            (sums, diagonal) = self._over().narrow(projection, basis.size, [(self._number, basis.size, 1), (1,)], visit)
            coefficients = self._theta @ basis.inverted(sums[:, :, 0])
            value = float(np.vdot(coefficients, sums[:, :, 0])) - float(diagonal[0])
            self._point = _Point(projection.copy(), basis, coefficients, value)
        return self._point

    def _over(self) -> Stream:
        """Return the samples, whose passes report as asked for."""
        self._stream.report = self.report
        return self._stream


def _squares(samples: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ac,ac->c", samples, samples))
