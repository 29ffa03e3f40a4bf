"""Samples and Gamma on a device: products with X, sums over classes, and Phi_0 from them.

Samples are taken class by class there, but for X, which is not copied: of it, chunks of rows are put in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from kdrbench.arrays import Device, DeviceArray, row_chunks
from kdrbench.evaluation.base import PairSums
from kdrbench.evaluation.pairs import class_runs
from kdrbench.evaluation.weights import GammaSums, with_initial_slopes
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma, TraceObjective

# What makes some rows of an array when asked.
Made = Callable[[slice], DeviceArray]


class DeviceGamma:
    """Gamma = U diag(w) U' of samples in the order of their classes; U is made from classes where there are such."""

    def __init__(self, gamma: FactoredGamma, device: Device) -> None:
        order = gamma.class_order
        self._device, self.zero_diagonal = device, gamma.zero_diagonal
        self.order: DeviceArray | None = None
        if order is not None:
            self.order = device.up(order)
            self.inverse = device.up(np.argsort(order))
        self._weights = device.up(gamma.weights.astype(np.float64))
        self._codes: DeviceArray | None = None
        codes = gamma.codes if gamma.codes is None or order is None else gamma.codes[order]
        # Begin and end of samples of one class, or of several small ones.
        self.runs = class_runs(codes, gamma.n_samples)
        if gamma.codes is None or codes is None:
            self._table = device.up(gamma.factor)
            self.classes = [(0, 0, gamma.n_samples)]
        else:
            self._table = device.up(gamma.table)
            # An index is of a type that every library takes for one.
            self._codes = device.up(codes.astype(np.int64))
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
            self.classes = [(int(codes[begin]), begin, end) for begin, end in pairwise(bounds)]

    def factor(self, rows: slice) -> DeviceArray:
        """Return rows of U."""
        if self._codes is None:
            return self._table[rows, :]
        return self._device.xp.take(self._table, self._codes[rows], axis=0)

    def block(self, rows: slice, columns: slice) -> DeviceArray:
        """Return Gamma's entries for some pairs, its diagonal kept."""
        return (self.factor(rows) * self._weights) @ self.factor(columns).T

    def sums(self, features: Made, columns: Made, sizes: tuple[int, int]) -> DeviceArray:
        """Return S_c = B_c' Q_c of each class, or (U_r * B)' Q of each factor: (number) x m x c for ``sizes`` m, c."""
        total = self._device.zeros(int(self._table.shape[0 if self._codes is not None else 1]), *sizes)
        for rows in row_chunks(self.classes[-1][2], max(sizes)):
            part, targets = features(rows), columns(rows)
            for number, here in self._parts(rows):
                if self._codes is not None:
                    total[number, :, :] += part[here, :].T @ targets[here, :]
                    continue
                factor = self.factor(rows)
                for r in range(factor.shape[1]):
                    total[r, :, :] += (part * factor[:, r : r + 1]).T @ targets
        return total

    def mixed(self, sums: DeviceArray) -> DeviceArray:
        """Return sum_h Theta_gh S_h for classes, w_r S_r for factors."""
        if self._codes is None:
            return self._weights[:, None, None] * sums
        return self._device.xp.tensordot((self._table * self._weights) @ self._table.T, sums, axes=1)

    def spread(self, features: Made, mixed: DeviceArray) -> DeviceArray:
        """Return row i of B times the block of ``mixed`` that belongs to sample i, n x c."""
        n_samples, xp = self.classes[-1][2], self._device.xp
        parts = []
        for rows in row_chunks(n_samples, max(mixed.shape[1:])):
            part = features(rows)
            if self._codes is not None:
                parts += [part[here, :] @ mixed[number, :, :] for number, here in self._parts(rows)]
                continue
            factor = self.factor(rows)
            terms = (factor[:, r : r + 1] * (part @ mixed[r, :, :]) for r in range(factor.shape[1]))
            parts.append(sum(terms, self._device.zeros(rows.stop - rows.start, mixed.shape[2])))
        return xp.concat(parts, axis=0)

    def quadratic(self, sums: DeviceArray) -> FloatArray:
        """Return Q' (Gamma * BB') Q = sum_r w_r M_r' M_r from S, in numpy."""
        if self._codes is not None:
            sums = self._device.xp.tensordot(self._table.T, sums, axes=1)
        total = self._device.zeros(sums.shape[2], sums.shape[2])
        for r in range(sums.shape[0]):
            total += self._weights[r] * (sums[r, :, :].T @ sums[r, :, :])
        return self._device.down(total)

    def _parts(self, rows: slice) -> list[tuple[int, slice]]:
        """Return the classes of a chunk of samples, with their places in it."""
        return [
            (number, slice(max(begin, rows.start) - rows.start, min(end, rows.stop) - rows.start))
            for number, begin, end in self.classes
            if begin < rows.stop and end > rows.start
        ]


