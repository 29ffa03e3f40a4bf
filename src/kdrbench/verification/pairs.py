"""Cost, gradient and curvature of F(W) = sum_ij Gamma_ij K_ij by sums over all pairs of samples, written out.

Source: NeurIPS 2019, Eq. 2; Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.verification.members import Array, Member, one_hot

_ROWS = 512
_EPS = np.finfo(float).eps


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

    def cost(self, projection: Array) -> tuple[float, float]:
        """Return -F and the sum of |Gamma_ij K_ij|, which its rounding is a small part of."""
        total = size = 0.0
        for _, _, gamma, derivatives in self._blocks(projection):
            terms = gamma * derivatives[0]
            total, size = total + float(terms.sum()), size + float(np.abs(terms).sum())
        return -total, size

    def gradient(self, projection: Array) -> Array:
        """Return dF/dW, d x q."""
        result = np.zeros_like(projection)
        for rows, member, gamma, derivatives in self._blocks(projection):
            result += self._pulled(member, rows, gamma * derivatives[1], self.features @ projection)
        return result

    def turned(self, projection: Array, directions: Sequence[Array]) -> list[Array]:
        """Return the derivative of the gradient along each of the ``directions`` Z, d x q."""
        results = [np.zeros_like(projection) for _ in directions]
        samples = self.features @ projection
        every_moved = [self.features @ direction for direction in directions]
        for rows, member, gamma, derivatives in self._blocks(projection):
            first, second = gamma * derivatives[1], gamma * derivatives[2]
            for result, moved in zip(results, every_moved, strict=True):
                # d beta: y_i'z_j + z_i'y_j, or 2 (y_i - y_j)'(z_i - z_j).
                slope = samples[rows] @ moved.T + moved[rows] @ samples.T
                if not member.of_products:
                    own = 2.0 * np.einsum("ij,ij->i", samples, moved)
                    slope = own[rows][:, None] + own - 2.0 * slope
                result += self._pulled(member, rows, first, moved)
                result += self._pulled(member, rows, second * slope, samples)
        return results

    def _pulled(self, member: Member, rows: slice, weights: Array, samples: Array) -> Array:
        """Return what pairs of these rows with weights a_ij add: 2 a_ij x_i y_j', or 4 a_ij x_i (y_i - y_j)'."""
        left = self.features[rows].T
        if member.of_products:
            return np.asarray(2.0 * left @ (weights @ samples))
        return np.asarray(4.0 * left @ (weights.sum(axis=1)[:, None] * samples[rows] - weights @ samples))

    def _blocks(self, projection: Array) -> Iterator[tuple[slice, Member, Array, tuple[Array, Array, Array]]]:
        """Yield rows, a member, its weight times Gamma, and f, f', f'' of these rows against all."""
        samples = self.features @ projection
        for begin in range(0, len(samples), _ROWS):
            rows = slice(begin, min(begin + _ROWS, len(samples)))
            gamma = (self.factor[rows] * self.weights) @ self.factor.T
            gamma[np.arange(rows.stop - begin), np.arange(begin, rows.stop)] = 0.0
            for member in self.members:
                beta = member.beta(samples[rows], samples)
                yield rows, member, member.weight * gamma, member.derivatives(beta, rows)


def stationarity(projection: Array, gradient: Array) -> float:
    """Return |(I - WW') G| / |G|."""
    return float(np.linalg.norm(gradient - projection @ (projection.T @ gradient)) / np.linalg.norm(gradient))


def curvature(pairs: Pairs, projection: Array, most: int) -> float | None:
    """Return the smallest eigenvalue of the Riemannian Hessian of -F over the largest |eigenvalue| of W'G.

    Directions are those of the rows of X, outside of which F does not change. ``None`` where there are more than
    ``most`` of them, or none.
    """
    _, sizes, directions = np.linalg.svd(pairs.features, full_matrices=False)
    kept = directions[sizes > sizes[0] * max(pairs.features.shape) * _EPS].T
    if np.linalg.norm(projection - kept @ (kept.T @ projection)) > np.sqrt(_EPS):
        kept = np.eye(len(projection))
    outer = kept - projection @ (projection.T @ kept)
    complement = np.linalg.svd(outer, full_matrices=False).U[:, : kept.shape[1] - projection.shape[1]]
    n_outer, q = complement.shape[1], projection.shape[1]
    if not 0 < n_outer * q <= most:
        return None
    inner = projection.T @ pairs.gradient(projection)
    units = np.eye(n_outer * q).reshape(-1, n_outer, q)
    images = pairs.turned(projection, [complement @ unit for unit in units])
    hessian = np.array(
        [(unit @ inner - complement.T @ image).ravel() for unit, image in zip(units, images, strict=True)]
    )
    scale = float(np.abs(np.linalg.eigvalsh(0.5 * (inner + inner.T))).max())
    return float(np.linalg.eigvalsh(0.5 * (hessian + hessian.T))[0]) / scale
