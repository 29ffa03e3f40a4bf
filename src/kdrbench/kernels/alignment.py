"""Weights of a conic combination of kernels from labels: centred kernel alignment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, Kernel, pairing_values


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
    centred = [_centred(kernel.value(pairing_values(kernel.pairing, features))) for kernel in kernels]
    norms = np.array([np.linalg.norm(matrix) for matrix in centred])
    if norms.min() == 0.0:
        raise InputError(f"kernel {int(norms.argmin())} of the combination is constant on these samples")
    # In units of each member's norm, so that members of unlike size are equally well conditioned.
    products = np.array([[np.vdot(first, second) for second in centred] for first in centred])
    products /= np.outer(norms, norms)
    alignments = np.array([float(np.vdot(target, matrix @ target)) for matrix in centred]) / norms
    values, vectors = np.linalg.eigh(products)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    weights, _ = nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ alignments) / root)
    if not weights.any():
        raise InputError("no member of the combination is aligned with the labels; give the weights as numbers")
    weights = weights / norms
    result: FloatArray = weights / weights.sum()
    return result


def _centred(matrix: FloatArray) -> FloatArray:
    result: FloatArray = matrix - matrix.mean(axis=0)
    result -= result.mean(axis=1)[:, None]
    return result
