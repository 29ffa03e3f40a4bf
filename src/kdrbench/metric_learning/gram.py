"""Kernel matrices between samples: what is shared between kernels, and the constant that centring removes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kdrbench.errors import InputError
from kdrbench.kernels.combination import Combination, terms_of
from kdrbench.kernels.family import FloatArray, Gaussian, Kernel, Pairing
from kdrbench.parameters import POSITIVE, check_value

# k(left, right) for rows of features (m x D, n x D): m x n.
KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]
AnyKernel = Kernel | Combination | KernelFunction
Rows = NDArray[np.intp]


def scaled_gaussian(sigma: float, n_features: int) -> Gaussian:
    """Return k(x, y) = exp(-|x - y|^2 / (2 D sigma^2)), D = ``n_features``, the kernel of Chatpatanasiri et al. 2010.

    Raises ``InputError`` unless sigma is a finite number > 0.
    """
    check_value("sigma", sigma, POSITIVE)
    return Gaussian(float(sigma) * float(np.sqrt(n_features)))


class SamplePairs:
    """All pairs of the rows of ``left`` (m x D) and ``right`` (n x D), their distances and products computed once.

    Kernels of any bandwidth or degree, and the folds of a cross validation, share them.
    """

    def __init__(self, left: FloatArray, right: FloatArray) -> None:
        self._left, self._right = left, right
        self._beta: dict[Pairing, FloatArray] = {}

    @property
    def n_features(self) -> int:
        """D."""
        return int(self._right.shape[1])

    def beta(self, pairing: Pairing) -> FloatArray:
        """Return what kernels of this pairing are functions of, m x n; not to be written to."""
        if pairing not in self._beta:
            if pairing is Pairing.DIFFERENCE:
                # From differences, not from products: a pair has the same distance in whatever array it is, and
                # far from zero no digits are lost, which wide Gaussians would need.
                self._beta[pairing] = cdist(self._left, self._right, "sqeuclidean")
            else:
                self._beta[pairing] = self._left @ self._right.T
        return self._beta[pairing]

    def subset(self, rows: Rows, columns: Rows) -> SamplePairs:
        """Return the pairs of some rows with some columns; what has been computed is taken over."""
        part = SamplePairs(self._left[rows], self._right[columns])
        part._beta = {pairing: beta[np.ix_(rows, columns)] for pairing, beta in self._beta.items()}
        return part

    def block(self, rows: slice, columns: slice) -> SamplePairs:
        """Return the pairs of some rows with some columns, nothing of them computed or kept here."""
        return SamplePairs(self._left[rows], self._right[columns])

    def gram(self, kernel: AnyKernel, *, up_to_constant: bool = False) -> FloatArray:
        """Return K_ij = k(left_i, right_j), m x n, or with ``up_to_constant`` one that centring makes equal to it.

        For Gaussians that is K - 1, from expm1: a wide one is 1 - 1e-6 or so everywhere, and subtracting the means of
        such a K would leave few digits of the samples' differences.

        Raises ``InputError`` for a function whose values are not a finite m x n array.
        """
        shape = (len(self._left), len(self._right))
        if callable(kernel):
            return _checked(kernel(self._left, self._right), shape)
        total: FloatArray = np.zeros(shape)
        for term in terms_of(kernel):
            beta = self.beta(term.kernel.pairing)
            if up_to_constant and isinstance(term.kernel, Gaussian):
                total += term.weight * np.expm1(beta * (-0.5 / term.kernel.sigma**2))
            else:
                total += term.weight * term.kernel.value(beta)
        return _checked(total, shape)


def _checked(values: object, shape: tuple[int, int]) -> FloatArray:
    gram = np.asarray(values)
    if gram.shape != shape or gram.dtype.kind not in "fiu" or not np.isfinite(gram).all():
        raise InputError(
            f"a kernel of {shape[0]} samples by {shape[1]} must be a finite real array of shape {shape}; got "
            f"{gram.dtype} of shape {gram.shape}" + ("" if gram.shape != shape else ": scale the features")
        )
    return gram.astype(np.float64, copy=False)
