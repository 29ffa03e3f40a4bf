"""Conic combinations of kernels, and their weights from labels by centred kernel alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import (
    FloatArray,
    Kernel,
    Linear,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Rows,
    Squared,
    pairing_block,
    restricted,
)

# Samples a block of pairs: a few of them stay in the cache.
_PANEL = 256


@dataclass(frozen=True)
class Term:
    """One kernel of a combination and its weight mu >= 0."""

    weight: float
    kernel: Kernel


@dataclass(frozen=True)
class Combination:
    """K = sum_i mu_i K_i with mu_i >= 0, at least one of them positive; members may differ in pairing.

    Its surrogate is the same combination of the members' surrogates, with their constant factors: with those
    dropped, as in the papers' Table 2, a fixed point is not stationary.

    Source: NeurIPS 2019, Proposition 1. Raises ``InputError`` for bad weights or no members.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        weights = [term.weight for term in self.terms]
        if not weights or not all(np.isfinite(weight) and weight >= 0 for weight in weights) or max(weights) == 0:
            raise InputError(f"a conic combination needs finite weights >= 0, one of them > 0; got {weights}")


def terms_of(kernel: Kernel | Combination) -> tuple[Term, ...]:
    """Return the members of positive weight; a single kernel is its own only member."""
    if isinstance(kernel, Combination):
        return tuple(term for term in kernel.terms if term.weight > 0)
    return (Term(1.0, kernel),)


def restricted_to(kernel: Kernel | Combination, samples: Rows) -> Kernel | Combination:
    """Return the kernel, or each member of a combination, for pairs of these of its samples."""
    if isinstance(kernel, Combination):
        return Combination(tuple(Term(term.weight, restricted(term.kernel, samples, samples)) for term in kernel.terms))
    return restricted(kernel, samples, samples)


def has_constant_slope(kernel: Kernel | Combination) -> bool:
    """Return whether f' is one number for all beta, by the kernel's family: linear, squared, or of degree 1."""
    return all(
        isinstance(term.kernel, Linear | Squared) or (isinstance(term.kernel, Polynomial) and term.kernel.degree == 1)
        for term in terms_of(kernel)
    )


def has_powers_of_products(kernel: Kernel | Combination) -> bool:
    """Return whether a member is a function of x_i'WW'x_j that is not linear: long samples then weigh most."""
    return any(term.kernel.pairing is Pairing.DOT and not has_constant_slope(term.kernel) for term in terms_of(kernel))


def is_of_differences(kernel: Kernel | Combination) -> bool:
    """Return whether each member is one function of x_i - x_j, the same for all pairs."""
    return all(
        term.kernel.pairing is Pairing.DIFFERENCE and not isinstance(term.kernel, RelativeGaussian)
        for term in terms_of(kernel)
    )


def gram_matrix(kernel: Kernel | Combination, samples: FloatArray) -> FloatArray:
    """Return K_ij = f(beta_ij) for all pairs of rows of ``samples`` (n x q), n x n and symmetric."""
    total = kernel_values(terms_of(kernel), samples, samples)
    return 0.5 * (total + total.T)


def kernel_values(terms: Sequence[Term], left: FloatArray, right: FloatArray) -> FloatArray:
    """Return K for the rows of ``left`` (m x q) against those of ``right`` (n x q), m x n."""
    total: FloatArray | None = None
    beta: dict[Pairing, FloatArray] = {}
    for term in terms:
        pairing = term.kernel.pairing
        if pairing not in beta:
            beta[pairing] = pairing_block(pairing, left, right)
        part = term.kernel.value(beta[pairing])
        if term.weight != 1.0:
            part *= term.weight
        total = part if total is None else total + part
    return np.zeros((len(left), len(right))) if total is None else total


