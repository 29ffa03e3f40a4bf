"""Linear, squared and polynomial kernels on a device, in time linear in n: the sums of the module ``factored``.

Monomials of the projected samples are made chunk by chunk. What is held of a point stays on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import perm, sqrt

import numpy as np

from kdrbench.arrays import Device, DeviceArray
from kdrbench.errors import InputError
from kdrbench.evaluation.curvature_form import curvature_form
from kdrbench.evaluation.device.base import DeviceEvaluator, Made, joined
from kdrbench.evaluation.device.elementwise import power_of
from kdrbench.evaluation.factored import as_polynomial
from kdrbench.evaluation.monomials import n_monomials, recipe_of
from kdrbench.evaluation.weights import GammaSums, cleaned_degrees
from kdrbench.kernels import Pairing, Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

_Recipe = tuple[list[tuple[DeviceArray, DeviceArray]], DeviceArray]


@dataclass(frozen=True)
class _Point:
    """One W: P = XW, the sums that (Gamma * B_1 B_1') (P, 1) is spread from, and G (P, 1), its diagonal kept."""

    projection: FloatArray
    samples: DeviceArray
    collected: DeviceArray
    through: DeviceArray


class DeviceFactored(DeviceEvaluator):
    """Oracles of a :class:`TraceObjective` whose features are on a device.

    Raises ``InputError`` for kernels other than linear, squared and polynomial ones.
    """

    def __init__(self, objective: TraceObjective) -> None:
        polynomial = as_polynomial(objective.kernel)
        self._is_squared = isinstance(objective.kernel, Squared)
        if polynomial is None and not self._is_squared:
            raise InputError(
                f"exact factors exist for linear, squared and polynomial kernels, not for {objective.kernel!r}"
            )
        super().__init__(objective)
        # -|p_i - p_j|^2 has the slopes of twice the linear kernel, but for the diagonal.
        self._polynomial = polynomial or Polynomial(degree=1, offset=0.0, scale=2.0)
        self._degree, sums = self._polynomial.degree, GammaSums(objective.gamma)
        diagonal = sums.diagonal if objective.gamma.zero_diagonal else np.zeros(objective.gamma.n_samples)
        if self._is_squared:
            diagonal = 2.0 * cleaned_degrees(sums, objective.gamma.n_samples)
        self._diagonal = self._in_order(diagonal)
        self._monomials = _Monomials(self._device, self._polynomial)
        self._point: _Point | None = None

    def _forget(self) -> None:
        self._point = None

    def _samples(self, projection: FloatArray) -> DeviceArray:
        return self._at(projection).samples

    def _value(self, projection: FloatArray) -> float:
        point, xp = self._at(projection), self._device.xp
        samples, through = point.samples, point.through
        if self._is_squared:
            return float(xp.sum(samples * (through[:, :-1] - self._diagonal[:, None] * samples)))
        # f = (s p_i'p_j + c) times the features' product, whose factor of the slope is p s.
        scale, offset = self._polynomial.scale, self._polynomial.offset
        total = scale * xp.sum(samples * through[:, :-1]) + offset * xp.sum(through[:, -1])
        diagonal_part = xp.sum(self._diagonal * self._derivative(samples, 0))
        return float(total) / self._factor(1) - float(diagonal_part)

    def _gradient(self, projection: FloatArray) -> FloatArray:
        point = self._at(projection)
        return self._back(point.through[:, :-1] - self._own_slopes(point)[:, None] * point.samples)

    def _sloped(self, projection: FloatArray, columns: DeviceArray) -> DeviceArray:
        point = self._at(projection)
        return self._applied(point, 1, columns) - self._own_slopes(point)[:, None] * columns

    def _turned(self, projection: FloatArray, moved: DeviceArray) -> DeviceArray:
        if self._degree == 1:
            return self._sloped(projection, moved)
        point, xp, q = self._at(projection), self._device.xp, projection.shape[1]
        features, size = self._features_of(point, 1), self._size(q, 1)

        def changes(rows: slice) -> DeviceArray:
            return self._monomials.changes(point.samples[rows, :], moved[rows, :], self._degree - 1)

        # The derivative of (Gamma * BB') P: of B on the left, and of B'P.
        collected = self._gamma.sums(features, lambda rows: moved[rows, :], (size, q))
        collected += self._gamma.sums(changes, lambda rows: point.samples[rows, :], (size, q))
        total = self._gamma.spread(features, self._gamma.mixed(collected))
        total = total + self._gamma.spread(changes, point.collected[:, :, :-1])
        # And of the diagonal that is taken away.
        turned = 2.0 * self._diagonal * self._derivative(point.samples, 2) * xp.sum(point.samples * moved, axis=1)
        total = self._factor(1) * total - turned[:, None] * point.samples
        return total - self._own_slopes(point)[:, None] * moved

    def _curvature_form(self, projection: FloatArray, moved: DeviceArray) -> FloatArray:
        m, q = moved.shape[1], projection.shape[1]
        if self._degree == 1:
            return np.zeros((m, q, m, q))
        point = self._at(projection)
        own = (self._diagonal * self._derivative(point.samples, 2))[:, None]

        def weighted(columns: DeviceArray) -> DeviceArray:
            return self._applied(point, 2, columns) - own * columns

        return self._device.down(curvature_form(Pairing.DOT, weighted, moved, point.samples))

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        if self._degree == 1:
            return self._initial_surrogate()
        point = self._at(projection)
        sizes = (self._size(projection.shape[1], 1), self.n_features)
        sums = self._gamma.sums(self._features_of(point, 1), self._rows, sizes)
        return self._factor(1) * self._gamma.quadratic(sums) - self._gram(self._own_slopes(point))

    def _at(self, projection: FloatArray) -> _Point:
        """Return the quantities at W, held until the next W."""
        if self._point is None or not np.array_equal(self._point.projection, projection):
            samples, q = self._moved(projection), projection.shape[1]
            columns = joined(self._device, [samples, self._device.ones(samples.shape[0], 1)])
            features = partial(self._monomials.of, samples, self._degree - 1)
            sums = self._gamma.sums(features, lambda rows: columns[rows, :], (self._size(q, 1), q + 1))
            collected = self._gamma.mixed(sums)
            through = self._factor(1) * self._gamma.spread(features, collected)
            self._point = _Point(projection.copy(), samples, collected, through)
        return self._point

    def _features_of(self, point: _Point, order: int) -> Made:
        """Return what makes B of the derivative of f of this order."""
        return partial(self._monomials.of, point.samples, self._degree - order)

    def _size(self, q: int, order: int) -> int:
        return n_monomials(q, self._degree - order)

    def _applied(self, point: _Point, order: int, columns: DeviceArray) -> DeviceArray:
        """Return (Gamma * f^(order)) Q, its diagonal kept."""
        features, sizes = self._features_of(point, order), (self._size(point.samples.shape[1], order), columns.shape[1])
        sums = self._gamma.sums(features, lambda rows: columns[rows, :], sizes)
        return self._factor(order) * self._gamma.spread(features, self._gamma.mixed(sums))

    def _factor(self, order: int) -> float:
        """Return the number before the power that is this derivative of f."""
        return perm(self._degree, order) * self._polynomial.scale**order

    def _derivative(self, samples: DeviceArray, order: int) -> DeviceArray:
        """Return this derivative of f at beta_ii."""
        xp = self._device.xp
        base = self._polynomial.scale * xp.sum(samples * samples, axis=1) + self._polynomial.offset
        return self._factor(order) * power_of(xp, base, self._degree - order)

    def _own_slopes(self, point: _Point) -> DeviceArray:
        """Return the diagonal matrix that is taken away from G."""
        return self._diagonal if self._is_squared else self._diagonal * self._derivative(point.samples, 1)


class _Monomials:
    """B and its changes for rows of P (see :mod:`kdrbench.evaluation.monomials`), with their recipes on the device."""

    def __init__(self, device: Device, polynomial: Polynomial) -> None:
        self._device, self._held = device, dict[tuple[int, int], _Recipe]()
        self._roots = sqrt(polynomial.scale), sqrt(polynomial.offset)

    def of(self, samples: DeviceArray, degree: int, rows: slice) -> DeviceArray:
        """Return rows of B."""
        xp, variables = self._device.xp, self._variables(samples[rows, :], self._roots[1])
        levels, factors = self._recipe(variables.shape[0], degree)
        made = self._device.ones(1, variables.shape[1])
        for sources, places in levels:
            made = xp.take(made, sources, axis=0) * xp.take(variables, places, axis=0)
        return (factors * made).T

    def changes(self, samples: DeviceArray, moved: DeviceArray, degree: int) -> DeviceArray:
        """Return the derivative of B along the change ``moved`` of the samples."""
        xp, variables = self._device.xp, self._variables(samples, self._roots[1])
        turns = self._variables(moved, 0.0)
        levels, factors = self._recipe(variables.shape[0], degree)
        made = self._device.ones(1, variables.shape[1])
        changes = xp.zeros_like(made)
        for sources, places in levels:
            before, times = xp.take(made, sources, axis=0), xp.take(variables, places, axis=0)
            changes = xp.take(changes, sources, axis=0) * times + before * xp.take(turns, places, axis=0)
            made = before * times
        return (factors * changes).T

    def _variables(self, samples: DeviceArray, last: float) -> DeviceArray:
        ones = self._device.ones(1, samples.shape[0])
        return self._device.xp.concat([self._roots[0] * samples.T, last * ones], axis=0)

    def _recipe(self, n_variables: int, degree: int) -> _Recipe:
        if (n_variables, degree) not in self._held:
            recipe, up = recipe_of(n_variables, degree), self._device.up
            tables = [np.array(level, dtype=np.int64) for level in recipe.levels]
            levels = [(up(table[:, 0]), up(table[:, 1])) for table in tables]
            self._held[n_variables, degree] = levels, up(np.array(recipe.factors)[:, None])
        return self._held[n_variables, degree]
