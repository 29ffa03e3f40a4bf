"""Second order for evaluators that multiply columns by C = Gamma * f''(beta), for one function f of differences."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from kdrbench.evaluation.base import PairSums, Point, curvature_form
from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray


class DifferenceSums(PairSums[Point]):
    """Products with the Hessian of a kernel of differences, from products with C."""

    @abstractmethod
    def _curved(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return C Q; dbeta vanishes on the diagonal, so what C has there does not matter."""

    def _curvature_quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Q' C Q."""
        return np.asarray(columns.T @ self._curved(projection, columns))

    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return the derivative of sloped(P) along each tangent: the columns made of P alone are summed once."""
        samples = self._samples(projection)
        n, q = samples.shape
        # (C * dbeta) V for V = (P, 1), dbeta_ij = own_i + own_j - 2 sum_a (p_ia r_ja + r_ia p_ja).
        targets = np.hstack([samples, np.ones((n, 1))])

        def crossed(part: FloatArray) -> FloatArray:
            columns = (part[:, :, None] * targets[:, None, :]).reshape(n, -1)
            return self._curved(projection, columns).reshape(n, q, q + 1)

        of_targets, of_samples = self._curved(projection, targets), crossed(samples)
        sloped = np.split(self._sloped(projection, np.hstack(moved)), len(moved), axis=1)
        results = []
        # One after the other: each takes q (q + 1) columns.
        for part, along in zip(moved, sloped, strict=True):
            own = 2.0 * np.einsum("ij,ij->i", samples, part)[:, None]
            turned: FloatArray = own * of_targets + self._curved(projection, own * targets)
            turned -= 2.0 * np.einsum("na,nab->nb", samples, crossed(part))
            turned -= 2.0 * np.einsum("na,nab->nb", part, of_samples)
            results.append(along + 2.0 * (turned[:, -1:] * samples - turned[:, :-1]))
        return results

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        def weighted(columns: FloatArray) -> FloatArray:
            return self._curved(projection, columns)

        def quadratic(columns: FloatArray) -> FloatArray:
            return self._curvature_quadratic(projection, columns)

        return curvature_form(Pairing.DIFFERENCE, weighted, moved, self._samples(projection), quadratic)
