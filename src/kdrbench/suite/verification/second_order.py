"""Curvature and eigengaps of F at W by a Hessian that is formed, and how near the recorded ones must be.

Source: NeurIPS 2019, Theorem 1; Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008,
chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kdrbench.suite.verification import rounding
from kdrbench.suite.verification.members import Array
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.pairs import Pairs

# The columns, which a row has together.
SECOND_ORDER = ("curvature", "eigengap", "eigengap_needed")
# Curvature at a point stationary to 1e-6 is known no better.
_CURVATURE = 1e-6
_EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Curvature:
    """The smallest curvature l / s at W: its ``value``, the ``scale`` s, and its unit ``direction`` Z, d x q.

    ``eigengap`` is the smallest eigenvalue of W'PW less the largest of P outside W, over s / 2, where dF/dW = 2 P W.
    ``eigengap_needed`` is the largest <Z, dP[Z] W> over unit tangents Z, on the same scale.
    """

    value: float
    scale: float
    direction: Array
    eigengap: float
    eigengap_needed: float


def curvature(pairs: Pairs, projection: Array, most: int) -> Curvature | None:
    """Return the smallest eigenvalue of the Riemannian Hessian of -F over the largest |eigenvalue| of W'G.

    Directions are those of the rows of X, outside of which F does not change. ``None`` where there are more than
    ``most`` of them, or none.
    """
    complement = _complement(pairs, projection)
    n_outer, q = complement.shape[1], projection.shape[1]
    if not 0 < n_outer * q <= most:
        return None
    surrogate = pairs.surrogate(projection)
    inner, outer = (2.0 * space.T @ surrogate @ space for space in (projection, complement))
    units = np.eye(n_outer * q).reshape(-1, n_outer, q)
    images = pairs.turned(projection, [complement @ unit for unit in units])
    hessian = np.array(
        [(unit @ inner - complement.T @ image).ravel() for unit, image in zip(units, images, strict=True)]
    )
    scale = _largest(inner)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # H[Z] is Z W'G less 2 dP[Z] W and 2 P Z, as far as they are outside W: this is 2 dP[Z] W.
    turns = np.kron(np.eye(n_outer), inner) - np.kron(outer, np.eye(q)) - hessian
    return Curvature(
        float(values[0]) / scale,
        scale,
        complement @ vectors[:, 0].reshape(n_outer, q),
        eigengap(pairs, projection, surrogate),
        float(np.linalg.eigvalsh(0.5 * (turns + turns.T))[-1]) / scale,
    )


def eigengap(pairs: Pairs, projection: Array, surrogate: Array | None = None) -> float:
    """Return the smallest eigenvalue of W'PW less the largest of P outside W, over the largest |eigenvalue| of W'PW.

    ``surrogate`` is P, where it is known.
    """
    surrogate = pairs.surrogate(projection) if surrogate is None else surrogate
    complement = _complement(pairs, projection)
    inner, outer = (space.T @ surrogate @ space for space in (projection, complement))
    largest = float(np.linalg.eigvalsh(outer)[-1])
    n, d = pairs.features.shape
    if complement.shape[1] < d - projection.shape[1] and n >= d:
        # Along features that do not vary P is zero.
        largest = max(largest, 0.0)
    return (float(np.linalg.eigvalsh(inner)[0]) - largest) / _largest(inner)


def _complement(pairs: Pairs, projection: Array) -> Array:
    """Return orthonormal directions of the rows of X that are orthogonal to W, d x m."""
    _, sizes, directions = np.linalg.svd(pairs.features, full_matrices=False)
    kept = directions[sizes > sizes[0] * max(pairs.features.shape) * _EPS].T
    if np.linalg.norm(projection - kept @ (kept.T @ projection)) > np.sqrt(_EPS):
        kept = np.eye(len(projection))
    outer = kept - projection @ (projection.T @ kept)
    return np.asarray(np.linalg.svd(outer, full_matrices=False).U[:, : kept.shape[1] - projection.shape[1]])


def _largest(symmetric: Array) -> float:
    return float(np.abs(np.linalg.eigvalsh(symmetric)).max())


def of_second_order(pairs: Pairs, projection: Array, least: Curvature, is_rounded: bool) -> dict[str, Number]:
    """Return curvature and eigengaps: eigenvalues of parts of one operator, whose change is bounded as a whole."""

    def wider(value: float) -> float:
        bent = rounding.largest_slope(projection, pairs.gradient(projection), pairs.gradient)
        return rounding.of_curvature(projection, pairs, replace(least, value=value), bent)

    values = {name: getattr(least, "value" if name == "curvature" else name) for name in SECOND_ORDER}
    return {name: number_of(value, projection, is_rounded, wider) for name, value in values.items()}


def number_of(
    value: float, projection: Array, is_rounded: bool, wider: Callable[[float], float] | None = None
) -> Number:
    """Return a number of second order with its bound; ``wider`` gives what rounding of the projection adds."""
    allowed = _CURVATURE * max(1.0, abs(value))
    if not is_rounded:
        return Number(value, allowed)
    more = None if wider is None else lambda: allowed + wider(value)
    return Number(value, allowed + rounding.of_scale(projection, value), more)
