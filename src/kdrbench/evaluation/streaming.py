"""Linear, squared and polynomial kernels of samples that are read in passes: nothing of their number is held.

For linear and squared kernels and polynomials of degree 1, F(W) = Tr(W' Phi W) + c with the Phi of every W: the sums of
the initial surrogate are all that is needed of the samples.

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
from functools import partial
from typing import Any

import numpy as np

from kdrbench.arrays import Device, contiguous, is_device_array, namespace_of, row_products
from kdrbench.errors import InputError
from kdrbench.evaluation.base import Evaluator, Point
from kdrbench.evaluation.bases import Basis, Functions, Powers, pairs_of, powers, squares_of, with_one
from kdrbench.evaluation.streams import Members, Stream, Visit
from kdrbench.evaluation.weights import initial_slope
from kdrbench.kernels import Kernel, Linear, Pairing, Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective
from kdrbench.samples import Engine, Samples, Sums
from kdrbench.samples.passes import ThreadEngine

_ROUNDING = 1e-13


def sums_of_monomials(objective: TraceObjective, *, threads: int = 1, engine: Engine | None = None) -> Evaluator[Any]:
    """Return the evaluator of a linear, squared or polynomial kernel; ``InputError`` for others."""
    kernel = objective.kernel
    if not isinstance(kernel, Linear | Squared | Polynomial):
        raise InputError(f"sums of monomials are for linear, squared and polynomial kernels, not for {kernel!r}")
    engine = engine or ThreadEngine(threads)
    if isinstance(kernel, Polynomial) and kernel.degree > 1:
        return MonomialSums(objective, kernel, engine)
    return QuadraticForm(objective, kernel, engine)


class PassEvaluator(Evaluator[Point]):
    """What evaluators share that go over samples in passes."""

    def __init__(self, features: FloatArray | Samples, stream: Stream, kernel: Kernel) -> None:
        super().__init__(features)
        self._stream, self._groups, self._kernel = stream, stream.groups, kernel

    def _over(self) -> Stream:
        """Return the samples, whose passes report as asked for."""
        self._stream.report = self.report
        return self._stream

    def _initial_surrogate(self) -> FloatArray:
        """Return f'(0) X' Gamma X (dot) or 2 f'(0) X' (diag(Gamma 1) - Gamma) X (difference), from one pass.

        Where f'(0) is zero, the sign of f' above 0 replaces it.
        """
        stream, groups, d = self._over(), self._groups, self.n_features
        is_dot = self._kernel.pairing is Pairing.DOT
        if is_dot:
            own = np.diagonal(groups.theta) * float(groups.zero_diagonal)
        else:
            # Degrees are zero for every centred Gamma, but for rounding.
            own = groups.theta @ groups.totals
            own[np.abs(own) <= _ROUNDING * np.abs(groups.theta) @ np.abs(groups.totals)] = 0.0

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            members.add(total[0], namespace_of(samples).ones_like(samples), rows)
            if own.any():
                add_gram(total[1], rows, members.spread(own, squared=is_dot))

        sums, gram = stream.with_rows(np.zeros((d, 1)), [(groups.number, 1, d), (d, d)], added)
        slope = float(initial_slope(self._kernel, np.zeros((1, 1)))[0, 0])
        inner = quadratic(groups.theta, sums.swapaxes(1, 2)) - gram
        return slope * inner if is_dot else -2.0 * slope * inner

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        return np.stack([self._along(projection, direction) for direction in directions])

    @abstractmethod
    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian at W applied to Z."""

    def _quadratic(self, basis: Basis, sums: FloatArray) -> FloatArray:
        """Return sum_gh Theta_gh S_g M S_h' for S (g x e x m)."""
        return quadratic(self._groups.theta, basis.whitened(sums))


class QuadraticForm(PassEvaluator[None]):
    """Oracles of a :class:`TraceObjective` whose ``kernel`` has one slope, by an ``engine``."""

    def __init__(self, objective: TraceObjective, kernel: Linear | Squared | Polynomial, engine: Engine) -> None:
        stream = Stream(objective.samples, objective.gamma, engine, centred=isinstance(kernel, Squared))
        super().__init__(objective.samples, stream, kernel)
        # The offset of each pair, times Gamma.
        offset, groups = kernel.offset if isinstance(kernel, Polynomial) else 0.0, self._groups
        self._constant = offset * float(groups.totals @ groups.theta @ groups.totals - groups.diagonal)
        # Found when first needed, and the same for all twins.
        self._found = list[FloatArray]()

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
            self._found.append(super()._initial_surrogate())
        return self._found[0]


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
    """Add X' diag(w) X; in numpy each sign is half the work of a general product."""
    if is_device_array(rows):
        total[...] += (rows * weights[:, None]).T @ rows
        return
    for sign in (1.0, -1.0):
        mine = sign * weights > 0
        if mine.any():
            scaled = rows[mine] * np.sqrt(sign * weights[mine]).astype(rows.dtype)[:, None]
            total += sign * (scaled.T @ scaled)


