"""Linear, squared and polynomial kernels of samples that are read in passes: nothing of their number is held.

For linear and squared kernels and polynomials of degree 1, F(W) = Tr(W' Phi W) + c with the Phi of every W: the sums of
:func:`initial_surrogate` are all that is needed of the samples.

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

from abc import abstractmethod
from dataclasses import dataclass
from math import comb

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator
from kdrbench.evaluation.bases import Basis, Monomials, pairs_of
from kdrbench.evaluation.streams import Members, Stream, Visit
from kdrbench.kernels import Kernel, Linear, Pairing, Polynomial, Squared, has_constant_slope
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.samples import Engine, Samples, Sums
from kdrbench.samples.passes import ThreadEngine

_ROUNDING = 1e-13


def sums_of_monomials(objective: TraceObjective, *, threads: int = 1, engine: Engine | None = None) -> Evaluator:
    """Return the evaluator of a linear, squared or polynomial kernel; ``InputError`` for others."""
    chosen = QuadraticForm if has_constant_slope(objective.kernel) else MonomialSums
    return chosen(objective, engine=engine or ThreadEngine(threads))


class PassEvaluator(Evaluator):
    """What evaluators share that go over samples in passes."""

    def __init__(self, features: FloatArray | Samples, stream: Stream, kernel: Kernel) -> None:
        super().__init__(features)
        self._stream, self._groups, self._kernel = stream, stream.groups, kernel
        self._forget()

    def _over(self) -> Stream:
        """Return the samples, whose passes report as asked for."""
        self._stream.report = self.report
        return self._stream

    def _initial_surrogate(self) -> FloatArray:
        return initial_surrogate(self._over(), self._kernel)

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        return np.stack([self._along(projection, direction) for direction in directions])

    @abstractmethod
    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian at W applied to Z."""

    def _quadratic(self, basis: Basis, sums: FloatArray) -> FloatArray:
        """Return sum_gh Theta_gh S_g M S_h' for S (g x e x m)."""
        return quadratic(self._groups.theta, basis.whitened(sums))


def add_bends(result: FloatArray, bends: FloatArray, moved: FloatArray) -> None:
    """Add sum_b B_ab r_b to each row a, B given by its entries of :func:`.pairs_of`."""
    for entry, (a, b) in zip(bends, pairs_of(len(moved)), strict=True):
        result[a] += entry * moved[b]
        if a != b:
            result[b] += entry * moved[a]


def add_forms(result: FloatArray, forms: FloatArray) -> None:
    """Add a matrix for each of :func:`.pairs_of` to a (q, m, q, m) array and to its mirror image."""
    for form, (a, b) in zip(forms, pairs_of(len(result)), strict=True):
        result[a, :, b] += form
        if a != b:
            result[b, :, a] += form


class QuadraticForm(PassEvaluator):
    """Oracles of a :class:`TraceObjective` whose kernel has one slope, by an ``engine``.

    Raises ``InputError`` for other kernels.
    """

    def __init__(self, objective: TraceObjective, *, engine: Engine) -> None:
        kernel, gamma = objective.kernel, objective.gamma
        if not isinstance(kernel, Linear | Squared | Polynomial) or not has_constant_slope(kernel):
            raise InputError(f"F is a quadratic form for linear and squared kernels, not for {kernel!r}")
        centred = kernel.pairing is Pairing.DIFFERENCE
        super().__init__(objective.samples, Stream(objective.samples, gamma, engine, centred=centred), kernel)
        # The offset of each pair, times Gamma.
        offset, groups = kernel.offset if isinstance(kernel, Polynomial) else 0.0, self._groups
        self._constant = offset * float(groups.totals @ groups.theta @ groups.totals - groups.diagonal)
        # Found when first needed, and the same for all twins.
        self._found = list[FloatArray]()

    def _forget(self) -> None:
        """No point is ever held."""

    def _value(self, projection: FloatArray) -> float:
        return float(np.vdot(projection, self._phi() @ projection)) + self._constant

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return np.asarray(2.0 * self._phi() @ projection)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        return self._phi().copy()

    def _initial_surrogate(self) -> FloatArray:
        return self._phi().copy()

    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        return np.asarray(2.0 * self._phi() @ direction)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        return np.asarray(np.kron(2.0 * basis.T @ self._phi() @ basis, np.eye(projection.shape[1])))

    def _phi(self) -> FloatArray:
        if not self._found:
            self._found.append(initial_surrogate(self._over(), self._kernel))
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
            scaled = rows[mine] * np.sqrt(sign * weights[mine]).astype(rows.dtype)[:, None]
            total += sign * (scaled.T @ scaled)


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


