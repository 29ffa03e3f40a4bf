"""A factor of a kernel matrix, of bounded rank, by Cholesky with blocks of random pivots.

For a positive semi-definite K, B (n x m) with K - BB' positive semi-definite; pivots are drawn with probabilities
proportional to the diagonal of what is left, a block of them at a time, so that the work is in matrix products.
Negative distances are positive semi-definite only against vectors of sum zero. There, with o the mean of the samples,

    K = K~ + a 1' + 1 a' - c,   K~(x, y) = K(x, y) - K(x, o) - K(o, y) + K(o, o),   a_i = K(x_i, o),  c = K(o, o)

and K~, which is positive semi-definite, is factored.

Source: Chen, Epperly, Tropp, Webber, "Randomly pivoted Cholesky", Communications on Pure and Applied Mathematics 78,
2025 (its block form, and the shift of its blocks); Schoenberg, "Metric spaces and positive definite functions", 1938,
for K~.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.combination import Combination, kernel_values, terms_of
from kdrbench.kernels.family import FloatArray, Gaussian, Kernel, Linear, Multiquadric, Pairing, Polynomial, Squared

# Pivots a block: enough for matrix products to pay, few enough not to draw two where one would do.
_BLOCK = 32
# Directions of a block below this share of the diagonal are rounding.
_ROUNDING = 1e-12
_CONDITIONAL = (Multiquadric, Squared)
_FACTORED = (Gaussian, Linear, Polynomial, *_CONDITIONAL)

Rows = Callable[[NDArray[np.intp]], FloatArray]


def bounded_factor(
    kernel: Kernel | Combination, samples: FloatArray, tolerance: float, rank: int, *, always: bool = False
) -> tuple[FloatArray, FloatArray] | None:
    """Return L and R (both n x m) with LR' near K of ``samples`` (n x q), symmetric.

    It ends when the trace of what is left is at most ``tolerance`` times that of K (of K~ for distances), or at
    ``rank`` columns: with ``None`` then, unless ``always``. ``None`` also for kernels that are neither, or not finite.
    """
    terms = terms_of(kernel)
    if rank < 1 or not all(isinstance(term.kernel, _FACTORED) for term in terms):
        return None
    squares = np.einsum("ij,ij->i", samples, samples)
    diagonal = np.zeros(len(samples))
    for term in terms:
        diagonal += term.weight * term.kernel.value(squares if term.kernel.pairing is Pairing.DOT else 0.0 * squares)
    to_mean, of_mean = np.zeros(len(samples)), 0.0
    conditional = any(isinstance(term.kernel, _CONDITIONAL) for term in terms)
    if conditional:
        mean = samples.mean(axis=0, keepdims=True)
        to_mean, of_mean = kernel_values(terms, mean, samples)[0], float(kernel_values(terms, mean, mean)[0, 0])

    def rows(pivots: NDArray[np.intp]) -> FloatArray:
        values = kernel_values(terms, samples[pivots], samples)
        values -= to_mean[pivots, None]
        values -= to_mean - of_mean
        return values

    centred = diagonal - 2.0 * to_mean + of_mean
    factor = pivoted_cholesky(rows, centred, tolerance, rank)
    if factor is None or (factor.trace > tolerance * centred.sum() and not always):
        return None
    if not conditional:
        return factor.columns, factor.columns
    ones = np.ones((len(samples), 1))
    return (
        np.hstack([factor.columns, to_mean[:, None], ones]),
        np.hstack([factor.columns, ones, to_mean[:, None] - of_mean]),
    )


def centred_factor(kernel: Kernel, samples: FloatArray, tolerance: float) -> FloatArray | None:
    """Return B (n x m) with columns of sum zero and BB' near HKH for H = I - 11'/n; ``None`` for kernels of users.

    HKH - BB' is positive semi-definite, and its trace at most ``tolerance`` times that of K (of K~ for distances).
    """
    factors = bounded_factor(kernel, samples, tolerance, len(samples))
    if factors is None:
        return None
    # What distances have beside K~ is constant in rows or in columns.
    columns = factors[0][:, :-2] if isinstance(kernel, _CONDITIONAL) else factors[0]
    return np.asarray(columns - columns.mean(axis=0))


class Factor(NamedTuple):
    """B (n x m), the trace of K - BB', and the blocks of pivots it was made from."""

    columns: FloatArray
    trace: float
    pivots: tuple[NDArray[np.intp], ...]


def pivoted_cholesky(
    rows: Rows, diagonal: FloatArray, tolerance: float, max_rank: int, pivots: Sequence[NDArray[np.intp]] | None = None
) -> Factor | None:
    """Return B with BB' near the matrix K whose rows at given pivots ``rows`` makes, K - BB' positive semi-definite.

    It ends when the trace of K - BB' is at most ``tolerance`` times that of K, at ``max_rank`` columns, or where what
    is left is rounding; with given blocks of ``pivots``, after these. ``None`` where K is not finite.
    """
    if not np.isfinite(diagonal).all():
        return None
    if pivots is not None:
        # Those that were dropped where they were drawn may be needed here.
        max_rank = sum(len(block) for block in pivots)
    rng = np.random.default_rng(0)
    residual = np.maximum(diagonal, 0.0)
    enough, least = tolerance * residual.sum(), _ROUNDING * residual.max()
    factor = np.empty((min(max_rank, 2 * _BLOCK), len(diagonal)))
    used: list[NDArray[np.intp]] = []
    rank = 0
    while rank < max_rank and (residual.sum() > enough if pivots is None else len(used) < len(pivots)):
        if pivots is None:
            chances = residual / residual.sum()
            used.append(np.unique(rng.choice(len(diagonal), size=min(_BLOCK, max_rank - rank), p=chances)))
        else:
            used.append(pivots[len(used)])
        block = rows(used[-1])
        if not np.isfinite(block).all():
            return None
        # Far from the origin, rounding keeps squared distances of samples to themselves from being zero.
        block[np.arange(len(used[-1])), used[-1]] = diagonal[used[-1]]
        block -= factor[:rank, used[-1]].T @ factor[:rank]
        core = block[:, used[-1]]
        values, vectors = np.linalg.eigh(0.5 * (core + core.T))
        kept = values > least
        if not kept.any():
            break
        if rank + kept.sum() > len(factor):
            factor = np.concatenate([factor, np.empty((min(len(factor), max_rank - len(factor)), len(diagonal)))])
        grown = factor[rank : rank + kept.sum()]
        # As much as rounding may have taken from the eigenvalues: without it BB' exceeds K by a multiple of 1 / values.
        shift = np.finfo(float).eps * diagonal[used[-1]].sum()
        np.matmul((vectors[:, kept] / np.sqrt(values[kept] + shift)).T, block, out=grown)
        residual = np.maximum(residual - np.einsum("ij,ij->j", grown, grown), 0.0)
        residual[used[-1]] = 0.0
        rank += int(kept.sum())
    return Factor(factor[:rank].T, float(residual.sum()), tuple(used))
