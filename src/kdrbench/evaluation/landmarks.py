"""Kernels at a few points as a basis of a Gaussian: see :mod:`.bases` for what a basis is.

With M = N N' = (K_ll + delta I)^-1 for the points l,

    rest(u) = 1 - |N' phi(u)|^2,    slope(u) = q - sum_a |N' d phi / du_a|^2.

delta exceeds the error of the decomposition of K_ll, so that M <= K_ll^-1 in spite of rounding, and the rounding of
rest and slope is added to them.

Source: Williams, Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 2000; the bounds are ours.
"""

from __future__ import annotations

import numpy as np

from kdrbench.evaluation.bases import Basis, pairs_of
from kdrbench.kernels.family import FloatArray

_UNIT = float(np.finfo(np.float64).eps)


class Landmarks(Basis):
    """Kernels at m points (m x q)."""

    def __init__(self, points: FloatArray) -> None:
        self._points = np.ascontiguousarray(points)
        self.size, self.n_dimensions = points.shape
        kernel = self.features(self._points.T)
        values, vectors = np.linalg.eigh(0.5 * (kernel + kernel.T))
        self.shift = self.size * _UNIT * max(float(values[-1]), 1.0)
        self._roots: FloatArray = (np.maximum(values, 0.0) + self.shift) ** -0.5
        self._whitening = vectors * self._roots

    def __str__(self) -> str:
        return f"{self.size} landmarks"

    @staticmethod
    def kernel(points: FloatArray, samples: FloatArray) -> FloatArray:
        """Return k of points (m x q) and samples (q x c), m x c."""
        # Squares come from the same product.
        left = np.column_stack([points, -0.5 * np.einsum("ma,ma->m", points, points), np.ones(len(points))])
        right = np.vstack([samples, np.ones(samples.shape[1]), -0.5 * np.einsum("ac,ac->c", samples, samples)])
        result: FloatArray = left @ right
        return np.asarray(np.exp(result, out=result))

    def features(self, samples: FloatArray) -> FloatArray:
        """Return phi, m x c."""
        return self.kernel(self._points, samples)

    def whitened(self, sums: FloatArray) -> FloatArray:
        """Return N' S along the last axis."""
        return np.asarray(sums @ self._whitening)

    def inverted(self, sums: FloatArray) -> FloatArray:
        """Return M S along the last axis."""
        return np.asarray((sums @ self._whitening) @ self._whitening.T)

    def shifted(self, sums: FloatArray, axis: int) -> FloatArray:
        """Return D_a S along the last axis."""
        return np.asarray(sums * self._points[:, axis])

    def pulled(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return D_a' v along the last axis."""
        return self.shifted(coefficients, axis)

    def mixed(self, features: FloatArray, tables: FloatArray, weights: FloatArray) -> FloatArray:
        """Return sum_g E_ig (t_g' phi_i) for each table t: (terms) x c."""
        n_terms = tables.shape[1]
        if len(tables) == 1:
            return super().mixed(features, tables, weights)
        # D_a is diagonal: the groups are mixed before the tables are applied.
        own: FloatArray = tables[:, 0].T @ weights.T
        own *= features
        return np.asarray(self._coordinates(n_terms) @ own)

    def left_out(self, samples: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rest and slope of each sample."""
        features = self.features(samples)
        held = self._whitening.T @ features
        rest = 1.0 - np.einsum("mc,mc->c", held, held)
        slope = np.full(samples.shape[1], float(self.n_dimensions))
        # Each entry of N' phi is rounded by at most so much, and so is what is summed of it.
        rounding = (self.size + 2) * _UNIT * np.sqrt(self.size) * self._roots
        rest = np.maximum(rest, 0.0) + 2.0 * (rounding @ np.abs(held)) + rounding @ rounding
        for a in range(self.n_dimensions):
            turned = (self._whitening * self._points[:, [a]]).T @ features - samples[a] * held
            slope -= np.einsum("mc,mc->c", turned, turned)
            reach = np.abs(self._points[:, a]).max() + np.abs(samples[a])
            rounded = 2.0 * (rounding @ np.abs(turned)) + reach * (rounding @ rounding)
            slope += reach * rounded
        return rest, np.maximum(slope, 0.0)

    def rest(self, samples: FloatArray) -> FloatArray:
        """Return the rest alone."""
        held = self._whitening.T @ self.features(samples)
        return np.asarray(np.maximum(1.0 - np.einsum("mc,mc->c", held, held), 0.0))

    def _coordinates(self, n_terms: int) -> FloatArray:
        rows = [np.ones(self.size), *self._points.T]
        if n_terms > len(rows):
            rows += [self._points[:, a] * self._points[:, b] for a, b in pairs_of(self.n_dimensions)]
        return np.array(rows[:n_terms])
