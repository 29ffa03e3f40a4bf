"""What learned projections say, whatever rotation they come in.

W and WQ, Q orthogonal, are the same solution: only the space they span is learned. So features are weighed by
sqrt(diag(WW')), and projections compared by the principal angles between their spans.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.reports.records import Config

_SHOWN = "ism_converged"


def shown_solver(experiment: Config) -> str:
    """Return the solver whose projections are shown: converged ISM, or the first where the experiment lacks it."""
    solvers = list(experiment["solvers"])
    return _SHOWN if _SHOWN in solvers else str(solvers[0])


def feature_weights(projection: FloatArray) -> FloatArray:
    """Return sqrt(diag(WW')): the cosine between each feature's axis and the learned space, from 0 to 1."""
    return np.asarray(np.linalg.norm(projection, axis=1))


def principal_angles(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the principal angles between the spans of two projections, in degrees, ascending.

    There are as many as the smaller has columns. Small angles are taken from their sines, which cosines near one would
    lose.

    Source: Bjorck and Golub, "Numerical methods for computing angles between linear subspaces", 1973.
    """
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    overlap = first.T @ second
    cosines = np.clip(np.linalg.svd(overlap, compute_uv=False), 0.0, 1.0)
    sines = np.clip(np.sort(np.linalg.svd(second - first @ overlap, compute_uv=False)), 0.0, 1.0)
    return np.asarray(np.degrees(np.where(cosines**2 > 0.5, np.arcsin(sines), np.arccos(cosines))))


def angles_between(projections: list[FloatArray]) -> FloatArray:
    """Return the principal angles of each pair, pairs x q; q is the smallest where the projections' differ."""
    q = min(projection.shape[1] for projection in projections)
    return np.array([principal_angles(first, second)[:q] for first, second in combinations(projections, 2)])


def angles_of_chance(n_features: int, n_components: int, pairs: int = 100) -> FloatArray:
    """Return the median principal angles of random spaces of this size, always from the same draws."""
    rng = np.random.default_rng(0)
    drawn = [np.linalg.qr(rng.standard_normal((n_features, n_components)))[0] for _ in range(2 * pairs)]
    angles = [principal_angles(first, second) for first, second in zip(drawn[::2], drawn[1::2], strict=True)]
    return np.asarray(np.median(angles, axis=0))
