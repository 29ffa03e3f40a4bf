"""The part of a formed Hessian in which the kernel curves, for sums over pairs of samples; on any device."""

from __future__ import annotations

from collections.abc import Callable

from kdrbench.arrays import namespace_of
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
    xp = namespace_of(left)
    n_samples, m = left.shape
    parts = []
    # One a at a time: no array is larger than those of the products with C.
    for a in range(q):
        weighed = xp.reshape(left[:, :, None] * middle[:, None, a * q : (a + 1) * q], (n_samples, m * q))
        parts.append(xp.permute_dims(xp.reshape(weighed.T @ right, (m, q, m)), (0, 2, 1)))
    form: FloatArray = xp.stack(parts, axis=1)
    return form
