"""The part of a formed Hessian in which the kernel curves: from sums over pairs, on any device, or over chunks.

T of :func:`curvature_form` takes n x (m q) arrays, which are little beside all pairs, or beside a factor of their
weights. For polynomials, whose monomials need not be held, :func:`hessian_by_chunks` needs no array of n rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdrbench.arrays import namespace_of
from kdrbench.evaluation.weights import GammaSums, Rows, rows_of
from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray
from kdrbench.samples.passes import Report, chunks, run_pass


def curvature_form(
    pairing: Pairing, weighted: Callable[[FloatArray], FloatArray], moved: FloatArray, samples: FloatArray
) -> FloatArray:
    """Return the part T of the Hessian that comes from f'', on all directions Z_ua = B_u e_a' at once: (m, q, m, q).

    ``weighted`` maps columns Q to C Q, C = Gamma * f''(beta); V = XB = ``moved`` (n x m), P = XW = ``samples`` (n x q):

        T[ua, vb] = sum_ij C_ij dbeta_ij[Z_ua] dbeta_ij[Z_vb],
        dbeta_ij[Z_ua] = V_iu P_ja + P_ia V_ju                       (dot)
                       = 2 (V_iu - V_ju) (P_ia - P_ja)               (difference).

    Multiplied out, every term is an inner product of elementwise products of columns of V and P with C times such
    products: m q + m + q^2 columns pass through C once, where one product with the Hessian for each direction would
    form an n x n array m q times.
    """
    xp = namespace_of(samples)
    if pairing is Pairing.DIFFERENCE:
        # Differences do not see the mean, and products of centred columns cancel least.
        moved, samples = moved - xp.mean(moved, axis=0), samples - xp.mean(samples, axis=0)
    n_samples, m = moved.shape
    q = samples.shape[1]
    crossed = xp.reshape(moved[:, :, None] * samples[:, None, :], (n_samples, m * q))
    squares = xp.reshape(samples[:, :, None] * samples[:, None, :], (n_samples, q * q))
    if pairing is Pairing.DOT:
        through = weighted(xp.concat([crossed, squares], axis=1))
        mixed, on_pairs = _mixed(crossed, through, m, q), through[:, m * q :]
        form: FloatArray = 2.0 * (xp.permute_dims(mixed, (0, 3, 2, 1)) + _contracted(moved, on_pairs, moved, q))
        return form
    through = weighted(xp.concat([crossed, squares, samples, moved, xp.ones_like(samples[:, :1])], axis=1))
    ends = [m * q, m * q + q * q, m * q + q * q + q, m * q + q * q + q + m]
    on_pairs, through_samples = through[:, ends[0] : ends[1]], through[:, ends[1] : ends[2]]
    through_moved, degrees = through[:, ends[2] : ends[3]], through[:, ends[3] :]
    mixed = _mixed(crossed, through, m, q)
    turned = samples[:, :, None] * through_samples[:, None, :]
    turned = turned + xp.permute_dims(turned, (0, 2, 1))
    on_pairs = on_pairs + degrees * squares - xp.reshape(turned, (n_samples, q * q))
    once = _contracted(moved, squares, through_moved, q)
    form = _contracted(moved, on_pairs, moved, q) - once - xp.permute_dims(once, (2, 1, 0, 3))
    form = 8.0 * (form + mixed + xp.permute_dims(mixed, (0, 3, 2, 1)))
    return form


def _mixed(crossed: FloatArray, through: FloatArray, m: int, q: int) -> FloatArray:
    """Return (V_u P_a)' C (V_v P_b) as an array [u, a, v, b]."""
    form: FloatArray = namespace_of(crossed).reshape(crossed.T @ through[:, : m * q], (m, q, m, q))
    return form


def _contracted(left: FloatArray, middle: FloatArray, right: FloatArray, q: int) -> FloatArray:
    """Return sum_i left_iu middle_i,ab right_iv as an array [u, a, v, b]; ``middle`` is symmetric in a and b."""
    xp, parts = namespace_of(left), {}
    # One pair at a time: no array is larger than V.
    for a in range(q):
        for b in range(a, q):
            parts[a, b] = parts[b, a] = (left * middle[:, a * q + b, None]).T @ right
    rows = [xp.stack([parts[a, b] for b in range(q)], axis=1) for a in range(q)]
    form: FloatArray = xp.permute_dims(xp.stack(rows, axis=1), (0, 1, 3, 2))
    return form


class FactoredWeights(NamedTuple):
    """The weights c (Gamma * BB') - diag(w) of pairs of samples, for B = ``features`` (n x m)."""

    factor: float
    features: Rows
    diagonal: FloatArray


def hessian_by_chunks(
    sums: GammaSums,
    slopes: FactoredWeights,
    curvatures: FactoredWeights | None,
    moved: Rows,
    samples: FloatArray,
    threads: int = 1,
    report: Report | None = None,
) -> FloatArray:
    """Return the Hessian on the directions B_u e_a', mq x mq, for kernels of dot products.

        H[ua, vb] = 2 [a = b] V_u' G V_v + T[ua, vb],
        T[ua, vb] = 2 (V_u P_b)' C (V_v P_a) + 2 sum_i V_iu V_iv (C P_a P_b)_i,

    with G = ``slopes``, C = ``curvatures`` (``None``: zero), V = ``moved`` and P = ``samples`` (n x q). What diag(w)
    takes away is the same in both terms of T. The products with C and with V are sums over chunks of samples, which
    are the size of a chunk times m q at most.
    """
    m, q = rows_of(moved, slice(0, 1)).shape[1], samples.shape[1]
    first, second = np.triu_indices(q)

    def crossed(rows: slice) -> FloatArray:
        return (rows_of(moved, rows)[:, :, None] * samples[rows][:, None, :]).reshape(-1, m * q)

    def products(rows: slice) -> FloatArray:
        return samples[rows][:, first] * samples[rows][:, second]

    form, through = np.zeros((m, q, m, q)), None
    if curvatures is not None:
        mixed = sums.quadratic(curvatures.features, crossed, report).reshape(m, q, m, q)
        form, through = 2.0 * curvatures.factor * mixed.transpose(0, 3, 2, 1), curvatures.features
        collected = curvatures.factor * sums.collected(through, products, report)

    def visit(total: FloatArray, rows: slice) -> None:
        here, entries = rows_of(moved, rows), -2.0 * slopes.diagonal[rows, None] * (first == second)
        if curvatures is not None and through is not None:
            entries += 2.0 * sums.spread_over(rows_of(through, rows), collected, rows)
            entries -= 4.0 * curvatures.diagonal[rows, None] * products(rows)
        for part, weights in zip(total, entries.T, strict=True):
            part += (here.T * weights) @ here

    parts = run_pass(chunks(len(samples)), threads, lambda: np.zeros((len(first), m, m)), visit, report)
    sloped = 2.0 * slopes.factor * sums.quadratic(slopes.features, moved, report)
    for a, b, part in zip(first, second, np.sum(parts, axis=0), strict=True):
        form[:, a, :, b] += part + sloped if a == b else part
        if a != b:
            form[:, b, :, a] += part
    flat = form.reshape(m * q, -1)
    return np.asarray(0.5 * (flat + flat.T))
