"""The choice of a basis for a Gaussian: the degree, or the landmarks, that an error asks for, on some of the samples.

On a pool of samples the gradient is computed exactly from all its pairs, and so is the bound of
:mod:`.class_sums` for each candidate. Both grow alike with the number of samples, so the quotient says how near the
basis is on all of them; the pass over all samples proves it. Monomials have a closed form for their bound. Landmarks
are pivots of a randomly pivoted Cholesky factor of the pool's kernel matrix, the fewest that suffice.

Source: Chen, Epperly, Tropp, Webber, "Randomly pivoted Cholesky", Communications on Pure and Applied Mathematics 78,
2025; the choice is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from kdrbench.evaluation.bases import Basis, Functions, Landmarks, Monomials, with_one
from kdrbench.evaluation.streams import Groups
from kdrbench.kernels.bounded_factor import pivoted_cholesky
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import FactoredGamma
from kdrbench.samples import Samples

# Samples that landmarks are chosen from, and those of them on which errors are measured.
_POOL, _MEASURED, _WATCHED = 4000, 600, 200
_MOST_LANDMARKS, _MOST_MONOMIALS, _MOST_DEGREE = 1500, 2000, 24
# A pass over pairs takes as long as one with this share of n monomials, or a little longer.
_WORTH = 0.05
# A landmark costs as much as this number of monomials, with its share of the certificate.
_PER_LANDMARK = 1.5
# The trace that landmarks leave at the first trial, as a share of the error that is asked for, and how many trials.
_FIRST, _FIRST_BY_VALUES, _TRIALS = 0.1, 10.0, 5
# A basis is kept while what it leaves out is at most this multiple of what it was chosen for.
_SLACK = 4.0
_POWER_STEPS = 8
# Where the most landmarks leave more than this multiple of the error asked for, no bound need be computed.
_HOPELESS = 100.0
_Error = Callable[[Basis], float]


@dataclass(frozen=True)
class Choice:
    """A basis, the W where it was chosen, whether it suffices there, and the mean rest up to which it is kept."""

    basis: Basis
    projection: FloatArray
    suffices: bool
    allowed: float


def turn_to(anchor: FloatArray, projection: FloatArray) -> FloatArray:
    """Return the orthogonal q x q matrix Q with which W Q is nearest to the ``anchor``."""
    left, _, right = np.linalg.svd(projection.T @ anchor)
    return np.asarray(left @ right)


class Pool:
    """Some samples, equal steps apart in the order of their groups."""

    def __init__(self, samples: Samples, mean: FloatArray, gamma: FactoredGamma, groups: Groups, sigma: float) -> None:
        self._most = max(_MOST_MONOMIALS, int(_WORTH * len(samples)))
        places = gamma.spread_out(_POOL)
        self._features, self._sigma = (samples.take(places) - mean) / sigma, sigma
        # Those that are measured are strides of the pool, which keeps the shares of its groups.
        self._measured = np.linspace(0, len(places) - 1, min(len(places), _MEASURED)).round().astype(int)
        self._weights, self._theta = groups.dense(places[self._measured]), groups.theta

    def covers(self, chosen: Choice, projection: FloatArray) -> bool:
        """Return whether the basis is as near at W as where it was chosen, but for a factor."""
        if chosen.projection.shape != projection.shape:
            return False
        if np.array_equal(chosen.projection, projection):
            return True
        columns = projection @ turn_to(chosen.projection, projection)
        watched = self._measured[:: max(1, len(self._measured) // _WATCHED)]
        return float(chosen.basis.rest((self._features[watched] @ columns).T).mean()) <= chosen.allowed

    def choose(self, projection: FloatArray, accuracy: float, *, proved: bool, by_values: bool = False) -> Choice:
        """Return the cheapest basis whose error of the gradient at W is at most ``accuracy`` of it.

        The error is its bound where ``proved``, and the difference from the exact gradient of the pool otherwise: of
        the derivative of F_m, or of the gradient ``by_values``.
        """
        samples = np.ascontiguousarray((self._features @ projection).T)
        measured = samples[:, self._measured]
        error = self._bound_of(measured) if proved else self._difference_of(measured, by_values)
        landmarks, near = self._landmarks(samples, error, accuracy, _FIRST_BY_VALUES if by_values else _FIRST)
        most = min(self._most, _PER_LANDMARK * landmarks.size if near else np.inf)
        degree = self._degree(len(samples), error, accuracy, most)
        basis: Basis = landmarks if degree is None else Monomials(len(samples), degree)
        watched = measured[:, :: max(1, measured.shape[1] // _WATCHED)]
        allowed = _SLACK * float(basis.rest(watched).mean())
        return Choice(basis, projection.copy(), degree is not None or near, allowed)

    def _degree(self, q: int, error: _Error, accuracy: float, most: float) -> int | None:
        """Return the lowest degree that suffices with at most ``most`` monomials; ``None`` without."""
        for degree in range(_MOST_DEGREE + 1):
            if comb(q + degree, degree) > most:
                return None
            if error(Monomials(q, degree)) <= accuracy:
                return degree
        return None

    def _landmarks(self, samples: FloatArray, error: _Error, accuracy: float, share: float) -> tuple[Landmarks, bool]:
        """Return the fewest landmarks that suffice, and whether they do; the first leave that share of the error."""
        points, left = samples.T, min(0.1, share * accuracy)
        largest = min(_MOST_LANDMARKS, len(points))

        def rows(pivots: NDArray[np.intp]) -> FloatArray:
            return Landmarks.kernel(points[pivots], samples)

        for _ in range(_TRIALS):
            factor = pivoted_cholesky(rows, np.ones(len(points)), left, largest)
            if factor is None:
                return Landmarks(points[:1]), False
            landmarks = Landmarks(points[np.unique(np.concatenate(factor.pivots))])
            full = factor.columns.shape[1] >= largest
            if full and factor.trace > _HOPELESS * accuracy * len(points):
                return landmarks, False
            found = error(landmarks)
            if found <= accuracy or full:
                break
            # The error falls with the trace, but for rounding.
            left *= min(0.5, accuracy / found)
        return landmarks, found <= accuracy

    def _bound_of(self, measured: FloatArray) -> _Error:
        """Return what gives the bound of a basis at samples (q x c), relative to the gradient."""
        sizes = np.abs(self._weights)
        rows = self._features[self._measured]
        column = rows[int(np.argmax(np.einsum("id,id->i", rows, rows)))]
        for _ in range(_POWER_STEPS):
            column = rows.T @ (rows @ (column / (np.linalg.norm(column) or 1.0)))
        spread, gradient = np.sqrt(np.linalg.norm(column)), np.linalg.norm(self._slopes(measured) @ rows) or 1.0

        def error(basis: Basis) -> float:
            rest, slope = basis.left_out(measured)
            missing = sizes @ (np.abs(self._theta) @ (np.sqrt(rest) @ sizes))
            return float(spread * np.sqrt(slope @ missing**2) / gradient)

        return error

    def _difference_of(self, measured: FloatArray, by_values: bool) -> _Error:
        """Return what gives the error of the gradient by a basis, relative to the gradient."""
        exact = self._slopes(measured)
        rows = self._features[self._measured]
        gradient = np.linalg.norm(exact @ rows) or 1.0

        def error(basis: Basis) -> float:
            features = basis.features(measured)
            columns = with_one(measured if by_values else measured[:0])
            sums = np.einsum("ig,ei,mi->gme", self._weights, columns, features, optimize=True)
            tables = np.tensordot(self._theta, basis.inverted(sums.swapaxes(1, 2)), axes=1)
            if not by_values:
                tables = basis.tables(tables[:, 0], 1)
            found = Functions.mixed(basis, features, tables, self._weights)
            return float(np.linalg.norm((basis.slopes(found, measured) - exact) @ rows) / gradient)

        return error

    def _slopes(self, measured: FloatArray) -> FloatArray:
        """Return dF/dU / 2 of the samples that are measured, from all their pairs."""
        kernel = Landmarks.kernel(measured.T, measured)
        kernel *= self._weights @ self._theta @ self._weights.T
        return np.asarray(measured @ kernel - measured * kernel.sum(axis=1))
