"""Explicit features B with BB' equal, or nearly equal, to a kernel matrix of projected samples."""

from __future__ import annotations

from math import comb, factorial, prod

import numpy as np

from kdrbench.kernels.family import FloatArray


def n_monomials(n_components: int, degree: int) -> int:
    """Return the number of columns of :func:`monomial_features`: C(q + degree, degree)."""
    return comb(n_components + degree, degree)


def monomial_features(samples: FloatArray, degree: int, offset: float, scale: float) -> FloatArray:
    """Return B (n x C(q + degree, degree)) with (BB')_ij = (scale p_i'p_j + offset)^degree exactly.

    Its columns are sqrt(degree! / prod_a e_a!) prod_a z_a^e_a over all exponents with sum ``degree``, for
    z = (sqrt(scale) p, sqrt(offset)): the multinomial theorem.
    """
    n_samples, n_components = samples.shape
    # Variables and monomials as contiguous rows; the transpose that is returned costs nothing.
    variables = np.empty((n_components + 1, n_samples), dtype=samples.dtype)
    np.multiply(samples.T, float(np.sqrt(scale)), out=variables[:-1])
    variables[-1] = np.sqrt(offset)
    rows, exponents = np.ones((1, n_samples), dtype=samples.dtype), [(0,) * (n_components + 1)]
    for _ in range(degree):
        # Variables in ascending order only, so that each monomial is made once.
        grown = [
            (source, place)
            for source, exponent in enumerate(exponents)
            for place in range(max((at for at, power in enumerate(exponent) if power), default=0), len(exponent))
        ]
        products = np.empty((len(grown), n_samples), dtype=samples.dtype)
        for row, (source, place) in zip(products, grown, strict=True):
            np.multiply(rows[source], variables[place], out=row)
        rows = products
        exponents = [
            tuple(power + (at == place) for at, power in enumerate(exponents[source])) for source, place in grown
        ]
    for row, exponent in zip(rows, exponents, strict=True):
        row *= float(np.sqrt(factorial(degree) / prod(factorial(power) for power in exponent)))
    return rows.T
