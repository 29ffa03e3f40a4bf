"""ISM with the operations of the authors' published code, for ratios of time; none of that code is here.

What it spends its time on, as its source says: the centring matrix H as an n x n array and Gamma = H Y Y' H as products
with it; the degrees of Psi as an n x n diagonal matrix; Phi = X' (D - Psi) X or X' Psi X as full products; all
eigenvectors of Phi; and the cost of the unprojected samples once. Numpy's BLAS works on all cores it is given.

Source: github.com/neu-spiral/InterpretableKernelDimReduction, modules kernels, optimizer and algorithms.
"""

from collections.abc import Callable

import numpy as np

from kdrbench.kernels.family import FloatArray

_DELTA = 0.01
_MOST_STEPS = 200
Elementwise = Callable[[FloatArray], FloatArray]


def published_gamma(one_hot: FloatArray) -> FloatArray:
    """Return H Y Y' H by products with the n x n array H."""
    n_samples = len(one_hot)
    centring = np.eye(n_samples) - np.ones((n_samples, n_samples)) / n_samples
    gamma: FloatArray = centring.dot(one_hot).dot(one_hot.T).dot(centring)
    return gamma


def published_ism(
    features: FloatArray, one_hot: FloatArray, slope: Elementwise, n_components: int, *, by_difference: bool
) -> FloatArray:
    """Return W of ISM by the papers' rule; ``slope`` maps beta (n x n) to the weights of Gamma in Psi, up to sign."""
    gamma = published_gamma(one_hot)

    def surrogate(weights: FloatArray) -> FloatArray:
        if not by_difference:
            return -features.T.dot(weights).dot(features)
        return features.T.dot(np.diag(weights.sum(axis=0)) - weights).dot(features)

    def kernel(samples: FloatArray) -> FloatArray:
        products = samples.dot(samples.T)
        if by_difference:
            squares = np.diag(products)
            products = squares[:, None] + squares[None, :] - 2 * products
        values = slope(products)
        np.fill_diagonal(values, 0)
        return values

    np.sum(gamma * kernel(features))
    projection = np.linalg.eigh(surrogate(gamma))[1][:, :n_components]
    previous = np.inf * np.ones(n_components)
    for _ in range(_MOST_STEPS):
        values, vectors = np.linalg.eigh(surrogate(gamma * kernel(features.dot(projection))))
        projection, values = vectors[:, :n_components], values[:n_components]
        if np.linalg.norm(previous - values) / np.linalg.norm(previous) < _DELTA:
            break
        previous = values
    np.sum(gamma * kernel(features.dot(projection)))
    return projection