@dataclass(frozen=True)
class Diagonal:
    """What a zero diagonal of Gamma takes away: w_i f(|u_i|^2), w_i = sum_g E_ig^2 Theta_gg for ``own`` = Theta_gg."""

    own: FloatArray
    kernel: Kernel

    def value(self, samples: FloatArray, members: Members) -> float:
        """Return the sum over the samples."""
        return float(members.spread(self.own, squared=True) @ self.kernel.value(squares_of(samples)))

    def weights(self, samples: FloatArray, members: Members) -> FloatArray:
        """Return w_i f'(|u_i|^2), c: half the gradients are these times u_i."""
        return np.asarray(members.spread(self.own, squared=True) * self.kernel.derivative(squares_of(samples)))

    def bends(self, samples: FloatArray, members: Members) -> FloatArray:
        """Return half the second derivatives for each of :func:`.pairs_of`."""
        slopes = self.weights(samples, members)
        turned = 2.0 * members.spread(self.own, squared=True) * self.kernel.second_derivative(squares_of(samples))
        return np.array([turned * samples[a] * samples[b] + float(a == b) * slopes for a, b in pairs_of(len(samples))])


@dataclass
class SumsPoint:
    """At one W the columns that give u, the turn to them, the basis, V, what the gradient takes, and F."""

    columns: FloatArray
    turn: FloatArray
    basis: Basis
    coefficients: FloatArray
    tables: FloatArray
    value: float


