"""Gamma as a sum over groups of samples, Gamma_ij = sum_gh E_ig Theta_gh E_jh, and sums over the samples of a group.

For labels g is a class, and E_ig says whether i is in it. Otherwise E = U and Theta = diag(w).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.problems.gamma import FactoredGamma
from kdrbench.samples import Codes, aligned


class Members:
    """The groups of a chunk of samples: runs of one class each, or the weights E of every sample."""

    def __init__(self, codes: Codes | None, weights: FloatArray | None) -> None:
        self._codes, self._weights, self._runs = codes, weights, list[tuple[int, slice]]()
        if codes is not None:
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
            self._runs = [(int(codes[begin]), slice(begin, end)) for begin, end in pairwise(bounds)]

    def among(self, chunk: slice) -> Members:
        """Return the groups of some of the samples."""
        if self._codes is not None:
            return Members(self._codes[chunk], None)
        return Members(None, None if self._weights is None else self._weights[chunk])

    def add(self, total: FloatArray, features: FloatArray, columns: FloatArray) -> None:
        """Add sum_i E_ig phi_i y_i' to ``total`` (g x m x e), for phi (m x c) and columns y (c x e)."""
        n_groups, size, width = total.shape
        if self._weights is None:
            for group, run in self._runs:
                total[group] += features[:, run] @ columns[run]
        elif width <= size:
            lifted = (self._weights[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
            total += (features @ lifted).reshape(size, n_groups, width).transpose(1, 0, 2)
        else:
            # In the precision of the columns.
            for group, weights in enumerate(self._weights.T.astype(columns.dtype, copy=False)):
                total[group] += (features * weights) @ columns

    def mixed(
        self,
        apart: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
        features: FloatArray,
        tables: FloatArray,
    ) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i), (terms) x c; ``apart`` is what a basis does for weights."""
        if self._weights is not None:
            return apart(features, tables, self._weights)
        result = np.empty((tables.shape[1], features.shape[1]))
        for group, run in self._runs:
            np.matmul(tables[group], features[:, run], out=result[:, run])
        return result

    def spread(self, values: FloatArray, squared: bool = False) -> FloatArray:
        """Return sum_g E_ig v_g, or sum_g E_ig^2 v_g, of each sample."""
        if self._weights is not None:
            return np.asarray((self._weights**2 if squared else self._weights) @ values)
        return values[self._codes]

    def moments(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i v_i |E_ig| |E_ih|, g x g."""
        if self._weights is not None:
            sizes = np.abs(self._weights)
            return np.asarray((sizes.T * values) @ sizes)
        result = np.zeros((n_groups, n_groups))
        for group, run in self._runs:
            result[group, group] += values[run].sum()
        return result

    def totals(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return sum_i |E_ig| v_i, g."""
        if self._weights is not None:
            return np.asarray(values @ np.abs(self._weights))
        return np.diagonal(self.moments(values, n_groups))


class Groups:
    """E and Theta of a Gamma."""

    def __init__(self, gamma: FactoredGamma) -> None:
        self._codes, self._table, self.zero_diagonal = gamma.codes, gamma.table, gamma.zero_diagonal
        if gamma.codes is None:
            self.theta: FloatArray = np.diag(gamma.weights)
            self.totals, self._squares = gamma.table.sum(axis=0), np.einsum("ir,ir->r", gamma.table, gamma.table)
        else:
            self.theta = (gamma.table * gamma.weights) @ gamma.table.T
            self.totals = self._squares = gamma.class_sizes.astype(float)
        self.number = len(self.theta)

    @property
    def diagonal(self) -> float:
        """What a zero diagonal of Gamma takes from F where every k(x, x) is 1."""
        return float(self._squares @ np.diagonal(self.theta)) if self.zero_diagonal else 0.0

    def dense(self, places: NDArray[np.intp]) -> FloatArray:
        """Return E of some samples."""
        if self._codes is None:
            return self._table[places]
        return np.eye(self.number)[self._codes[places]]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= {**state, "_table": aligned(state["_table"])}

    def part(self, rows: slice) -> Groups:
        """Return the groups of some samples, which are numbered from 0; all else is that of all samples."""
        part = copy(self)
        if self._codes is None:
            part._table = self._table[rows]
        else:
            part._codes = self._codes[rows]
        return part

    def blocks(self, rows: slice, width: int) -> Iterator[tuple[slice, NDArray[np.intp] | None, Members]]:
        """Yield blocks of some rows, the order that puts those of one class side by side, and their groups in it."""
        for begin in range(rows.start, rows.stop, width):
            block = slice(begin, min(begin + width, rows.stop))
            if self._codes is None:
                yield block, None, Members(None, self._table[block])
                continue
            codes = self._codes[block]
            order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
            yield block, order, Members(codes if order is None else codes[order], None)
