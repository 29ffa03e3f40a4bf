"""The arguments of kernels for blocks of pairs, and the kernels there without arrays of their own.

Gaussian, multiquadric and polynomial kernels are functions g of a beta + b. The product of matrices that makes beta
makes that argument as well, and g takes its memory. So it does with a bandwidth for each sample: the argument is
-beta / (2 sigma_i sigma_j) there, and the factors of the product are scaled by row. Kernels of users get beta and
return new arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import perm
from typing import Any, TypeGuard

import numpy as np

from kdrbench.kernels import (
    EstimatedGaussian,
    Gaussian,
    Linear,
    Multiquadric,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from kdrbench.kernels.family import FloatArray, Kernel, value_and_derivative

# A rounding of the argument by up to this share of what it is at beta = 0 (or of 1) changes no kernel by more.
_HARMLESS = 2.0**-10


def arguments(
    kernel: Kernel, samples: FloatArray, dtype: Any
) -> tuple[FloatArray, FloatArray, tuple[np.ufunc, float] | None]:
    """Return L and R with LR = a beta + b, and the bound that rounding might otherwise pass.

    A kernel with bandwidths must have them in the order of the samples.
    """
    affine = (-0.5, 0.0) if isinstance(kernel, RelativeGaussian) else affine_argument(kernel)
    scale, offset = affine or (1.0, 0.0)
    bound = None
    if kernel.pairing is Pairing.DOT:
        left, right = scale * samples, samples
        if offset:
            ones = np.ones((len(samples), 1))
            left, right = np.hstack([left, ones]), np.hstack([right, offset * ones])
    else:
        # |p|^2 + |r|^2 - 2 p'r as one product; of centred samples, since it cancels.
        centred = samples - samples.mean(axis=0)
        squares = scale * np.einsum("ij,ij->i", centred, centred)[:, None]
        ones = np.ones_like(squares)
        left, right = np.hstack([-2.0 * scale * centred, squares + offset, ones]), np.hstack([centred, ones, squares])
        rounding = 4.0 * (samples.shape[1] + 2) * float(np.finfo(dtype).eps) * float(np.abs(squares).max())
        if isinstance(kernel, RelativeGaussian):
            rows, columns = kernel.inverse_sigmas
            left, right = left * rows, right * columns.T
            rounding *= float(rows.max() * columns.max())
        # Rounding may leave distances of coinciding samples a little below zero.
        if affine is None or not rounding <= _HARMLESS * (offset or 1.0):
            bound = (np.maximum if scale > 0 else np.minimum, offset)
    return np.ascontiguousarray(left, dtype), np.ascontiguousarray(right.T, dtype), bound


def affine_argument(kernel: Kernel) -> tuple[float, float] | None:
    """Return (a, b) where the kernel is a function of a beta + b that may take the memory of its argument."""
    # Subclasses may have another f.
    if _is_gaussian(kernel):
        return -0.5 / float(kernel.sigma) ** 2, 0.0
    if type(kernel) is Multiquadric:
        return 1.0, float(kernel.offset) ** 2
    return (float(kernel.scale), float(kernel.offset)) if type(kernel) is Polynomial else None


def _is_gaussian(kernel: Kernel) -> TypeGuard[Gaussian]:
    return type(kernel) in (Gaussian, EstimatedGaussian)


def value_per_slope(kernel: Kernel) -> tuple[float, float] | None:
    """Return (c, e) with f = (c + e beta) f': F is then a sum of what its gradient takes; ``None`` for others."""
    if _is_gaussian(kernel):
        return -2.0 * float(kernel.sigma) ** 2, 0.0
    if type(kernel) is Multiquadric:
        return 2.0 * float(kernel.offset) ** 2, 2.0
    if type(kernel) is Polynomial:
        return float(kernel.offset) / (kernel.degree * float(kernel.scale)), 1.0 / kernel.degree
    return (0.0, 1.0) if type(kernel) in (Linear, Squared) else None


def sample_factors(kernel: Kernel, dtype: Any) -> FloatArray | None:
    """Return s (n x 1) with which s_i^k s_j^k belongs to the k-th derivative, 1 / sigma_i; ``None`` where s = 1."""
    return kernel.inverse_sigmas[0].astype(dtype) if isinstance(kernel, RelativeGaussian) else None


def derivatives_in_turn(
    kernel: Kernel, argument: FloatArray, spare: FloatArray, orders: tuple[int, ...]
) -> Iterator[tuple[float, FloatArray]]:
    """Yield a number and an array for each of consecutive ``orders``: their product is that derivative of f(beta).

    It is so but for the :func:`sample_factors`: columns and sums are multiplied by these, not every pair.
    ``argument`` is what the product of :func:`arguments` makes. An array holds until the next one is asked for, and may
    take the memory of the argument or of ``spare``.
    """
    if _is_gaussian(kernel):
        np.exp(argument, out=argument)
        for order in orders:
            yield (-0.5 / float(kernel.sigma) ** 2) ** order, argument
    elif isinstance(kernel, RelativeGaussian):
        np.exp(argument, out=argument)
        for order in orders:
            yield (-0.5) ** order, argument
    elif type(kernel) is Multiquadric:
        yield from _multiquadric_in_turn(argument, spare, orders)
    elif type(kernel) is Polynomial:
        powers = _powers(argument, spare, [max(kernel.degree - order, 0) for order in orders])
        for order, power in zip(orders, powers, strict=True):
            yield perm(kernel.degree, order) * float(kernel.scale) ** order, power
    else:
        functions = (kernel.value, kernel.derivative, kernel.second_derivative)
        together = orders == (0, 1)
        arrays = value_and_derivative(kernel, argument) if together else (functions[k](argument) for k in orders)
        for array in arrays:
            yield 1.0, array.astype(argument.dtype, copy=False)


def _multiquadric_in_turn(
    argument: FloatArray, spare: FloatArray, orders: tuple[int, ...]
) -> Iterator[tuple[float, FloatArray]]:
    root = np.sqrt(argument, out=argument)
    if 0 in orders:
        yield -1.0, root
    inverse = np.reciprocal(root, out=root) if orders != (0,) else root
    if 1 in orders:
        yield -0.5, inverse
    if 2 in orders:
        yield 0.25, np.multiply(np.square(inverse, out=spare), inverse, out=spare)


def _powers(base: FloatArray, spare: FloatArray, exponents: list[int]) -> list[FloatArray]:
    """Return one power of ``base``, or two whose exponents differ by at most one, the higher one first."""
    lowest = exponents[-1]
    if lowest == 0:
        spare.fill(1.0)
        return [base if exponent else spare for exponent in exponents]
    if lowest == 1:
        return [np.multiply(base, base, out=spare), base][-len(exponents) :]
    # Quicker than numpy's power.
    power = np.multiply(base, base, out=spare)
    for _ in range(lowest - 2):
        power *= base
    return [np.multiply(base, power, out=base), power] if len(exponents) > 1 else [power]
