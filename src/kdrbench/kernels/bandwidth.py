"""Bandwidths of radial kernels, taken from data, and the Gaussians that have an estimate, or one for each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError, TooFewSamplesError
from kdrbench.kernels.family import FloatArray, Gaussian, Kernel, Pairing, check_finite

Samples = slice | NDArray[np.intp]


@dataclass(frozen=True)
class EstimatedGaussian(Gaussian):
    """A Gaussian whose sigma is an estimate with this standard error, a distance."""

    standard_error: float = 0.0


def neighbour_distances(features: FloatArray, neighbour: int = 7) -> FloatArray:
    """Return the distance of each row of ``features`` (n x d) to its ``neighbour``-th nearest other row.

    The bandwidth of each sample in local scaling; the papers leave it open.

    Source: Zelnik-Manor and Perona, "Self-tuning spectral clustering", NIPS 2004 (there too with the 7th neighbour).

    Raises ``InputError`` with fewer than ``neighbour`` + 1 samples, and when more than ``neighbour`` samples coincide.
    """
    from scipy.spatial import KDTree

    n_samples = features.shape[0]
    if n_samples <= neighbour:
        raise TooFewSamplesError(
            f"bandwidths from the {neighbour}-th nearest neighbour need more than {neighbour} samples, got {n_samples}"
        )
    distances: FloatArray = KDTree(features).query(features, k=[neighbour + 1])[0][:, 0]
    check_finite(float(distances.max()))
    if distances.min() == 0.0:
        raise InputError(
            f"sample {int(distances.argmin())} coincides with its {neighbour}-th nearest neighbour, so it has no "
            "bandwidth; remove repeated samples, choose a larger neighbour, or scale features whose squares underflow"
        )
    return distances


def neighbourhood_widths(features: FloatArray, neighbours: int = 49) -> FloatArray:
    """Return sigma_i (n entries): sigma_i^2 is the mean of d^2 over the nearest distinct samples with weights 1/d.

    Source: the default kernel of the code of Wu et al. (github.com/endsley/HSIC_for_ML).

    Raises ``TooFewSamplesError`` unless there are more than ``neighbours`` distinct samples.
    """
    from scipy.spatial import KDTree

    distinct = np.unique(features, axis=0)
    if len(distinct) <= neighbours:
        raise TooFewSamplesError(
            f"widths from the {neighbours} nearest neighbours need more distinct samples than that, got {len(distinct)}"
        )
    distances: FloatArray = KDTree(distinct).query(features, k=neighbours + 1)[0][:, 1:]
    check_finite(float(distances.max()))
    return np.asarray(np.sqrt(distances.sum(axis=1) / (1.0 / distances).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class RelativeGaussian:
    """f_ij(beta) = exp(-beta / (2 sigma_i sigma_j)) over the difference pairing: "RBF-relative".

    ``sigmas`` holds the n bandwidths, distances > 0; beta is the n x n array of all pairs of those samples, in
    their order, or with ``column_sigmas`` that of the pairs of samples with those. The factor 1/(sigma_i sigma_j) of f'
    is the matrix Sigma of the papers' surrogate. A kernel on samples with one bandwidth each is positive definite only
    approximately; solvers do not need it to be.

    Source: NeurIPS 2019, Table 1 and Theorem 3 (Psi = Sigma * Gamma * K).

    Raises ``InputError`` unless the bandwidths are finite and positive, and for beta of another shape.
    """

    sigmas: FloatArray
    column_sigmas: FloatArray | None = None
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def __post_init__(self) -> None:
        bad = ~(np.isfinite(self.sigmas) & (self.sigmas > 0))
        if self.sigmas.ndim != 1 or bad.any():
            example = f"; sample {int(np.argmax(bad))} has {self.sigmas[bad][0]!r}" if bad.any() else ""
            raise InputError(f"bandwidths must be one finite number > 0 for each sample{example}")

    @property
    def inverse_sigmas(self) -> tuple[FloatArray, FloatArray]:
        """1 / sigma_i as a column (m x 1) and 1 / sigma_j as a row (1 x n): their product is that of each pair."""
        columns = self.sigmas if self.column_sigmas is None else self.column_sigmas
        return 1.0 / self.sigmas[:, None], 1.0 / columns[None, :]

    def value(self, beta: FloatArray) -> FloatArray:
        """Return exp(-beta / (2 sigma_i sigma_j))."""
        scaled: FloatArray = beta * (-0.5 * self._inverse_products(beta))
        return np.exp(scaled, out=scaled)

    def derivative(self, beta: FloatArray) -> FloatArray:
        """Return -f(beta) / (2 sigma_i sigma_j)."""
        return self.value(beta) * (-0.5 * self._inverse_products(beta))

    def value_and_derivative(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both from one exponential."""
        value = self.value(beta)
        return value, value * (-0.5 * self._inverse_products(beta))

    def second_derivative(self, beta: FloatArray) -> FloatArray:
        """Return f(beta) / (2 sigma_i sigma_j)^2."""
        return self.value(beta) * (0.5 * self._inverse_products(beta)) ** 2

    def _inverse_products(self, beta: FloatArray) -> FloatArray:
        rows, columns = self.inverse_sigmas
        n_rows, n_columns = rows.size, columns.size
        if beta.shape != (n_rows, n_columns):
            raise InputError(
                f"this kernel has bandwidths for {n_rows} samples, so beta must be {n_rows} x {n_columns}; "
                f"got shape {beta.shape}"
            )
        return rows * columns


def restricted(kernel: Kernel, rows: Samples, columns: Samples) -> Kernel:
    """Return the kernel for some rows and columns of its samples' pairs: itself, unless samples have bandwidths."""
    if isinstance(kernel, RelativeGaussian):
        return RelativeGaussian(kernel.sigmas[rows], kernel.sigmas[columns])
    return kernel
