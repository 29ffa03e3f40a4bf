"""Gamma, the n x n matrix that weighs the kernel's entries, kept as factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray


@dataclass(frozen=True)
class FactoredGamma:
    """Gamma = U diag(weights) U', with its diagonal set to zero when ``zero_diagonal`` is true.

    ``factor`` is U, n x r; ``weights`` has length r. A zero diagonal is the papers' convention of dropping
    each sample's kernel value with itself; said once here, it holds for cost and surrogate of every solver.
    """

    factor: FloatArray
    weights: FloatArray
    zero_diagonal: bool = True

    @property
    def n_samples(self) -> int:
        """Number of rows and columns of Gamma."""
        return int(self.factor.shape[0])

    def dense(self) -> FloatArray:
        """Return Gamma as an n x n array."""
        gamma: FloatArray = (self.factor * self.weights) @ self.factor.T
        if self.zero_diagonal:
            np.fill_diagonal(gamma, 0.0)
        return gamma


def supervised_gamma(labels: ArrayLike, *, zero_diagonal: bool = True) -> FactoredGamma:
    """Return Gamma = H Y Y' H for one-hot labels Y and the centring matrix H = I - 11'/n.

    ``labels`` has one entry a sample. There is no factor 1/(n-1)^2 and no scaling of Y, as in the papers.

    Source: NeurIPS 2019, Eq. 2 (HSIC without its constant).

    Raises ``InputError`` when labels are not one-dimensional, hold NaN, or name fewer than two classes.
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise InputError(f"labels must be one-dimensional, one entry a sample; got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("labels must not be NaN or infinite; remove those samples or give them a class")
    classes, codes = np.unique(array, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"supervised learning needs at least 2 classes, got {len(classes)} class(es): {classes.tolist()}"
        )
    one_hot = np.zeros((array.size, len(classes)))
    one_hot[np.arange(array.size), codes] = 1.0
    return FactoredGamma(one_hot - one_hot.mean(axis=0), np.ones(len(classes)), zero_diagonal)
