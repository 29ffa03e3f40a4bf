"""The objective of large margin nearest neighbours (LMNN), its gradient, and a lower bound of its optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.kernel_pca import RANK_TOLERANCE
from kdrbench.metric_learning.learner import laplacian, target_neighbours
from kdrbench.metric_learning.neighbours import IntArray, squared_distances
from kdrbench.parameters import COUNT, NOT_NEGATIVE, check_value

# Beyond this condition an eigenvalue by B has too few digits to prove anything.
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class LMNNObjective:
    """Distances to target neighbours, and violations of their margin by impostors.

        f(M) = sum_(i,j) d_ij + c sum_(i,j) sum_{l: y_l != y_i} h(1 + d_ij - d_il) + r tr M,   d_ij = |A'x_i - A'x_j|^2

    over pairs (i, j) of a sample and its target neighbours: ``targets`` (n x k; a row's missing ones are -1), with
    M = AA', h(s) = max(s, 0), c = ``push``, r = ``regularisation`` (tr M = |A|_F^2). With ``smoothing`` mu > 0, h is
    s^2 / (2 mu) up to s = mu and s - mu/2 from there on: at most mu/2 below, with a continuous derivative.

    f is convex in M. A square A reaches every M, so that a minimum over A is one over M.

    Source: Weinberger, Saul, "Distance metric learning for large margin nearest neighbor classification", JMLR 10,
    2009, weighted as in Chatpatanasiri et al. 2010.
    """

    features: FloatArray
    codes: IntArray
    targets: IntArray
    push: float = 1.0
    regularisation: float = 0.0
    smoothing: float = 0.0

    def value_and_gradient(self, projection: FloatArray) -> tuple[float, FloatArray]:
        """Return f at A = ``projection`` (D x d) and its (sub)gradient 2 X'SXA + 2rA."""
        value, weights, _ = self._weights(projection)
        gradient: FloatArray = 2.0 * self.features.T @ (laplacian(weights) @ (self.features @ projection))
        gradient += 2.0 * self.regularisation * projection
        return value, gradient

    def slope(self, projection: FloatArray) -> FloatArray:
        """Return the (sub)gradient of f by M at AA' (D x D); where A is optimal it is positive semidefinite."""
        return self._form(self._weights(projection)[1]) + self.regularisation * np.eye(self.features.shape[1])

    def lower_bound(self, projection: FloatArray) -> float:
        """Return a number that f without smoothing is nowhere below, near its minimum if A is near the optimum.

        f(M) >= <B, M> + sum_t a_t (1 + <C_t, M>) for all multipliers 0 <= a_t <= c of the triples t, where B is the
        part that is linear in M and C_t = x_ij x_ij' - x_il x_il'. So sum_t a_t is a bound if B + sum_t a_t C_t is
        positive semidefinite. Taken are the derivatives c h' at A, times the largest share in [0, 1] for which it is;
        zero, which f is never below, where B is singular.
        """
        _, weights, multipliers = self._weights(projection)
        basis = self._spanned()
        ridge = self.regularisation * np.eye(basis.shape[1])
        linear = basis.T @ self._form(self._pulls()) @ basis + ridge
        pushed = basis.T @ self._form(weights) @ basis + ridge - linear
        spectrum = eigh(linear, eigvals_only=True)
        if spectrum[0] <= _SINGULAR * spectrum[-1]:
            # Targets do not span what samples do, or so little that rounding might undo the proof.
            return 0.0
        # The share s keeps B + s P semidefinite as long as s times the smallest eigenvalue of P by B is >= -1.
        smallest = float(eigh(pushed, linear, eigvals_only=True, subset_by_index=[0, 0])[0])
        return multipliers * min(1.0, -1.0 / smallest) if smallest < 0.0 else multipliers

    def _spanned(self) -> FloatArray:
        """Return an orthonormal basis of the directions in which samples differ (D x r); f knows no others."""
        centred = self.features - self.features.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        basis: FloatArray = vectors[:, values > RANK_TOLERANCE * values[-1]]
        return basis

    def _weights(self, projection: FloatArray) -> tuple[float, FloatArray, float]:
        """Return f, its derivative by each distance d_ij (n x n), and the sum of all triples' c h'."""
        projected = self.features @ projection
        squared = squared_distances(projected, projected)
        weights, value, multipliers = self._pulls(), 0.0, 0.0
        others = self.codes[:, None] != self.codes
        for column in self.targets.T:
            rows = np.flatnonzero(column >= 0)
            distances = squared[rows, column[rows]]
            slack = np.where(others[rows], (1.0 + distances)[:, None] - squared[rows], 0.0)
            violation, derivative = self._hinge(slack)
            value += float(distances.sum()) + self.push * violation
            derivative *= self.push
            weights[rows] -= derivative
            per_row = derivative.sum(axis=1)
            weights[rows, column[rows]] += per_row
            multipliers += float(per_row.sum())
        return value + self.regularisation * float(np.square(projection).sum()), weights, multipliers

    def _hinge(self, slack: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of h and h' elementwise."""
        if self.smoothing == 0.0:
            return float(np.maximum(slack, 0.0).sum()), (slack > 0.0).astype(np.float64)
        derivative = np.clip(slack / self.smoothing, 0.0, 1.0)
        return float((derivative * (slack - 0.5 * self.smoothing * derivative)).sum()), derivative

    def _pulls(self) -> FloatArray:
        weights = np.zeros((len(self.features),) * 2)
        for column in self.targets.T:
            rows = np.flatnonzero(column >= 0)
            weights[rows, column[rows]] += 1.0
        return weights

    def _form(self, weights: FloatArray) -> FloatArray:
        form: FloatArray = self.features.T @ laplacian(weights) @ self.features
        return form


def lmnn_objective(
    features: FloatArray,
    codes: IntArray,
    n_neighbours: int,
    *,
    push: float = 1.0,
    regularisation: float = 0.0,
    squared: FloatArray | None = None,
) -> LMNNObjective:
    """Return the objective with each sample's nearest ``n_neighbours`` of its class as targets.

    They are nearest by ``squared`` (n x n) if given, otherwise by the Euclidean distances of ``features``.

    Raises ``InputError`` for options out of range and when no class has two samples.
    """
    check_value("n_neighbours", n_neighbours, COUNT)
    for name, option in (("push", push), ("regularisation", regularisation)):
        check_value(f"LMNN's {name}", option, NOT_NEGATIVE)
    distances = squared_distances(features, features) if squared is None else squared
    neighbours = target_neighbours(distances, codes, n_neighbours)
    targets: NDArray[np.intp] = np.full((len(features), max(map(len, neighbours))), -1, dtype=np.intp)
    for row, columns in enumerate(neighbours):
        targets[row, : len(columns)] = columns
    return LMNNObjective(features, codes, targets, push, regularisation)
