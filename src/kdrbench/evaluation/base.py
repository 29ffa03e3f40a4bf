"""What the ways of evaluating a problem share: counters and checks, and how sums over pairs become oracles.

``Evaluator`` is the base of all of them. It counts calls, checks arguments, and refuses oracles that an evaluator does
not have. ``PairSums`` is the algebra of those that sum over all pairs of samples at once.

With P = XW, V any columns and R = XZ, such an evaluator says how to apply two operators at W,

    sloped:  V -> G V  (dot)  or  2 (diag(G 1) - G) V  (difference),                G = Gamma * f'(beta),
    turned:  R -> the same of R, plus that of P with Gamma * f''(beta) * dbeta[Z] in place of G,

and from them follow

    grad F = 2 X' sloped(P),   Hess F[Z] = 2 X' turned(R),   Phi = X' sloped(X).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import numpy as np

from kdrbench.errors import InputError
from kdrbench.evaluation.passes import Report
from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters

# Rows of the features that are multiplied at a time.
_CHUNK = 4096


class Evaluator(ABC):
    """Oracles of a problem on ``features`` (n x d); raises ``InputError`` for those it does not have."""

    def __init__(self, features: FloatArray) -> None:
        self.counters = Counters()
        self.report: Report | None = None
        self._features = np.ascontiguousarray(features)

    def fresh(self) -> Self:
        """Return a problem that shares features and Gamma, with counters at zero and no point held."""
        twin = copy.copy(self)
        twin.counters = Counters()
        twin.report = None
        twin._forget()
        return twin

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self._features.shape[1])

    def value(self, projection: FloatArray) -> float:
        """Return F(W)."""
        self.counters.value += 1
        self._check(projection)
        return self._value(projection)

    def gradient(self, projection: FloatArray) -> FloatArray:
        """Return 2 Phi(W) W, d x q."""
        self.counters.gradient += 1
        self._check(projection)
        return self._gradient(projection)

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return F(W) and 2 Phi(W) W from one pass; one call of its own kind."""
        self.counters.value_gradient += 1
        self._check(projection)
        return self._value_and_gradient(projection)

    def hessian_vector(self, projection: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to Z, d x q."""
        product: FloatArray = self.hessian_vectors(projection, direction[None])[0]
        return product

    def hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to each Z of ``directions`` (b x d x q); counts as b products."""
        self.counters.hessian_vector += len(directions)
        self._check(projection)
        return self._hessian_vectors(projection, directions)

    def hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W on the directions B_u e_a', mq x mq (see :func:`curvature_form`)."""
        self.counters.hessian += 1
        self._check(projection)
        return self._hessian(projection, basis)

    def surrogate(self, projection: FloatArray) -> FloatArray:
        """Return Phi(W), d x d and symmetric."""
        self.counters.surrogate += 1
        self._check(projection)
        return self._surrogate(projection)

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0: f' replaced by its value at beta = 0, or by its sign for beta > 0 where that is zero.

        For a single kernel this is the papers' sign of f' up to a positive factor, which changes no
        eigenvector; in a combination the values weigh the members against each other.
        """
        self.counters.surrogate += 1
        return self._initial_surrogate()

    def _check(self, projection: FloatArray) -> None:
        if projection.ndim != 2 or projection.shape[0] != self.n_features:
            raise InputError(f"a projection must have {self.n_features} rows, got shape {projection.shape}")

    @abstractmethod
    def _forget(self) -> None:
        """Drop what is held of any point."""

    @abstractmethod
    def _value(self, projection: FloatArray) -> float:
        """Return F(W)."""

    @abstractmethod
    def _gradient(self, projection: FloatArray) -> FloatArray:
        """Return 2 Phi(W) W."""

    @abstractmethod
    def _initial_surrogate(self) -> FloatArray:
        """Return Phi_0."""

    def _value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        return self._value(projection), self._gradient(projection)

    def _surrogate(self, projection: FloatArray) -> FloatArray:
        raise self._lacking("surrogate")

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        raise self._lacking("hessian_vector")

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        raise self._lacking("hessian")

    def _lacking(self, oracle: str) -> InputError:
        return InputError(
            f"{type(self).__name__} has no oracle {oracle}; choose another evaluator, or a solver that does without"
        )


class PairSums(Evaluator):
    """Oracles from the two operators ``sloped`` and ``turned`` (see the module)."""

    @abstractmethod
    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return G V or its form for differences, n x (columns)."""

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return self._back(self._sloped(projection, self._samples(projection)))

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        moved = self._features @ np.hstack(list(directions)).astype(self._features.dtype, copy=False)
        turned = self._turned_together(projection, np.split(moved, len(directions), axis=1))
        return np.stack(np.split(self._back(np.hstack(turned)), len(directions), axis=1))

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        moved, q = self._features @ basis.astype(self._features.dtype, copy=False), projection.shape[1]
        form = self._curvature_form(projection, moved)
        slope_part = 2.0 * self._quadratic(projection, moved)
        for a in range(q):
            form[:, a, :, a] += slope_part
        flat = form.reshape(basis.shape[1] * q, -1)
        return 0.5 * (flat + flat.T)

    def _samples(self, projection: FloatArray) -> FloatArray:
        """Return P = X W."""
        samples: FloatArray = self._features @ projection
        return samples

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return V' sloped(V)."""
        return columns.T @ self._sloped(projection, columns)

    def _back(self, sloped: FloatArray) -> FloatArray:
        """Return 2 X' V, in double precision whatever the features are in."""
        result = np.zeros((self.n_features, sloped.shape[1]))
        for begin in range(0, len(sloped), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            result += self._features[rows].T @ sloped[rows].astype(self._features.dtype, copy=False)
        result *= 2.0
        return result

    def _turned_together(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return :meth:`_turned` of each R; for evaluators that share work among them to do better."""
        return [self._turned(projection, one) for one in moved]

    @abstractmethod
    def _turned(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        """Return the derivative of sloped(P) along Z, for R = ``moved``, n x q."""

    @abstractmethod
    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        """Return T of :func:`curvature_form`, an (m, q, m, q) array for V = ``moved`` (n x m)."""


def curvature_form(
    pairing: Pairing, weighted: Callable[[FloatArray], FloatArray], moved: FloatArray, samples: FloatArray
) -> FloatArray:
    """Return the part T of the Hessian that comes from f'', on all directions Z_ua = B_u e_a' at once: (m, q, m, q).

    ``weighted`` maps columns Q to C Q, C = Gamma * f''(beta); V = XB = ``moved`` (n x m), P = XW = ``samples`` (n x q):

        T[ua, vb] = sum_ij C_ij dbeta_ij[Z_ua] dbeta_ij[Z_vb],
        dbeta_ij[Z_ua] = V_iu P_ja + P_ia V_ju                       (dot)
                       = 2 (V_iu - V_ju) (P_ia - P_ja)               (difference).

    Multiplied out, every term is an inner product of elementwise products of columns of V and P with C times such
    products: m q + m + q^2 columns pass through C once, where one product with the Hessian for each direction would
    form an n x n array m q times.
    """
    if pairing is Pairing.DIFFERENCE:
        # Differences do not see the mean, and products of centred columns cancel least.
        moved, samples = moved - moved.mean(axis=0), samples - samples.mean(axis=0)
    n_samples, m = moved.shape
    q = samples.shape[1]
    crossed = (moved[:, :, None] * samples[:, None, :]).reshape(n_samples, m * q)
    squares = (samples[:, :, None] * samples[:, None, :]).reshape(n_samples, q * q)
    if pairing is Pairing.DOT:
        through = weighted(np.hstack([crossed, squares]))
        mixed, on_pairs = _mixed(crossed, through, m, q), through[:, m * q :]
        return 2.0 * (mixed.transpose(0, 3, 2, 1) + _contracted(moved, on_pairs, moved, q))
    through = weighted(np.hstack([crossed, squares, samples, moved, np.ones((n_samples, 1))]))
    widths = np.cumsum([m * q, q * q, q, m])
    _, on_pairs, through_samples, through_moved, degrees = np.split(through, widths, axis=1)
    mixed = _mixed(crossed, through, m, q)
    turned = (samples[:, :, None] * through_samples[:, None, :]).reshape(n_samples, q * q)
    on_pairs = on_pairs + degrees * squares - turned
    on_pairs -= turned.reshape(n_samples, q, q).transpose(0, 2, 1).reshape(n_samples, q * q)
    once = _contracted(moved, squares, through_moved, q)
    form = _contracted(moved, on_pairs, moved, q) - once - once.transpose(2, 1, 0, 3)
    return 8.0 * (form + mixed + mixed.transpose(0, 3, 2, 1))


def _mixed(crossed: FloatArray, through: FloatArray, m: int, q: int) -> FloatArray:
    """Return (V_u P_a)' C (V_v P_b) as an array [u, a, v, b]."""
    return (crossed.T @ through[:, : m * q]).reshape(m, q, m, q)


def _contracted(left: FloatArray, middle: FloatArray, right: FloatArray, q: int) -> FloatArray:
    """Return sum_i left_iu middle_i,ab right_iv as an array [u, a, v, b]; ``middle`` is symmetric in a and b."""
    n_samples, m = left.shape
    result = np.empty((m, q, m, q))
    # One a at a time: no array is larger than those of the products with C.
    for a in range(q):
        weighed = (left[:, :, None] * middle[:, None, a * q : (a + 1) * q]).reshape(n_samples, m * q)
        result[:, a] = (weighed.T @ right).reshape(m, q, m).transpose(0, 2, 1)
    return result
