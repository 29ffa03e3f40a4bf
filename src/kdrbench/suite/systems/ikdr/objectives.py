"""Objectives at W written out once more, without kdrbench's evaluators: kernels, cost, gradient and curvature.

    supervised    F(W) = sum_ij Gamma_ij K_ij,   Gamma = H Y Y' H without its diagonal
    clustering    R(W) = sum_t mu_t Tr(Y_t' H N_t K N_t H Y_t),   Y_1 = U, mu_1 = 1, U the leading eigenvectors of
                  A = C N K N C,   N = D^-1/2 or I, C = H or I, and N_t is N where a term has degrees

K = sum_m weight_m f_m(beta) has a zero diagonal in R. With y = W'x, beta is y_i'y_j for kernels of products, and
|y_i - y_j|^2 for kernels of distances. The eigenvectors follow W by first-order perturbation: u_i moves by
sum_j q_j (q_j' dA u_i) / (lambda_i - lambda_j) over all other eigenvectors q_j.

Source: NeurIPS 2019, Definition 1, Eq. 2, Table 1 and Theorem 1; Wu et al., AISTATS 2018, Eq. 4; Cortes, Mohri,
Rostamizadeh, JMLR 13, 2012, for weights by alignment; Magnus, "On differentiating eigenvalues and eigenvectors", 1985;
Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from kdrbench.errors import InputError

Array = NDArray[np.float64]
# f, f' and f'' of beta between some rows and all samples.
Derivatives = Callable[[Array, slice], tuple[Array, Array, Array]]
# Entries of a block of rows against all samples: a few such arrays fit a cache.
_ENTRIES = 2**18
_EPS = np.finfo(float).eps
# Dimensions of the tangent space up to which a Hessian is formed, and those up to which runs have an eigengap.
_DIRECTIONS_OF_HESSIANS, _DIRECTIONS_OF_GAPS = 60, 400


@dataclass(frozen=True)
class Member:
    """One kernel of a sum: its weight, whether it is one of products, and f, f', f'' as functions of beta."""

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
    members = [_member(member, features, n_components) for member in definition["members"]]
    if definition.get("weights", "given") == "alignment":
        weights = _aligned(members, features, labels)
    else:
        weights = [float(member.get("weight", 1.0)) for member in definition["members"]]
    return [replace(member, weight=weight) for member, weight in zip(members, weights, strict=True)]


def _member(definition: Mapping[str, Any], features: Array, n_components: int) -> Member:
    family, offset = definition["family"], float(definition.get("offset", 1.0))
    if family == "linear":
        return Member(1.0, True, lambda beta, _: (beta, np.ones_like(beta), np.zeros_like(beta)))
    if family == "squared":
        return Member(1.0, False, lambda beta, _: (-beta, -np.ones_like(beta), np.zeros_like(beta)))
    if family == "multiquadric":
        return Member(1.0, False, lambda beta, _: _multiquadric(np.sqrt(beta + offset**2)))
    if family == "polynomial":
        scale, degree = definition.get("scale", "1/q"), int(definition.get("degree", 3))
        slope = 1.0 / n_components if scale == "1/q" else float(scale)
        return Member(1.0, True, lambda beta, _: _polynomial(offset + slope * beta, degree, slope))
    if family == "gaussian":
        sigma = _bandwidth(definition.get("sigma", "median"), features)
        return Member(1.0, False, lambda beta, _: _gaussian(beta, 0.5 / sigma**2))
    if family == "rbf_relative":
        nearest = np.sort(cdist(features, features), axis=1)[:, int(definition.get("neighbour", 7))]
        return Member(1.0, False, lambda beta, rows: _gaussian(beta, 0.5 / np.outer(nearest[rows], nearest)))
    raise InputError(f"the kernel family {family!r} is not among those that are verified")


def _multiquadric(root: Array) -> tuple[Array, Array, Array]:
    return -root, -0.5 / root, 0.25 / root**3


def _polynomial(base: Array, degree: int, slope: float) -> tuple[Array, Array, Array]:
    power = np.asarray(base ** (degree - 1))
    return power * base, degree * slope * power, degree * (degree - 1) * slope**2 * base ** max(degree - 2, 0)


def _gaussian(beta: Array, rate: float | Array) -> tuple[Array, Array, Array]:
    value = np.exp(-beta * rate)
    return value, -rate * value, rate**2 * value


