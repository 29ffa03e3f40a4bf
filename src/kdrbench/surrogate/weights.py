"""Sums over pairs with Gamma as weight, in time and memory linear in n.

Gamma = U diag(w) U'. Where the rows of U take only k different values (labels: one a class), Gamma_ij is constant on
blocks of classes, Gamma_ij = Theta[c_i, c_j] with Theta k x k, and sums over samples become sums over classes. Where
they do not (embeddings), U has few columns and sums run over those. For B (n x m) and Q (n x c):

    applied(B, Q)   = (Gamma * BB') Q       n x c
    quadratic(B, Q) = Q' (Gamma * BB') Q    c x c

without an n x n array. The diagonal of Gamma is in here; who wants it zero subtracts ``diagonal`` terms.

Source: (Gamma * BB') = sum_r w_r diag(U_r) BB' diag(U_r), the row-wise Khatri-Rao rule for Hadamard products.
"""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma


class GammaSums:
    """Gamma with its samples in an order that makes its sums quick; ``order`` sorts them."""

    def __init__(self, gamma: FactoredGamma) -> None:
        self._weights = gamma.weights
        if gamma.codes is None:
            self.order = np.arange(gamma.n_samples)
            self._factor: FloatArray = gamma.factor
            self._parts: list[slice] | None = None
        else:
            self.order = np.argsort(gamma.codes, kind="stable")
            self._factor = gamma.factor[self.order]
            ends = np.cumsum(np.bincount(gamma.codes))
            self._parts = [slice(int(begin), int(end)) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
            self._table: FloatArray = self._factor[ends - 1]
            self._blocks: FloatArray = (self._table * self._weights) @ self._table.T

    @property
    def diagonal(self) -> FloatArray:
        """Gamma_ii of the ordered samples."""
        return np.asarray((self._factor**2) @ self._weights)

    def applied(self, features: FloatArray, columns: FloatArray) -> FloatArray:
        """Return (Gamma * BB') Q for ``features`` B and ``columns`` Q of the ordered samples."""
        result = np.zeros_like(columns)
        if self._parts is not None:
            sums = self._class_sums(features, columns)
            mixed = np.tensordot(self._blocks, sums, axes=1)
            for part, inner in zip(self._parts, mixed, strict=True):
                np.matmul(features[part], inner, out=result[part])
            return result
        for weight, factor in zip(self._weights, self._factor.T, strict=True):
            inner = features.T @ (factor[:, None] * columns)
            result += (weight * factor)[:, None] * (features @ inner)
        return result

    def quadratic(self, features: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Q' (Gamma * BB') Q, symmetric."""
        if self._parts is not None:
            sums = self._class_sums(features, columns)
            mixed = np.tensordot(self._table.T, sums, axes=1)
            # One product for all factors: sum_r w_r M_r'M_r with positive and negative weights apart.
            scaled = np.sqrt(np.abs(self._weights))[:, None, None] * mixed
            result = np.zeros((columns.shape[1],) * 2)
            for sign in (1.0, -1.0):
                chosen = scaled[np.sign(self._weights) == sign].reshape(-1, columns.shape[1])
                result += sign * (chosen.T @ chosen)
            return result
        result = np.zeros((columns.shape[1],) * 2)
        for weight, factor in zip(self._weights, self._factor.T, strict=True):
            inner = features.T @ (factor[:, None] * columns)
            result += weight * (inner.T @ inner)
        return result

    def _class_sums(self, features: FloatArray, columns: FloatArray) -> FloatArray:
        """Return S_c = B_c' Q_c for each class, k x m x c."""
        parts = self._parts or []
        sums = np.empty((len(parts), features.shape[1], columns.shape[1]))
        for part, place in zip(parts, sums, strict=True):
            np.matmul(features[part].T, columns[part], out=place)
        return sums
