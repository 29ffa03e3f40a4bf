"""The part of a formed Hessian in which the kernel curves, for evaluators that sum over pairs of samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdrbench.kernels import Pairing
from kdrbench.kernels.family import FloatArray


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
    if pairing is Pairing.DIFFERENCE:
        # Differences do not see the mean, and products of centred columns cancel least.
        moved, samples = moved - moved.mean(axis=0), samples - samples.mean(axis=0)
    n_samples, m = moved.shape
    q = samples.shape[1]
    crossed = (moved[:, :, None] * samples[:, None, :]).reshape(n_samples, m * q)
    squares = (samples[:, :, None] * samples[:, None, :]).reshape(n_samples, q * q)
    if pairing is Pairing.DOT:
        through = weighted(np.hstack([crossed, squares]))
        mixed, on_pairs = _mixed(crossed, through, m, q), through[:, m * q :]
        return 2.0 * (mixed.transpose(0, 3, 2, 1) + _contracted(moved, on_pairs, moved, q))
    through = weighted(np.hstack([crossed, squares, samples, moved, np.ones((n_samples, 1))]))
    widths = np.cumsum([m * q, q * q, q, m])
    _, on_pairs, through_samples, through_moved, degrees = np.split(through, widths, axis=1)
    mixed = _mixed(crossed, through, m, q)
    turned = (samples[:, :, None] * through_samples[:, None, :]).reshape(n_samples, q * q)
    on_pairs = on_pairs + degrees * squares - turned
    on_pairs -= turned.reshape(n_samples, q, q).transpose(0, 2, 1).reshape(n_samples, q * q)
    once = _contracted(moved, squares, through_moved, q)
    form = _contracted(moved, on_pairs, moved, q) - once - once.transpose(2, 1, 0, 3)
    return 8.0 * (form + mixed + mixed.transpose(0, 3, 2, 1))


def _mixed(crossed: FloatArray, through: FloatArray, m: int, q: int) -> FloatArray:
    """Return (V_u P_a)' C (V_v P_b) as an array [u, a, v, b]."""
    return (crossed.T @ through[:, : m * q]).reshape(m, q, m, q)


def _contracted(left: FloatArray, middle: FloatArray, right: FloatArray, q: int) -> FloatArray:
    """Return sum_i left_iu middle_i,ab right_iv as an array [u, a, v, b]; ``middle`` is symmetric in a and b."""
    n_samples, m = left.shape
    result = np.empty((m, q, m, q))
    # One a at a time: no array is larger than those of the products with C.
    for a in range(q):
        weighed = (left[:, :, None] * middle[:, None, a * q : (a + 1) * q]).reshape(n_samples, m * q)
        result[:, a] = (weighed.T @ right).reshape(m, q, m).transpose(0, 2, 1)
    return result
