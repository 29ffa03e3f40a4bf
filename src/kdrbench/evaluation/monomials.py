"""Explicit features of a polynomial of dot products, and how they change with the samples.

(scale p_i'p_j + offset)^k = (BB')_ij for the n x C(q + k, k) array B whose columns are the monomials
sqrt(k! / prod_a e_a!) prod_a z_a^e_a over all exponents e with sum k, where z = (sqrt(scale) p, sqrt(offset)). This is
the multinomial theorem.
"""

from __future__ import annotations

from functools import cache
from math import comb, factorial, prod, sqrt
from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray


def n_monomials(n_components: int, degree: int) -> int:
    """Return the number of columns of :func:`monomial_features`: C(q + degree, degree)."""
    return comb(n_components + degree, degree)


def monomial_features(samples: FloatArray, degree: int, offset: float, scale: float) -> FloatArray:
    """Return B of P = ``samples`` (n x q) for k = ``degree``."""
    variables = _variables(samples, scale, offset)
    recipe = recipe_of(len(variables), degree)
    rows = np.ones((1, len(samples)), dtype=samples.dtype)
    for level in recipe.levels:
        rows = _products(rows, variables, level)
    return _weighed(rows, recipe)


def monomial_changes(samples: FloatArray, moved: FloatArray, degree: int, offset: float, scale: float) -> FloatArray:
    """Return dB, the derivative of :func:`monomial_features` along the change ``moved`` (n x q) of the samples."""
    variables, turns = _variables(samples, scale, offset), _variables(moved, scale, 0.0)
    recipe = recipe_of(len(variables), degree)
    rows = np.ones((1, len(samples)), dtype=samples.dtype)
    changes = np.zeros_like(rows)
    for level in recipe.levels:
        changes = _products(changes, variables, level)
        changes += _products(rows, turns, level)
        rows = _products(rows, variables, level)
    return _weighed(changes, recipe)


class Recipe(NamedTuple):
    """For each degree the monomials as (one of a degree less, variable); the factors of the last ones."""

    levels: tuple[tuple[tuple[int, int], ...], ...]
    factors: tuple[float, ...]


@cache
def recipe_of(n_variables: int, degree: int) -> Recipe:
    """Return how monomials of a degree are made of the variables."""
    exponents, levels = [(0,) * n_variables], []
    for _ in range(degree):
        # Variables in ascending order only, so that each monomial is made once.
        grown = [
            (source, place)
            for source, exponent in enumerate(exponents)
            for place in range(max((at for at, power in enumerate(exponent) if power), default=0), n_variables)
        ]
        exponents = [
            tuple(power + (at == place) for at, power in enumerate(exponents[source])) for source, place in grown
        ]
        levels.append(tuple(grown))
    factors = tuple(sqrt(factorial(degree) / prod(map(factorial, exponent))) for exponent in exponents)
    return Recipe(tuple(levels), factors)


def _variables(samples: FloatArray, scale: float, offset: float) -> FloatArray:
    """Return z as contiguous rows."""
    variables = np.empty((samples.shape[1] + 1, len(samples)), dtype=samples.dtype)
    np.multiply(samples.T, float(np.sqrt(scale)), out=variables[:-1])
    variables[-1] = np.sqrt(offset)
    return variables


def _products(rows: FloatArray, variables: FloatArray, level: tuple[tuple[int, int], ...]) -> FloatArray:
    products = np.empty((len(level), rows.shape[1]), dtype=rows.dtype)
    for product, (source, place) in zip(products, level, strict=True):
        np.multiply(rows[source], variables[place], out=product)
    return products


def _weighed(rows: FloatArray, recipe: Recipe) -> FloatArray:
    """Return the rows times their factors, as columns; the transpose costs nothing."""
    for row, factor in zip(rows, recipe.factors, strict=True):
        row *= factor
    return rows.T
