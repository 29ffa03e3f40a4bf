"""Kernels written out once more: f(beta), f'(beta) and f''(beta) of the members of a definition.

With y = W'x, beta is y_i'y_j for kernels of products, and |y_i - y_j|^2 for kernels of distances.

Source: NeurIPS 2019, Definition 1 and Table 1; Cortes, Mohri, Rostamizadeh, JMLR 13, 2012, for weights by alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from kdrbench.errors import InputError
from kdrbench.suite.verification.large import median_distance

Array = NDArray[np.float64]
# Of beta between some rows and all: the three functions.
Derivatives = Callable[[Array, slice], tuple[Array, Array, Array]]


@dataclass(frozen=True)
class Member:
    """One kernel of a sum: its weight, whether it is one of products, and f, f', f'' as a function of beta."""

    weight: float
    of_products: bool
    derivatives: Derivatives

    def beta(self, rows: Array, samples: Array) -> Array:
        """Return beta of projected ``rows`` (m x q) against all ``samples`` (n x q)."""
        return rows @ samples.T if self.of_products else cdist(rows, samples, "sqeuclidean")


def members_of(definition: Mapping[str, Any], features: Array, n_components: int, labels: Any = None) -> list[Member]:
    """Return the kernels of a definition on standardised training ``features`` (n x d); ``labels`` for alignment.

    Raises ``InputError`` for a family that is not written out here.
    """
    if definition["family"] != "combination":
        return [_member(definition, features, n_components)]
    members = [_member(one, features, n_components) for one in definition["members"]]
    if definition.get("weights", "given") == "alignment":
        weights = _aligned(members, features, labels)
    else:
        weights = [float(one.get("weight", 1.0)) for one in definition["members"]]
    return [replace(member, weight=weight) for member, weight in zip(members, weights, strict=True)]


def _member(definition: Mapping[str, Any], features: Array, n_components: int) -> Member:
    family = definition["family"]
    if family == "linear":
        return Member(1.0, True, lambda b, _: (b, np.ones_like(b), np.zeros_like(b)))
    if family == "squared":
        return Member(1.0, False, lambda b, _: (-b, -np.ones_like(b), np.zeros_like(b)))
    if family == "multiquadric":
        return _multiquadric(float(definition.get("offset", 1.0)))
    if family == "polynomial":
        scale = definition.get("scale", "1/q")
        slope = 1.0 / n_components if scale == "1/q" else float(scale)
        return _polynomial(int(definition.get("degree", 3)), float(definition.get("offset", 1.0)), slope)
    if family == "gaussian":
        sigma = _bandwidth(definition.get("sigma", "median"), features)
        return _gaussian(lambda rows: np.full((1, 1), sigma**2))
    if family == "rbf_relative":
        nearest = np.sort(cdist(features, features), axis=1)[:, int(definition.get("neighbour", 7))]
        return _gaussian(lambda rows: np.outer(nearest[rows], nearest))
    raise InputError(f"the kernel family {family!r} is not among those that are verified")


def _bandwidth(sigma: Any, features: Array) -> float:
    """Return sigma; ``median`` is that of all n x n distances, those of samples to themselves included."""
    if not isinstance(sigma, str):
        return float(sigma)
    words = [word for word in sigma.split() if word != "exact"]
    if words[-1] != "median" or len(words) > 2:
        raise InputError(f"the bandwidth {sigma!r} is not among those that are verified")
    return float(words[0] if len(words) == 2 else 1.0) * median_distance(features)


def _multiquadric(offset: float) -> Member:
    def derivatives(beta: Array, _: slice) -> tuple[Array, Array, Array]:
        root = np.sqrt(beta + offset**2)
        return -root, -0.5 / root, 0.25 / root**3

    return Member(1.0, False, derivatives)


def _polynomial(degree: int, offset: float, scale: float) -> Member:
    def derivatives(beta: Array, _: slice) -> tuple[Array, Array, Array]:
        base = offset + scale * beta
        powers = [np.ones_like(base)]
        for _step in range(degree):
            powers.append(powers[-1] * base)
        value, first = powers[-1], degree * scale * powers[max(0, degree - 1)]
        return value, first, degree * (degree - 1) * scale**2 * powers[max(0, degree - 2)]

    return Member(1.0, True, derivatives)


def _gaussian(squared_scale: Callable[[slice], Array]) -> Member:
    """Return exp(-beta / (2 s)) for s = sigma^2, or sigma_i sigma_j."""

    def derivatives(beta: Array, rows: slice) -> tuple[Array, Array, Array]:
        rate = 0.5 / squared_scale(rows)
        value = np.exp(-beta * rate)
        return value, -rate * value, rate**2 * value

    return Member(1.0, False, derivatives)


def _aligned(members: list[Member], features: Array, labels: Any) -> list[float]:
    """Return weights of sum one that maximise centred alignment with the labels, by non-negative least squares."""
    columns_of_labels = one_hot(labels)
    target = centred(columns_of_labels @ columns_of_labels.T)
    everything, columns, norms = slice(0, len(features)), [], []
    for member in members:
        values = centred(member.derivatives(member.beta(features, features), everything)[0])
        norms.append(float(np.linalg.norm(values)))
        columns.append(values.ravel() / norms[-1])
    weights = nnls(np.array(columns).T, target.ravel())[0] / np.array(norms)
    return [float(weight) for weight in weights / weights.sum()]


def one_hot(labels: Any) -> Array:
    """Return a column for each different label, 1 for its samples and 0 for others."""
    return np.asarray(np.asarray(labels)[:, None] == np.unique(labels), dtype=float)


def centred(values: Array) -> Array:
    """Return H V H for an n x n array V and H = I - 11'/n."""
    return np.asarray(values - values.mean(axis=0) - values.mean(axis=1)[:, None] + values.mean())