def aligned_weights(kernels: Sequence[Kernel], features: FloatArray, target: FloatArray) -> FloatArray:
    """Return the weights mu >= 0, sum 1, whose combination K = sum_k mu_k K_k is most aligned with the target.

        max_mu  <HKH, TT'> / (|HKH| |TT'|)   over mu >= 0

    with the kernels taken on the unprojected ``features`` (n x d), <.,.> the Frobenius product, H = I - 11'/n and
    ``target`` T (n x r) the centred one-hot labels. Its solution is proportional to that of the quadratic program

        min_v  v'Mv - 2 v'a   over v >= 0,   M_kl = <H K_k H, H K_l H>,   a_k = <H K_k H, TT'>,

    a non-negative least squares problem. The weights are not unique where members are linearly dependent after
    centring; their combination is.

    Source: Cortes, Mohri, Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment", JMLR 13,
    2012, Proposition 9.

    Raises ``InputError`` without kernels, for a target of another length, when no member is positively aligned with
    the target, or a kernel is constant there.
    """
    from scipy.optimize import nnls

    if not kernels or len(target) != len(features):
        raise InputError(
            f"alignment needs at least one kernel and a target for each sample; got {len(kernels)} kernels, "
            f"{len(features)} samples, {len(target)} targets"
        )
    products, alignments = _centred_products(kernels, features, target)
    norms = np.sqrt(np.diagonal(products))
    if norms.min() == 0.0:
        raise InputError(f"kernel {int(norms.argmin())} of the combination is constant on these samples")
    # In units of each member's norm, so that members of unlike size are equally well conditioned.
    products, alignments = products / np.outer(norms, norms), alignments / norms
    values, vectors = np.linalg.eigh(products)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    weights, _ = nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ alignments) / root)
    if not weights.any():
        raise InputError("no member of the combination is aligned with the labels; give the weights as numbers")
    weights = weights / norms
    result: FloatArray = weights / weights.sum()
    return result


def _centred_products(
    kernels: Sequence[Kernel], features: FloatArray, target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return M and a of :func:`aligned_weights` from two passes over blocks of pairs: the means come first.

    A kernel that is constant but for rounding has zeros.
    """
    n_samples, number = len(features), len(kernels)
    sums, largest = np.zeros((number, n_samples)), np.zeros(number)
    for rows, columns, blocks in _blocks(kernels, features):
        for place, block in enumerate(blocks):
            sums[place, rows] += block.sum(axis=1)
            if columns != rows:
                sums[place, columns] += block.sum(axis=0)
            largest[place] = max(largest[place], np.abs(block).max())
    means = sums / n_samples
    means -= 0.5 * means.mean(axis=1)[:, None]
    products, alignments = np.zeros((number, number)), np.zeros(number)
    for rows, columns, blocks in _blocks(kernels, features):
        # A block off the diagonal is its transpose as well.
        times = 1.0 if columns == rows else 2.0
        for place, block in enumerate(blocks):
            block -= means[place, rows, None]
            block -= means[place, columns]
            alignments[place] += times * float(np.vdot(target[rows], block @ target[columns]))
            products[place, : place + 1] += [times * float(np.vdot(block, other)) for other in blocks[: place + 1]]
    constant = np.sqrt(np.diagonal(products)) <= 4.0 * np.finfo(float).eps * n_samples * largest
    products += np.tril(products, -1).T
    products[constant], products[:, constant] = 0.0, 0.0
    return products, alignments


def _blocks(kernels: Sequence[Kernel], features: FloatArray) -> Iterator[tuple[slice, slice, list[FloatArray]]]:
    """Yield rows and columns of the upper triangle of pairs, and the kernels there."""
    cuts = [slice(begin, min(begin + _PANEL, len(features))) for begin in range(0, len(features), _PANEL)]
    for number, rows in enumerate(cuts):
        for columns in cuts[number:]:
            left = features[rows]
            right = left if columns == rows else features[columns]
            beta = {pairing: pairing_block(pairing, left, right) for pairing in {one.pairing for one in kernels}}
            yield rows, columns, [restricted(kernel, rows, columns).value(beta[kernel.pairing]) for kernel in kernels]


def doubly_centred(matrix: FloatArray) -> FloatArray:
    """Return HMH for an n x n matrix M and H = I - 11'/n."""
    result: FloatArray = matrix - matrix.mean(axis=0)
    result -= result.mean(axis=1)[:, None]
    return result
