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
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import Device, contiguous, is_device_array, namespace_of, row_chunks
from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Counters, Problem
from kdrbench.samples import Samples
from kdrbench.samples.passes import chunks

# What an evaluator holds of one W.
Point = TypeVar("Point")
# V -> Phi V.
Products = Callable[[FloatArray], FloatArray]
# Rows of the features that are multiplied at a time.
_CHUNK = 4096


class Evaluator(Problem, ABC, Generic[Point]):
    """Oracles of a problem on ``features`` (n x d); raises ``InputError`` for those it does not have.

    Features in memory are held, while samples that are streamed are left to passes over them. What oracles at one W
    share is held until the next W.
    """

    def __init__(self, features: FloatArray | Samples) -> None:
        self.counters = Counters()
        self._n_features = int(features.shape[1])
        if not isinstance(features, Samples):
            self._features = features if is_device_array(features) else np.ascontiguousarray(features)
        self._forget()

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
        return self._n_features

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
        """Return the Euclidean Hessian at W applied to Z."""
        product: FloatArray = self.hessian_vectors(projection, direction[None])[0]
        return product

    def hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the Euclidean Hessian at W applied to each Z of ``directions`` (b x d x q)."""
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

    def surrogate_products(self, projection: FloatArray) -> Products | None:
        """Return V -> Phi(W) V where that does not need Phi itself; each call counts as a gradient."""
        self._check(projection)
        return self._surrogate_products(projection)

    def initial_surrogate(self) -> FloatArray:
        """Return Phi_0."""
        self.counters.surrogate += 1
        return self._initial_surrogate()

    def suffices_at(self, projection: FloatArray) -> bool:
        """Return whether this way of evaluating is near enough at W, and worth its cost."""
        return True

    def explain_last(self) -> str:
        """Say how the last W was evaluated, where that depends on W."""
        return ""

    def _forget(self) -> None:
        """Drop what is held of any point."""
        self._held: tuple[FloatArray, Point] | None = None

    def _at(self, projection: FloatArray) -> Point:
        """Return what oracles at W share."""
        if self._held is None or not np.array_equal(self._held[0], projection):
            # The old one may be as large as the new one.
            self._held = None
            self._held = projection.copy(), self._made_at(projection)
        return self._held[1]

    def _made_at(self, projection: FloatArray) -> Point:
        """Make what oracles at W share."""
        raise NotImplementedError

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

    def _surrogate_products(self, projection: FloatArray) -> Products | None:
        return None

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        raise self._lacking("hessian_vector")

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        raise self._lacking("hessian")


class PairSums(Evaluator[Point]):
    """Oracles from the two operators ``sloped`` and ``turned``, with samples in an ``order`` of its own but for X.

    Features on a device stay there, with what has as many rows. Projections, directions, gradients, matrices of d x d
    and single numbers cross; sums are in float64 whatever the features are in.
    """

    def __init__(self, features: FloatArray, order: NDArray[np.intp] | None = None) -> None:
        super().__init__(features)
        self._device, self._order, self._inverse = Device.of(features), order, order
        if order is not None:
            self._order, self._inverse = self._device.up(order), self._device.up(np.argsort(order))

    @abstractmethod
    def _sloped(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return G V or its form for differences, n x (columns)."""

    def _gradient(self, projection: FloatArray) -> FloatArray:
        return self._back(self._sloped(projection, self._samples(projection)))

    def _hessian_vectors(self, projection: FloatArray, directions: FloatArray) -> FloatArray:
        moved, q = self._moved(np.hstack(list(directions))), projection.shape[1]
        parts = [moved[:, place : place + q] for place in range(0, moved.shape[1], q)]
        turned = namespace_of(moved).concat(self._turned(projection, parts), axis=1)
        return np.stack(np.split(self._back(turned), len(directions), axis=1))

    def _hessian(self, projection: FloatArray, basis: FloatArray) -> FloatArray:
        moved, q = self._moved(basis), projection.shape[1]
        form = self._curvature_form(projection, moved)
        slope_part = 2.0 * self._quadratic(projection, moved)
        for a in range(q):
            form[:, a, :, a] += slope_part
        flat = form.reshape(basis.shape[1] * q, -1)
        return 0.5 * (flat + flat.T)

    def _surrogate_products(self, projection: FloatArray) -> Products:
        def product(columns: FloatArray) -> FloatArray:
            self.counters.gradient += 1
            return 0.5 * self._back(self._sloped(projection, self._moved(columns)))

        return product

    def _samples(self, projection: FloatArray) -> FloatArray:
        """Return P = X W."""
        return self._moved(projection)

    def _moved(self, direction: FloatArray) -> FloatArray:
        """Return X Z, in the evaluator's order of samples."""
        given = self._as_given(direction)
        ordered: FloatArray = given if self._order is None else self._device.xp.take(given, self._order, axis=0)
        return ordered

    def _as_given(self, direction: FloatArray) -> FloatArray:
        """Return X Z in the order of X."""
        if self._device.is_host:
            # As Z'X', whose rows are long: up to twice as quick.
            return np.ascontiguousarray((direction.T.astype(self._features.dtype) @ self._features.T).T)
        columns, parts = self._device.up(direction), row_chunks(*self._features.shape)
        moved: FloatArray = self._device.xp.concat(
            [self._device.wide(self._features[rows, :]) @ columns for rows in parts], axis=0
        )
        return moved

    def _rows_in_order(self, rows: slice) -> FloatArray:
        """Return some rows of X, in the evaluator's order; in float64 on a device."""
        if self._order is None:
            taken = self._features[rows, :]
        else:
            taken = self._device.xp.take(self._features, self._order[rows], axis=0)
        wide: FloatArray = self._device.wide(taken)
        return wide

    def _quadratic(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return V' sloped(V)."""
        return self._device.down(columns.T @ self._sloped(projection, columns))

    def _back(self, sloped: FloatArray) -> FloatArray:
        """Return 2 X' V, by way of V'X, in double precision whatever the features are in."""
        given = sloped if self._inverse is None else self._device.xp.take(sloped, self._inverse, axis=0)
        result = self._device.zeros(sloped.shape[1], self.n_features)
        n_samples, width = self._features.shape
        for rows in chunks(n_samples, _CHUNK) if self._device.is_host else row_chunks(n_samples, width):
            part = self._device.wide(self._features[rows, :])
            result += contiguous(given[rows, :].T, part.dtype) @ part
        return np.ascontiguousarray(2.0 * self._device.down(result).T)

    @abstractmethod
    def _turned(self, projection: FloatArray, moved: list[FloatArray]) -> list[FloatArray]:
        """Return the derivative of sloped(P) along Z, n x q, for each R of ``moved``."""

    def _curvature_form(self, projection: FloatArray, moved: FloatArray) -> FloatArray:
        """Return T of :func:`curvature_form`, an (m, q, m, q) array for V = ``moved`` (n x m)."""
        raise self._lacking("hessian")


class DifferenceSums(PairSums[Point]):
    """Oracles of one function of differences: products with the Hessian from products with C = Gamma * f''(beta)."""

    @abstractmethod
    def _curved(self, projection: FloatArray, columns: FloatArray) -> FloatArray:
        """Return C Q; dbeta vanishes on the diagonal, so what C has there does not matter."""

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


def curvature_form(
    pairing: Pairing,
    weighted: Callable[[FloatArray], FloatArray],
    moved: FloatArray,
    samples: FloatArray,
    quadratic: Callable[[FloatArray], FloatArray] | None = None,
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
    xp = namespace_of(samples)
    if pairing is Pairing.DIFFERENCE:
        # Differences do not see the mean, and products of centred columns cancel least.
        moved, samples = moved - xp.mean(moved, axis=0), samples - xp.mean(samples, axis=0)
    n_samples, m = moved.shape
    q = samples.shape[1]
    crossed = xp.reshape(moved[:, :, None] * samples[:, None, :], (n_samples, m * q))
    squares = xp.reshape(samples[:, :, None] * samples[:, None, :], (n_samples, q * q))
    others = [squares]
    if pairing is Pairing.DIFFERENCE:
        others += [samples, moved, xp.ones_like(samples[:, :1])]
    if quadratic is None:
        through = weighted(xp.concat([crossed, *others], axis=1))
        mixed, through = crossed.T @ through[:, : m * q], through[:, m * q :]
    else:
        mixed, through = quadratic(crossed), weighted(xp.concat(others, axis=1))
    mixed, on_pairs = xp.reshape(mixed, (m, q, m, q)), through[:, : q * q]
    if pairing is Pairing.DOT:
        form: FloatArray = 2.0 * (xp.permute_dims(mixed, (0, 3, 2, 1)) + _contracted(moved, on_pairs, moved, q))
        return form
    form = through_form(moved, samples, through)
    form = 8.0 * (form + mixed + xp.permute_dims(mixed, (0, 3, 2, 1)))
    return form


def through_form(moved: FloatArray, samples: FloatArray, through: FloatArray) -> FloatArray:
    """Return what :func:`curvature_form` takes from single samples, an eighth of it, for the difference pairing.

    ``through`` (n x (q^2 + q + m + 1)) are the same rows of C Q for Q = (the products of columns of P, P, V, 1).
    """
    xp, (n_samples, m), q = namespace_of(samples), moved.shape, samples.shape[1]
    squares = xp.reshape(samples[:, :, None] * samples[:, None, :], (n_samples, q * q))
    on_pairs, through_samples = through[:, : q * q], through[:, q * q : q * q + q]
    through_moved, degrees = through[:, q * q + q : q * q + q + m], through[:, q * q + q + m :]
    turned = samples[:, :, None] * through_samples[:, None, :]
    turned = turned + xp.permute_dims(turned, (0, 2, 1))
    on_pairs = on_pairs + degrees * squares - xp.reshape(turned, (n_samples, q * q))
    once = _contracted(moved, squares, through_moved, q)
    form: FloatArray = _contracted(moved, on_pairs, moved, q) - once - xp.permute_dims(once, (2, 1, 0, 3))
    return form


def _contracted(left: FloatArray, middle: FloatArray, right: FloatArray, q: int) -> FloatArray:
    """Return sum_i left_iu middle_i,ab right_iv as an array [u, a, v, b]; ``middle`` is symmetric in a and b."""
    xp, parts = namespace_of(left), {}
    # One pair at a time: no array is larger than V.
    for a in range(q):
        for b in range(a, q):
            parts[a, b] = parts[b, a] = (left * middle[:, a * q + b, None]).T @ right
    rows = [xp.stack([parts[a, b] for b in range(q)], axis=1) for a in range(q)]
    form: FloatArray = xp.permute_dims(xp.stack(rows, axis=1), (0, 1, 3, 2))
    return form
