"""Arguments of kernels for blocks of pairs on a device, and the kernels there, by operations of the array API."""

from __future__ import annotations

from math import perm
from typing import Any

from kdrbench.arrays import DeviceArray, is_device_array, namespace_of
from kdrbench.errors import InputError
from kdrbench.evaluation.arguments import affine_argument
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Pairing, Polynomial, Squared
from kdrbench.kernels.family import Kernel


def arguments_of(
    kernel: Kernel, samples: DeviceArray, dtype: Any
) -> tuple[DeviceArray, DeviceArray, tuple[float | None, float | None]]:
    """Return L and R with LR = a beta + b, and the limits that rounding might otherwise pass."""
    xp = namespace_of(samples)
    scale, offset = affine_argument(kernel) or (1.0, 0.0)
    limits: tuple[float | None, float | None] = (None, None)
    ones = xp.ones_like(samples[:, :1])
    if kernel.pairing is Pairing.DOT:
        left = xp.concat([scale * samples, ones], axis=1)
        right = xp.concat([samples, offset * ones], axis=1)
    else:
        # |p|^2 + |r|^2 - 2 p'r as one product; of centred samples, since it cancels.
        centred = samples - xp.mean(samples, axis=0)
        squares = scale * xp.sum(centred * centred, axis=1)[:, None]
        left = xp.concat([-2.0 * scale * centred, squares + offset, ones], axis=1)
        right = xp.concat([centred, ones, squares], axis=1)
        # Rounding may leave distances of coinciding samples a little below zero.
        limits = (offset, None) if scale > 0 else (None, offset)
    return xp.astype(left, dtype), xp.astype(right.T, dtype), limits


def derivatives_of(
    xp: Any, kernel: Kernel, argument: DeviceArray, orders: tuple[int, ...], sigmas: DeviceArray | None
) -> list[tuple[float, DeviceArray]]:
    """Return a number and an array for each order: their product is that derivative of f(beta).

    ``argument`` is a beta + b for the kernels of :func:`affine_argument`, and beta for others; ``sigmas`` are products
    of the samples' own bandwidths.
    """
    affine = affine_argument(kernel)
    if isinstance(kernel, Gaussian) and affine:
        values = xp.exp(argument)
        return [(affine[0] ** order, values) for order in orders]
    if isinstance(kernel, Multiquadric) and affine:
        root = xp.sqrt(argument)
        made = {0: lambda: (-1.0, root), 1: lambda: (-0.5, 1.0 / root), 2: lambda: (0.25, 1.0 / (argument * root))}
        return [made[order]() for order in orders]
    if isinstance(kernel, Polynomial) and affine:
        return [
            (perm(kernel.degree, order) * affine[0] ** order, power_of(xp, argument, max(kernel.degree - order, 0)))
            for order in orders
        ]
    if type(kernel) in (Linear, Squared):
        sign = 1.0 if type(kernel) is Linear else -1.0
        made = {0: lambda: argument, 1: lambda: xp.ones_like(argument), 2: lambda: xp.zeros_like(argument)}
        return [(sign, made[order]()) for order in orders]
    if sigmas is not None:
        values = xp.exp(-0.5 * argument / sigmas)
        return [((-0.5) ** order, values / sigmas**order if order else values) for order in orders]
    functions = (kernel.value, kernel.derivative, kernel.second_derivative)
    return [(1.0, _of_user(xp, kernel, functions[order], argument)) for order in orders]


def power_of(xp: Any, base: DeviceArray, exponent: int) -> DeviceArray:
    """Return a power of each entry, by products."""
    power = xp.ones_like(base)
    for _ in range(exponent):
        power = power * base
    return power


def _of_user(xp: Any, kernel: Kernel, function: Any, beta: DeviceArray) -> DeviceArray:
    """Return a user's function of beta; ``InputError`` where it is not written for arrays of the device."""
    try:
        values = function(beta)
    except (TypeError, AttributeError, RuntimeError) as error:
        raise _written_for_numpy(kernel, error) from error
    if not is_device_array(values) or values.shape != beta.shape:
        raise _written_for_numpy(kernel, f"it returned {type(values).__name__}")
    return xp.astype(values, beta.dtype)


def _written_for_numpy(kernel: Kernel, why: object) -> InputError:
    return InputError(
        f"{type(kernel).__name__} does not work with arrays of this device ({why}); write its functions with "
        "operators, or with array_api_compat.array_namespace(beta), or pass features as numpy arrays"
    )