class DeviceEvaluator(PairSums):
    """What evaluators on a device share; what their operators return has the order of :class:`DeviceGamma`."""

    def __init__(self, objective: TraceObjective) -> None:
        super().__init__(objective.array)
        self._objective, self._device = objective, Device.of(objective.features)
        self._gamma = DeviceGamma(objective.gamma, self._device)

    def _rows(self, rows: slice) -> DeviceArray:
        """Return some rows of X, in order and in float64."""
        xp, order = self._device.xp, self._gamma.order
        taken = self._features[rows, :] if order is None else xp.take(self._features, order[rows], axis=0)
        return xp.astype(taken, xp.float64)

    def _moved(self, direction: FloatArray) -> DeviceArray:
        xp, columns = self._device.xp, self._device.up(direction)
        chunks = row_chunks(*self._features.shape)
        moved = xp.concat([xp.astype(self._features[rows, :], xp.float64) @ columns for rows in chunks], axis=0)
        return moved if self._gamma.order is None else xp.take(moved, self._gamma.order, axis=0)

    def _back(self, sloped: DeviceArray) -> FloatArray:
        xp, total = self._device.xp, self._device.zeros(self.n_features, sloped.shape[1])
        given = sloped if self._gamma.order is None else xp.take(sloped, self._gamma.inverse, axis=0)
        for rows in row_chunks(*self._features.shape):
            total += xp.astype(self._features[rows, :], xp.float64).T @ given[rows, :]
        return 2.0 * self._device.down(total)

    def _quadratic(self, projection: FloatArray, columns: DeviceArray) -> FloatArray:
        return self._device.down(columns.T @ self._sloped(projection, columns))

    def _gram(self, weights: DeviceArray) -> FloatArray:
        """Return X' diag(w) X for weights in order, d x d."""
        total = self._device.zeros(self.n_features, self.n_features)
        for rows in row_chunks(*self._features.shape):
            part = self._rows(rows)
            total += (part * weights[rows, None]).T @ part
        return self._device.down(total)

    def _in_order(self, values: FloatArray) -> DeviceArray:
        """Return one number a sample, put in order there."""
        held = self._device.up(np.asarray(values, dtype=np.float64))
        return held if self._gamma.order is None else self._device.xp.take(held, self._gamma.order, axis=0)

    def _initial_surrogate(self) -> FloatArray:
        return self._from_class_sums(self._objective)

    def _from_class_sums(self, objective: TraceObjective) -> FloatArray:
        """Return Phi_0 of an objective with the same X and Gamma, none of whose kernels has slopes for each pair."""

        def ones(rows: slice) -> DeviceArray:
            return self._device.ones(rows.stop - rows.start, 1)

        def gram(weights: FloatArray) -> FloatArray:
            return self._gram(self._in_order(weights)) if weights.any() else np.zeros((self.n_features,) * 2)

        quadratic = self._gamma.quadratic(self._gamma.sums(ones, self._rows, (1, self.n_features)))
        return with_initial_slopes(objective, GammaSums(objective.gamma), quadratic, gram)

    def _forget(self) -> None:
        """No point is held, unless an evaluator says so."""


def joined(device: Device, columns: Sequence[DeviceArray]) -> DeviceArray:
    """Return columns side by side."""
    return device.xp.concat(list(columns), axis=1)
