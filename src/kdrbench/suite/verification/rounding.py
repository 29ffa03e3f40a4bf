"""By how much numbers change where the projection W that they are computed from was rounded to float32.

Rounding to the nearest of 24 binary digits changes each entry by at most u |W_ij|, u = 2^-24. So with E the change,
e = |E| <= u |W|, in Frobenius norm, and to first order in u

    feasibility   |W'W - I| changes by at most 2 |W|_2 e + e^2
    cost          F changes by <G, E>, at most u sum_ij |G_ij W_ij|
    stationarity  |(I - WW') G| / |G| by at most 2 |W|_2 e + (1 + stationarity) L e / |G|
    curvature     c = l / s by at most (g + T + 3 L + |c| (g + L)) e / s

where G is the gradient at W and L the largest absolute eigenvalue of the Hessian DG of F: the projector changes by
EW' + WE', and the gradient by the Hessian along E. Terms of second order are u^2 q L / 2 in the cost: 1e-9 of it, which
is allowed anyway, up to L = 5e5 |F| / q. L comes from Lanczos steps on differences of gradients: the largest Ritz value
with its residual.

Curvature is the smallest eigenvalue l of H[Z] = Z W'G - P DG[Z], P = I - WW', over s, the largest |eigenvalue| of W'G.
With its unit eigenvector Z, moved to Z - W E'Z, which is orthogonal to W + E, the residual H[Z] - l Z becomes

    Z (E'G + W'DG[E]) - P D2G[Z, E] + P (E W' DG[Z] + DG[W E'Z]),

of norm at most (g + L + T + 2 L) e, with g = |G|_2 and T the largest absolute eigenvalue of E -> D2G[Z, E], by the same
steps on differences of DG[Z]. Within a residual's norm there is an eigenvalue: l, where it is simple. And s changes by
at most (g + L) e.

The classifier is fitted to other samples then. Each fit ends where its decision values are optimal to its tolerance, so
labels are certain only where no change of all decision values by twice that tolerance makes another class win.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 2.2; Parlett, "The Symmetric Eigenvalue
Problem", 1998, sections 4.5 and 13.2, for residuals and Ritz values.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from sklearn.svm import SVC

from kdrbench.suite.verification.members import Array
from kdrbench.suite.verification.pairs import Pairs

if TYPE_CHECKING:
    from kdrbench.suite.verification.second_order import Curvature

# Half the distance between neighbours in float32, as a share of the number.
UNIT = 2.0**-24
STEPS = 8
_EPS = np.finfo(float).eps
# What a gradient of nothing leaves to compare.
_TINY = np.finfo(float).tiny


def of_feasibility(projection: Array) -> float:
    """Return the bound for |W'W - I|."""
    change = UNIT * float(np.linalg.norm(projection))
    return 2.0 * float(np.linalg.norm(projection, 2)) * change + change**2


def of_cost(projection: Array, gradient: Array) -> float:
    """Return the bound for the cost."""
    return UNIT * float(np.abs(gradient * projection).sum())


def of_stationarity(projection: Array, gradient: Array, bent: float) -> float:
    """Return the bound for |(I - WW') G| / |G|; ``bent`` is the largest absolute eigenvalue of the Hessian."""
    size = max(float(np.linalg.norm(gradient)), _TINY)
    change = UNIT * float(np.linalg.norm(projection))
    stationarity = float(np.linalg.norm(gradient - projection @ (projection.T @ gradient))) / size
    turned = 2.0 * float(np.linalg.norm(projection, 2)) * change
    return turned + (1.0 + stationarity) * bent * change / size


def of_scale(projection: Array, value: float) -> float:
    """Return the part of the bound for a curvature of this ``value`` without derivatives of G; g is s at least."""
    return (1.0 + abs(value)) * UNIT * float(np.linalg.norm(projection))


def of_curvature(projection: Array, pairs: Pairs, least: Curvature, bent: float) -> float:
    """Return the bound for the smallest curvature; ``bent`` is the largest absolute eigenvalue of the Hessian."""

    def turned_at(at: Array) -> Array:
        return pairs.turned(at, [least.direction])[0]

    size, change = float(np.linalg.norm(pairs.gradient(projection), 2)), UNIT * float(np.linalg.norm(projection))
    third = largest_slope(projection, turned_at(projection), turned_at)
    return (size + third + 3.0 * bent + abs(least.value) * (size + bent)) * change / max(least.scale, _TINY)


def largest_slope(
    projection: Array, gradient: Array, gradient_at: Callable[[Array], Array], steps: int = STEPS
) -> float:
    """Return the largest absolute eigenvalue of the derivative of a gradient at W, as Lanczos steps see it.

    One step sees what the derivative does to a direction that is drawn, which is what it does to most.
    """
    step = np.sqrt(_EPS) * float(np.linalg.norm(projection))
    n_steps = min(steps, projection.size)
    start = np.random.default_rng(0).standard_normal(projection.shape)
    basis, heads, links = [start / np.linalg.norm(start)], [], []
    for _ in range(n_steps):
        image = (gradient_at(projection + step * basis[-1]) - gradient) / step
        heads.append(float((basis[-1] * image).sum()))
        for _ in range(2):
            for one in basis:
                image = image - one * float((one * image).sum())
        links.append(float(np.linalg.norm(image)))
        if links[-1] <= _EPS * max(map(abs, heads)):
            break
        basis.append(image / links[-1])
    matrix = np.diag(heads) + np.diag(links[: len(heads) - 1], 1) + np.diag(links[: len(heads) - 1], -1)
    values, vectors = np.linalg.eigh(matrix)
    return float((np.abs(values) + np.abs(links[len(heads) - 1] * vectors[-1])).max())


def share_in_doubt(classifier: SVC, samples: Array) -> float:
    """Return the share of samples whose label decision values within twice the tolerance could change."""
    decisions = classifier.decision_function(samples).reshape(len(samples), -1)
    if decisions.shape[1] == 1:
        return float(np.mean(np.abs(decisions[:, 0]) <= 2.0 * classifier.tol))
    n_classes = len(classifier.classes_)
    sure, possible = np.zeros((2, len(samples), n_classes))
    for decision, (first, second) in zip(decisions.T, combinations(range(n_classes), 2), strict=True):
        for winner, won in ((first, decision > 0), (second, decision <= 0)):
            certain = won & (np.abs(decision) > 2.0 * classifier.tol)
            sure[:, winner] += certain
            possible[:, winner] += certain | (np.abs(decision) <= 2.0 * classifier.tol)
    chosen = sure.argmax(axis=1)
    others = possible.copy()
    others[np.arange(len(samples)), chosen] = -1.0
    # Of classes with as many votes the first is chosen: a tie that is certain is none to doubt, but is rare.
    return float(np.mean(others.max(axis=1) >= sure[np.arange(len(samples)), chosen]))