class SumsProblem(PassEvaluator[SumsPoint]):
    """Oracles from sums over groups of the functions of a basis: two passes each.

    With the columns V W Q / sigma for a turn Q, u_i = V'(x_i - mean), T_g = sum_i E_ig phi(u_i), V = Theta T M and
    dF/du_i = 2 sum_g E_ig d(V_g' phi)/du_i, all of them less those of ``_diagonal``.
    """

    _diagonal: Diagonal | None = None
    _sigma = 1.0
    # Whether gradients put k_m for k, and are no derivatives of F.
    _by_values = False

    @abstractmethod
    def _basis_at(self, projection: FloatArray) -> tuple[Basis, FloatArray]:
        """Return the basis for W, and the turn Q (q x q) of W that it was chosen for."""

    def _value(self, projection: FloatArray) -> float:
        return self._at(projection).value

    def _gradient(self, projection: FloatArray) -> FloatArray:
        point, diagonal = self._at(projection), self._diagonal
        basis, tables = point.basis, point.tables
        # Tables of values are no derivatives, which a basis may mix in its own way.
        mixed = partial(Functions.mixed, basis) if self._by_values else basis.mixed

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            result = basis.slopes(members.mixed(mixed, basis.features(samples), tables), samples)
            return result if diagonal is None else result - diagonal.weights(samples, members) * samples

        return self._turned_back(point, point.columns, slopes)

    def _along(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        point, diagonal, q = self._at(projection), self._diagonal, projection.shape[1]
        basis, both = point.basis, np.hstack([point.columns, direction @ point.turn / self._sigma])

        def changes(total: Sums, samples: FloatArray, members: Members) -> None:
            here, moved = samples[:q, :], samples[q:, :]
            along = [row_products(moved.T, here.T)[None, :]] if basis.damped else []
            columns = namespace_of(here).concat([moved, *along], axis=0).T
            members.add(total[0], basis.features(here), contiguous(columns, columns.dtype))

        shape = (self._groups.number, basis.size, q + int(basis.damped))
        (sums,) = self._over().narrow(both, basis.size, [shape], changes)
        change = np.sum([basis.shifted(sums[:, :, a], a) for a in range(q)], axis=0) - sums[:, :, q:].sum(axis=2)
        own = basis.tables(point.coefficients, 2)
        turned = basis.tables(self._groups.theta @ basis.inverted(change), 1)

        def slopes(total: Sums, samples: FloatArray, members: Members) -> FloatArray:
            here, moved = samples[:q, :], samples[q:, :]
            features = basis.features(here)
            held, found = (members.mixed(basis.mixed, features, tables) for tables in (own, turned))
            result, bends = basis.slopes(found, here), basis.bends(held, here)
            if diagonal is not None:
                bends -= diagonal.bends(here, members)
            for number, (a, b) in enumerate(pairs_of(q)):
                result[a, :] += bends[number, :] * moved[b, :]
                if a != b:
                    result[b, :] += bends[number, :] * moved[a, :]
            return result

        return self._turned_back(point, both, slopes)

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        point, diagonal, (q, width) = self._at(projection), self._diagonal, (projection.shape[1], basis.shape[1])
        functions, pairs, number = point.basis, pairs_of(q), self._groups.number
        own, moving, further = functions.tables(point.coefficients, 2), basis / self._sigma, q * int(functions.damped)

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            device, features = Device.of(rows), functions.features(samples)
            moved = rows @ device.up(moving)
            turned = [moved * samples[a, :][:, None] for a in range(further)]
            members.add(total[0], features, device.xp.concat([moved, *turned], axis=1))
            bends = functions.bends(members.mixed(functions.mixed, features, own), samples)
            if diagonal is not None:
                bends -= diagonal.bends(samples, members)
            for number in range(len(pairs)):
                total[1][number, ...] += (moved.T * bends[number, :]) @ moved

        shapes = [(number, functions.size, width * (further + 1)), (len(pairs), width, width)]
        sums, forms = self._over().with_rows(point.columns, shapes, added)
        parts = sums.reshape(number, functions.size, further + 1, width).transpose(2, 0, 3, 1)
        changes = np.concatenate([functions.shifted(parts[0], a) for a in range(q)], axis=1)
        if further:
            changes -= np.concatenate(parts[1:], axis=1)
        result = self._quadratic(functions, changes).reshape(q, width, q, width)
        for form, (a, b) in zip(forms, pairs, strict=True):
            result[a, :, b] += form
            if a != b:
                result[b, :, a] += form
        flat = np.einsum("aubv,ca,db->ucvd", result, point.turn, point.turn).reshape(width * q, -1)
        return np.asarray(flat + flat.T)

    def _turned_back(self, point: SumsPoint, columns: FloatArray, visit: Visit) -> FloatArray:
        """Return 2 X' G / sigma for the columns G' that ``visit`` returns, in the coordinates of W."""
        q, d = point.columns.T.shape
        sums, weights = self._over().narrow(columns, point.basis.size, [(q, d), (q,)], visit)
        # As if X were centred: what is left out of the kernel sees the mean.
        sums -= np.outer(weights, self._stream.mean)
        return np.asarray((2.0 / self._sigma) * sums.T @ point.turn.T)

    def _made_at(self, projection: FloatArray) -> SumsPoint:
        (basis, turn), diagonal = self._basis_at(projection), self._diagonal
        columns, width = projection @ turn / self._sigma, projection.shape[1] if self._by_values else 0

        def visit(total: Sums, samples: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples), with_one(samples[:width, :]).T)
            if diagonal is not None:
                total[1][0] += diagonal.value(samples, members)

        shapes = [(self._groups.number, basis.size, 1 + width), (1,)]
        sums, own = self._over().narrow(columns, basis.size, shapes, visit)
        tables = np.tensordot(self._groups.theta, basis.inverted(sums.swapaxes(1, 2)), axes=1)
        held = tables[:, 0]
        value = float(np.vdot(held, sums[:, :, 0])) - float(own[0])
        if not self._by_values:
            tables = basis.tables(held, 1)
        return SumsPoint(columns, turn, basis, held, tables, value)


class MonomialSums(SumsProblem):
    """Oracles of a :class:`TraceObjective` with a polynomial ``kernel``, by an ``engine``."""

    def __init__(self, objective: TraceObjective, kernel: Polynomial, engine: Engine) -> None:
        stream = Stream(objective.samples, objective.gamma, engine, centred=False)
        super().__init__(objective.samples, stream, kernel)
        self._polynomial, groups = kernel, stream.groups
        self._diagonal = Diagonal(np.diagonal(groups.theta) * float(groups.zero_diagonal), kernel)

    def _basis_at(self, projection: FloatArray) -> tuple[Basis, FloatArray]:
        q = projection.shape[1]
        return powers(q, self._polynomial, self._polynomial.degree), np.eye(q)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        kernel, diagonal, (d, q) = self._polynomial, self._diagonal, projection.shape
        basis = Powers(q, kernel, kernel.degree - 1, kernel.degree * kernel.scale)

        def added(total: Sums, samples: FloatArray, rows: FloatArray, members: Members) -> None:
            members.add(total[0], basis.features(samples), rows)
            if diagonal is not None:
                add_gram(total[1], rows, diagonal.weights(samples, members))

        sums, gram = self._over().with_rows(projection, [(self._groups.number, basis.size, d), (d, d)], added)
        return self._quadratic(basis, sums.swapaxes(1, 2)) - gram