class MonomialSums(PassEvaluator):
    """Oracles of a :class:`TraceObjective` with a polynomial kernel, by an ``engine``.

    Raises ``InputError`` for another kernel.
    """

    def __init__(self, objective: TraceObjective, *, engine: Engine) -> None:
        if not isinstance(objective.kernel, Polynomial):
            raise InputError(f"sums of monomials are for polynomial kernels, not for {objective.kernel!r}")
        stream = Stream(objective.samples, objective.gamma, engine, centred=False)
        super().__init__(objective.samples, stream, objective.kernel)
        self._polynomial, groups = objective.kernel, stream.groups
        self._own = np.diagonal(groups.theta) * float(groups.zero_diagonal)

    def _forget(self) -> None:
        self._point: _Point | None = None

    def _value(self, projection: FloatArray) -> float:
        return self._at(projection).value

    def _gradient(self, projection: FloatArray) -> FloatArray:
        point, kernel, own = self._at(projection), self._polynomial, self._own
        basis, tables = point.basis, point.basis.tables(point.coefficients, 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            found = members.mixed(basis.mixed, basis.features(samples), tables)
            weights = members.spread(own, squared=True) * kernel.derivative(_squares(samples))
            return np.asarray(found[1:] - weights * samples)

        return self._turned_back(projection, projection, basis.size, slopes)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        kernel, own, (d, q) = self._polynomial, self._own, projection.shape
        basis = Powers(q, kernel, kernel.degree - 1, kernel.degree * kernel.scale)

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples), rows)
            weights = members.spread(own, squared=True) * kernel.derivative(_squares(samples))
            add_gram(total[1], rows, weights)

        sums, gram = self._over().with_rows(projection, [(self._groups.number, basis.size, d), (d, d)], added)
        return self._quadratic(basis, sums.swapaxes(1, 2)) - gram

    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        point, q = self._at(projection), projection.shape[1]
        basis, kernel, diagonal = point.basis, self._polynomial, self._own
        both = np.hstack([projection, direction])

        def changes(total: Sums, samples: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples[:q]), np.ascontiguousarray(samples[q:].T))

        (sums,) = self._over().narrow(both, basis.size, [(self._groups.number, basis.size, q)], changes)
        change = np.sum([basis.shifted(sums[:, :, a], a) for a in range(q)], axis=0)
        own = basis.tables(point.coefficients, 2)
        turned = basis.tables(self._groups.theta @ basis.inverted(change), 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            here, moved = samples[:q], samples[q:]
            features = basis.features(here)
            held, found = (members.mixed(basis.mixed, features, tables) for tables in (own, turned))
            result: FloatArray = found[1:].copy()
            add_bends(result, held[q + 1 :], moved)
            weights, squares = members.spread(diagonal, squared=True), _squares(here)
            result -= weights * kernel.derivative(squares) * moved
            along = np.einsum("ac,ac->c", here, moved)
            result -= 2.0 * weights * kernel.second_derivative(squares) * along * here
            return result

        return self._turned_back(projection, both, basis.size, slopes)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        q, width, number = projection.shape[1], basis.shape[1], self._groups.number
        point, kernel, diagonal, pairs = self._at(projection), self._polynomial, self._own, pairs_of(q)
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
        add_forms(result, form)
        flat = result.transpose(1, 0, 3, 2).reshape(width * q, -1)
        return np.asarray(flat + flat.T)

    def _turned_back(self, projection: FloatArray, columns: FloatArray, size: int, visit: Visit) -> FloatArray:
        """Return 2 X' G for the columns G' that ``visit`` returns."""
        d, q = projection.shape
        sums, _ = self._over().narrow(columns, size, [(q, d), (q,)], visit)
        return np.ascontiguousarray(2.0 * sums.T)

    def _at(self, projection: FloatArray) -> _Point:
        """Return the sums at W, held until the next W."""
        if self._point is None or not np.array_equal(self._point.projection, projection):
            kernel, own = self._polynomial, self._own
            basis = Powers(projection.shape[1], kernel, kernel.degree, 1.0)

            def visit(total: Sums, samples: FloatArray, members: Members) -> None:
                members.add(total[0], basis.features(samples), np.ones((samples.shape[1], 1)))
                total[1][0] += members.spread(own, squared=True) @ kernel.value(_squares(samples))

            (sums, diagonal) = self._over().narrow(
                projection, basis.size, [(self._groups.number, basis.size, 1), (1,)], visit
            )
            coefficients = self._groups.theta @ basis.inverted(sums[:, :, 0])
            value = float(np.vdot(coefficients, sums[:, :, 0])) - float(diagonal[0])
            self._point = _Point(projection.copy(), basis, coefficients, value)
        return self._point


def _squares(samples: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ac,ac->c", samples, samples))
