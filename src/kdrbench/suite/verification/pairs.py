"""Cost, gradient and curvature of F(W) = sum_ij Gamma_ij K_ij by sums over all pairs of samples, written out.

Source: NeurIPS 2019, Eq. 2; Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.suite.verification.members import Array, Member, one_hot

# Entries of a block of rows against all samples: with a few such arrays of doubles, what a cache holds.
_ENTRIES = 2**18
_EPS = np.finfo(float).eps
_UNIT = _EPS / 2
# Roundings are independent in the model alone; by it less than 1 in 10^13 sums is further off.
LAMBDA = 8.0


@dataclass(frozen=True)
class FirstOrder:
    """-F and dF/dW at W, and how far another evaluator's may be from them by rounding (the latter's norm)."""

    cost: float
    gradient: Array
    cost_rounding: float
    gradient_rounding: float


@dataclass
class _Sizes:
    """Sums of the sizes of terms, by which rounding is bounded.

    Sums of m numbers, each rounded to unit u, are known to within LAMBDA sqrt(m) u of the sum of their sizes, but for
    a probability of 2 exp(-LAMBDA^2 / 2), where roundings are independent and of mean 0. With y = W'x of d terms,
    |dy| <= LAMBDA sqrt(d) u |x|, so that beta is known to within LAMBDA sqrt(d) u B_ij for

        B_ij = c (|y_i| + |y_j|) (|x_i| + |x_j|),   c = 1/2 for products, 2 for distances,

    and over all pairs, with e = 2 |x_i| (|y_i| + |y_j|) for products and twice that for distances, each of two
    evaluators to half of

        cost        2 LAMBDA u (sqrt(n) sum |Gamma f|      + sqrt(d) sum |Gamma f'| B)
        gradient    2 LAMBDA u (sqrt(n) sum |Gamma f'| e   + sqrt(d) sum |Gamma f''| B e).

    Source: Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019,
    Theorem 2.4.
    """

    powers: Array
    n_terms: tuple[int, int]
    cost: float = 0.0
    by_slope: float = 0.0
    gradient: float = 0.0
    by_bend: float = 0.0

    @classmethod
    def of(cls, features: Array, projection: Array) -> _Sizes:
        x, y = np.linalg.norm(features, axis=1), np.linalg.norm(features @ projection, axis=1)
        return cls(np.column_stack([np.ones_like(x), y, y**2, x, x * y, x * y**2]), features.shape)

    def add(self, rows: slice, member: Member, terms: Array, weights: Array, bends: Array) -> None:
        """Add the sizes of Gamma f, Gamma f' and Gamma f'' of these rows against all."""
        y, x = self.powers[rows, 1], self.powers[rows, 3]
        c, e = (0.5, 2.0) if member.of_products else (2.0, 4.0)
        slopes, bent = (sizes @ self.powers for sizes in (weights, bends))
        both = slopes[:, 0] * y + slopes[:, 1]
        self.cost += float(terms.sum())
        self.by_slope += c * float((both * x + slopes[:, 3] * y + slopes[:, 4]).sum())
        self.gradient += e * float((both * x).sum())
        squares = x * (bent[:, 0] * y**2 + 2.0 * bent[:, 1] * y + bent[:, 2])
        squares += bent[:, 3] * y**2 + 2.0 * bent[:, 4] * y + bent[:, 5]
        self.by_bend += c * e * float((x * squares).sum())

    @property
    def of_cost(self) -> float:
        """Bound of the cost's rounding."""
        return self._bound(self.cost, self.by_slope)

    @property
    def of_gradient(self) -> float:
        """Bound of the norm of the gradient's rounding."""
        return self._bound(self.gradient, self.by_bend)

    def _bound(self, sums: float, betas: float) -> float:
        n, d = self.n_terms
        return float(2.0 * LAMBDA * _UNIT * (n**0.5 * sums + d**0.5 * betas))


@dataclass(frozen=True)
class Pairs:
    """Samples X (n x d), the kernel's members, and Gamma = U diag(w) U' without its diagonal: ``factor`` U, n x r."""

    features: Array
    members: Sequence[Member]
    factor: Array
    weights: Array

    @classmethod
    def of_labels(cls, features: Array, members: Sequence[Member], labels: NDArray[np.int64]) -> Pairs:
        """Return those of Gamma = H Y Y' H, Y the one-hot columns of ``labels``."""
        columns = one_hot(labels)
        return cls(features, members, columns - columns.mean(axis=0), np.ones(columns.shape[1]))

    def first_order(self, projection: Array) -> FirstOrder:
        """Return cost, gradient and their rounding at W, of one pass over all pairs."""
        total, gradient, samples = 0.0, np.zeros_like(projection), self.features @ projection
        sizes = _Sizes.of(self.features, projection)
        for rows, member, gamma, (value, slope, bend) in self._blocks(projection):
            terms, weights = gamma * value, gamma * slope
            total += float(terms.sum())
            gradient += self._pulled(member, rows, weights @ _with_ones(samples), samples)
            sizes.add(rows, member, np.abs(terms), np.abs(weights), np.abs(gamma * bend))
        return FirstOrder(-total, gradient, sizes.of_cost, sizes.of_gradient)

    def gradient(self, projection: Array) -> Array:
        """Return dF/dW, d x q."""
        result, samples = np.zeros_like(projection), self.features @ projection
        for rows, member, gamma, derivatives in self._blocks(projection):
            result += self._pulled(member, rows, (gamma * derivatives[1]) @ _with_ones(samples), samples)
        return result

    def surrogate(self, projection: Array) -> Array:
        """Return P, d x d and symmetric, with dF/dW = 2 P W."""
        result = np.zeros((self.features.shape[1],) * 2)
        for rows, member, gamma, derivatives in self._blocks(projection):
            weights, left = gamma * derivatives[1], self.features[rows].T
            across = left @ (weights @ self.features)
            own = (left * weights.sum(axis=1)) @ left.T
            result += across if member.of_products else 2.0 * (own - across)
        return 0.5 * (result + result.T)

    def turned(self, projection: Array, directions: Sequence[Array]) -> list[Array]:
        """Return the derivative of the gradient along each of the ``directions`` Z, d x q."""
        results = [np.zeros_like(projection) for _ in directions]
        samples = self.features @ projection
        extended = _with_ones(samples)
        every_moved = [self.features @ direction for direction in directions]
        for rows, member, gamma, derivatives in self._blocks(projection):
            first, second = gamma * derivatives[1], gamma * derivatives[2]
            squares, plain = _summed(second, samples, extended), second @ extended
            for result, moved in zip(results, every_moved, strict=True):
                # The derivative of beta is y_i'z_j + z_i'y_j, or 2 (y_i - y_j)'(z_i - z_j): sums over j of its factors.
                sums = np.einsum("iq,iqp->ip", samples[rows], _summed(second, moved, extended))
                sums += np.einsum("iq,iqp->ip", moved[rows], squares)
                if not member.of_products:
                    own = np.einsum("ij,ij->i", samples, moved)[:, None]
                    sums = 2.0 * (own[rows] * plain + second @ (own * extended) - sums)
                result += self._pulled(member, rows, first @ _with_ones(moved), moved)
                result += self._pulled(member, rows, sums, samples)
        return results

    def _pulled(self, member: Member, rows: slice, sums: Array, samples: Array) -> Array:
        """Return what pairs of these rows with weights a_ij add: 2 a_ij x_i y_j', or 4 a_ij x_i (y_i - y_j)'.

        ``sums`` are those of a_ij y_j over j, and of a_ij in the last column.
        """
        left, totals = self.features[rows].T, sums[:, -1:]
        if member.of_products:
            return np.asarray(2.0 * left @ sums[:, :-1])
        return np.asarray(4.0 * left @ (totals * samples[rows] - sums[:, :-1]))

    def _blocks(self, projection: Array) -> Iterator[tuple[slice, Member, Array, tuple[Array, Array, Array]]]:
        """Yield rows, a member, its weight times Gamma, and f, f', f'' of these rows against all."""
        samples = self.features @ projection
        step = max(1, _ENTRIES // len(samples))
        for begin in range(0, len(samples), step):
            rows = slice(begin, min(begin + step, len(samples)))
            gamma = (self.factor[rows] * self.weights) @ self.factor.T
            gamma[np.arange(rows.stop - begin), np.arange(begin, rows.stop)] = 0.0
            for member in self.members:
                beta = member.beta(samples[rows], samples)
                yield rows, member, member.weight * gamma, member.derivatives(beta, rows)


def _with_ones(samples: Array) -> Array:
    return np.column_stack([samples, np.ones(len(samples))])


def _summed(weights: Array, samples: Array, others: Array) -> Array:
    """Return the sums over j of a_ij y_j z_j', m x q x p, for weights a (m x n), y in ``samples``, z in ``others``."""
    products = np.einsum("jq,jp->jqp", samples, others)
    return np.asarray((weights @ products.reshape(len(samples), -1)).reshape(-1, *products.shape[1:]))


def stationarity(projection: Array, gradient: Array) -> float:
    """Return |(I - WW') G| / |G|."""
    return float(np.linalg.norm(gradient - projection @ (projection.T @ gradient)) / np.linalg.norm(gradient))