def _bandwidth(sigma: Any, features: Array) -> float:
    if not isinstance(sigma, str):
        return float(sigma)
    words = [word for word in sigma.split() if word != "exact"]
    if words[-1] != "median" or len(words) > 2:
        raise InputError(f"the bandwidth {sigma!r} is not among those that are verified")
    return float(words[0] if len(words) == 2 else 1.0) * median_distance(features)


def median_distance(features: Array) -> float:
    """Return the median of all n x n distances between rows, the n zeros of rows to themselves included."""
    n = len(features)
    squares, norms, end = np.empty(n * (n - 1) // 2), np.einsum("ij,ij->i", features, features), 0
    for begin in range(0, n, 512):
        rows = features[begin : begin + 512]
        block = norms[begin : begin + 512, None] + norms - 2.0 * rows @ features.T
        later = block[np.arange(n) > np.arange(begin, begin + len(rows))[:, None]]
        squares[end : end + len(later)], end = later, end + len(later)
    # Among the n^2 distances in order, n zeros come first, then each pair twice.
    ranks = [(rank - n) // 2 for rank in ((n * n - 1) // 2, n * n // 2)]
    squares.partition(ranks)
    return float(np.sqrt(np.maximum(squares[ranks], 0.0)).mean())


def _aligned(members: list[Member], features: Array, labels: Any) -> list[float]:
    """Return weights of sum one that maximise centred alignment with the labels, by non-negative least squares."""
    target, everything = one_hot(labels), slice(0, len(features))
    kernels = [centred(member.derivatives(member.beta(features, features), everything)[0]) for member in members]
    norms = np.array([np.linalg.norm(kernel) for kernel in kernels])
    columns = np.array([kernel.ravel() for kernel in kernels]).T / norms
    weights = nnls(columns, centred(target @ target.T).ravel())[0] / norms
    return [float(weight) for weight in weights / weights.sum()]


def one_hot(labels: Any) -> Array:
    """Return a column for each different label, 1 for its samples and 0 for others."""
    return np.asarray(np.asarray(labels)[:, None] == np.unique(labels), dtype=float)


def centred(values: Array) -> Array:
    """Return H V H for an n x n array V and H = I - 11'/n."""
    return np.asarray(values - values.mean(axis=0) - values.mean(axis=1)[:, None] + values.mean())


@dataclass(frozen=True)
class Pairs:
    """F over all pairs of samples X (n x d); ``gamma`` returns rows of Gamma, of which the diagonal is left out."""

    features: Array
    members: Sequence[Member]
    gamma: Callable[[slice], Array]

    @classmethod
    def of_labels(cls, features: Array, members: Sequence[Member], labels: NDArray[np.int64]) -> Pairs:
        """Return those of Gamma = H Y Y' H, Y the one-hot columns of ``labels``."""
        columns = one_hot(labels)
        columns -= columns.mean(axis=0)
        return cls(features, members, lambda rows: columns[rows] @ columns.T)

    def first_order(self, projection: Array) -> tuple[float, Array]:
        """Return -F and dF/dW (d x q) at W."""
        total, gradient, samples = 0.0, np.zeros_like(projection), self.features @ projection
        for rows, member, gamma, (value, slope, _) in self._blocks(samples):
            total += float((gamma * value).sum())
            gradient += self._pulled(member, rows, (gamma * slope) @ _with_ones(samples), samples)
        return -total, gradient

    def surrogate(self, projection: Array) -> Array:
        """Return P, d x d and symmetric, with dF/dW = 2 P W."""
        result = np.zeros((self.features.shape[1],) * 2)
        for rows, member, gamma, (_, slope, _) in self._blocks(self.features @ projection):
            weights, left = gamma * slope, self.features[rows].T
            across = left @ (weights @ self.features)
            result += across if member.of_products else 2.0 * ((left * weights.sum(axis=1)) @ left.T - across)
        return 0.5 * (result + result.T)

    def hessian(self, projection: Array, basis: Array) -> Array:
        """Return the second derivatives of F at W along B_a e_b', mq x mq, b fastest; B (d x m) is ``basis``.

        With u = B'x the derivative of beta is u_ia y_jb + y_ib u_ja for products, and 2 (u_ia - u_ja) (y_ib - y_jb) for
        distances. Products of two derivatives are multiplied out, so that all sums over pairs are products of matrices.
        """
        samples, along = self.features @ projection, self.features @ basis
        both, squares = _row_products(along, samples), _row_products(samples, samples)
        (m, q), result = (basis.shape[1], projection.shape[1]), np.zeros((both.shape[1],) * 2)
        for rows, member, gamma, (_, slope, bend) in self._blocks(samples):
            slopes, bends, y, u, v = gamma * slope, gamma * bend, samples[rows], along[rows], both[rows]
            sums, of_slopes = bends @ both, u.T @ (slopes @ along)
            bent = np.einsum("ia,ic,ibd->abcd", u, u, (bends @ squares).reshape(-1, q, q), optimize=True)
            bent += (v.T @ sums).reshape(m, q, m, q).transpose(2, 1, 0, 3)
            hessian = bent.reshape(result.shape)
            if not member.of_products:
                mixed = _row_products(bends @ along, y) + _row_products(u, bends @ samples)
                hessian = 4.0 * (hessian + v.T @ (bends.sum(axis=1)[:, None] * v + sums - 2.0 * mixed))
                of_slopes = 2.0 * (u.T @ (slopes.sum(axis=1)[:, None] * u) - of_slopes)
            result += 2.0 * (hessian + np.kron(of_slopes, np.eye(q)))
        return 0.5 * (result + result.T)

    def _pulled(self, member: Member, rows: slice, sums: Array, samples: Array) -> Array:
        """Return 2 a_ij x_i y_j' or 4 a_ij x_i (y_i - y_j)', summed; ``sums`` are of a_ij y_j over j, and of a_ij."""
        left = self.features[rows].T
        if member.of_products:
            return np.asarray(2.0 * left @ sums[:, :-1])
        return np.asarray(4.0 * left @ (sums[:, -1:] * samples[rows] - sums[:, :-1]))

    def _blocks(self, samples: Array) -> Iterator[tuple[slice, Member, Array, tuple[Array, Array, Array]]]:
        """Yield rows, a member, its weight times Gamma, and f, f', f'' of these rows against all projected samples."""
        step = max(1, _ENTRIES // len(samples))
        for begin in range(0, len(samples), step):
            rows = slice(begin, min(begin + step, len(samples)))
            gamma = self.gamma(rows)
            gamma[np.arange(rows.stop - begin), np.arange(begin, rows.stop)] = 0.0
            for member in self.members:
                beta = member.beta(samples[rows], samples)
                yield rows, member, member.weight * gamma, member.derivatives(beta, rows)


def _row_products(first: Array, second: Array) -> Array:
    """Return by row all products of a column of the first with one of the second, those of its first column first."""
    return (first[:, :, None] * second[:, None]).reshape(len(first), -1)


def _with_ones(samples: Array) -> Array:
    return np.column_stack([samples, np.ones(len(samples))])


def stationarity(projection: Array, gradient: Array) -> float:
    """Return |(I - WW') G| / |G|."""
    return float(np.linalg.norm(gradient - projection @ (projection.T @ gradient)) / np.linalg.norm(gradient))


def second_order(pairs: Pairs, projection: Array) -> dict[str, float]:
    """Return ``curvature``, ``eigengap`` and ``eigengap_needed`` at W, relative to the largest |eigenvalue| of W'G.

    Curvature is the smallest eigenvalue of the Riemannian Hessian of -F. The eigengap is the smallest eigenvalue of
    2 W'PW less the largest of 2 P outside W, where dF/dW = 2 P W, and ``eigengap_needed`` the largest <Z, 2 dP[Z] W>
    over unit tangents Z. Directions are those of the rows of X, outside of which F does not change. Of tangent spaces
    of more than 400 dimensions nothing is returned; where more than 60 are in those directions, the eigengap alone.
    """
    d, q = projection.shape
    if (d - q) * q > _DIRECTIONS_OF_GAPS or not (complement := _complement(pairs, projection)).size:
        return {}
    n_outer = complement.shape[1]
    surrogate = pairs.surrogate(projection)
    inner, outer = (2.0 * space.T @ surrogate @ space for space in (projection, complement))
    scale = float(np.abs(np.linalg.eigvalsh(inner)).max())
    largest = float(np.linalg.eigvalsh(outer)[-1])
    if n_outer < d - q and len(pairs.features) >= d:
        # Along features that do not vary P is zero.
        largest = max(largest, 0.0)
    found = {"eigengap": (float(np.linalg.eigvalsh(inner)[0]) - largest) / scale}
    if n_outer * q > _DIRECTIONS_OF_HESSIANS:
        return found
    bends = pairs.hessian(projection, complement)
    # H[Z] is Z W'G less 2 dP[Z] W and 2 P Z, as far as they are outside W.
    hessian = np.kron(np.eye(n_outer), inner) - bends
    turns = bends - np.kron(outer, np.eye(q))
    return found | {
        "curvature": float(np.linalg.eigvalsh(hessian)[0]) / scale,
        "eigengap_needed": float(np.linalg.eigvalsh(turns)[-1]) / scale,
    }


def _complement(pairs: Pairs, projection: Array) -> Array:
    _, sizes, directions = np.linalg.svd(pairs.features, full_matrices=False)
    kept = directions[sizes > sizes[0] * max(pairs.features.shape) * _EPS].T
    if np.linalg.norm(projection - kept @ (kept.T @ projection)) > np.sqrt(_EPS):
        kept = np.eye(len(projection))
    outer = kept - projection @ (projection.T @ kept)
    return np.asarray(np.linalg.svd(outer, full_matrices=False).U[:, : kept.shape[1] - projection.shape[1]])


@dataclass(frozen=True)
class Clustering:
    """What a clustering maximises: R of samples (n x d), kernels, k clusters, and the terms of what is known.

    ``degrees`` is "none", "embedding" or "both", ``known`` holds mu and Y (n x c) of each term and whether degrees
    scale it, and ``is_centred`` says whether C is H.
    """

    features: Array
    members: Sequence[Member]
    n_clusters: int
    degrees: str
    is_centred: bool
    known: Sequence[tuple[float, Array, bool]] = ()

    def first_order(self, projection: Array, *, uses_degrees: bool) -> tuple[float, Array]:
        """Return -R and dR/dW (d x q) at W, by n x n arrays."""
        kernel = self._kernel(self.features @ projection)
        sums, k = kernel.sum(axis=1), self.n_clusters
        scaled = uses_degrees and self.degrees != "none" and bool((sums > 0).all())
        scaling = sums**-0.5 if scaled else np.ones(len(sums))
        held = scaling if self.degrees == "both" else np.ones(len(sums))
        affinity = _both_sides(kernel, scaling, self.is_centred)
        values, vectors = np.linalg.eigh(0.5 * (affinity + affinity.T))
        values, vectors = values[::-1], vectors[:, ::-1]
        embedding, rest = vectors[:, :k], vectors[:, k:]
        with_degrees, without = (self._products(embedding, degrees=word) for word in (True, False))
        gamma = held[:, None] * with_degrees * held + without
        cost = -float((gamma * kernel).sum())
        target = _both_sides(kernel, held, True) @ embedding
        turn = rest @ ((rest.T @ target) / (values[:k] - values[k:, None]))
        moved = embedding @ turn.T + turn @ embedding.T
        moved = centred(moved) if self.is_centred else moved
        gamma = gamma + scaling[:, None] * moved * scaling
        if scaled:
            slope = 2.0 * np.einsum("ij,ij->i", kernel * scaling, moved)
            if self.degrees == "both":
                slope += 2.0 * np.einsum("ij,ij->i", kernel * held, with_degrees)
            by_degree = -0.5 * scaling**3 * slope
            gamma = gamma + 0.5 * (by_degree[:, None] + by_degree)
        gamma = 0.5 * (gamma + gamma.T)
        return cost, Pairs(self.features, self.members, gamma.__getitem__).first_order(projection)[1]

    def _kernel(self, samples: Array) -> Array:
        everything, kernel = slice(0, len(samples)), np.zeros((len(samples),) * 2)
        for member in self.members:
            kernel += member.weight * member.derivatives(member.beta(samples, samples), everything)[0]
        np.fill_diagonal(kernel, 0.0)
        return kernel

    def _products(self, embedding: Array, *, degrees: bool) -> Array:
        """Return the sum of mu H Y Y' H over the terms with degrees, or over those without."""
        result = np.zeros((len(embedding),) * 2)
        for weight, factor, with_degrees in ((1.0, embedding, True), *self.known):
            if with_degrees is degrees:
                deviations = factor - factor.mean(axis=0)
                result += weight * deviations @ deviations.T
        return result


def _both_sides(kernel: Array, scaling: Array, is_centred: bool) -> Array:
    affinity = scaling[:, None] * kernel * scaling
    return centred(affinity) if is_centred else affinity
