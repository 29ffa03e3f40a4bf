"""Machine code by numba (the extra ``compiled``), and functions of kernels in it.

These replace an array of a block of pairs by what they make of it. Without AVX-512 the exponential of numpy takes most
of a pass over pairs. Here it is

    exp(a) = 2^k exp(r),   k = round(a / log 2),   r = a - k log 2

with a polynomial for exp(r), which compilers turn into instructions on vectors. Relative errors are below 1e-14, and
1e-7 in single precision. Where exp(a) would be subnormal it is 0, and NaN stays NaN.

numba compiles at the first call and keeps the result on disk. It looks whether the file of the function kept has
changed, not those of the functions that it calls: functions that call each other must be in one file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.extending import overload

from kdrbench.kernels.family import FloatArray

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function, **options: Any) -> Function:
    """Compile a function at its first call, and keep the result on disk if that can be."""
    # Division by zero gives infinity, as in numpy, and does not keep loops from being vectorised.
    options |= {"error_model": "numpy"}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:
        # No cache folder is writable: compile in each process.
        return cast(Function, njit(cache=False, **options)(function))


# Sums keep their order: adding and subtracting a number rounds to an integer, which another order would undo.
_compiled = partial(jit, fastmath={"contract"}, nogil=True)


def _exp(a: Any) -> Any:
    """Return exp(min(a, 0)) of a number in its precision."""
    raise NotImplementedError


@overload(_exp, inline="always")
def _exp_in_precision(a: Any) -> Any:
    """Return the function for a precision: its polynomial, and the layout of its numbers."""
    if a == types.float32:

        def single(a: Any) -> Any:
            number = np.float32
            value = number(0.0) if a > number(0.0) else a
            value = number(-87.0) if value < number(-87.0) else value
            shifted = value * number(1.44269504) + number(12582912.0)
            power = shifted - number(12582912.0)
            rest = value - power * number(0.693359375) + power * number(2.12194440e-4)
            series = number(1 / 5040) * rest + number(1 / 720)
            series = series * rest + number(1 / 120)
            series = series * rest + number(1 / 24)
            series = series * rest + number(1 / 6)
            series = series * rest + number(0.5)
            series = series * rest * rest + rest + number(1.0)
            bits = np.int32((number(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
            return number(0.0) if a < number(-87.0) else series * np.int32(bits).view(np.float32)

        return single

    def double(a: Any) -> Any:
        value = 0.0 if a > 0.0 else a
        value = -708.0 if value < -708.0 else value
        shifted = value * 1.4426950408889634 + 6755399441055744.0
        power = shifted - 6755399441055744.0
        rest = value - power * 0.6931471803691238 - power * 1.9082149292705877e-10
        series = rest * (1 / 39916800) + 1 / 3628800
        series = series * rest + 1 / 362880
        series = series * rest + 1 / 40320
        series = series * rest + 1 / 5040
        series = series * rest + 1 / 720
        series = series * rest + 1 / 120
        series = series * rest + 1 / 24
        series = series * rest + 1 / 6
        series = series * rest + 0.5
        series = series * rest + 1.0
        series = series * rest + 1.0
        bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
        return 0.0 if a < -708.0 else series * np.int64(bits).view(np.float64)

    return double


@_compiled
def exponential(arguments: FloatArray) -> None:
    """Replace a by exp(min(a, 0))."""
    a = arguments.reshape(-1)
    for j in range(len(a)):
        a[j] = _exp(a[j])


@_compiled
def clip(arguments: FloatArray, least: float, largest: float) -> None:
    """Replace a by the nearest number from ``least`` to ``largest``."""
    a = arguments.reshape(-1)
    low, high = a.dtype.type(least), a.dtype.type(largest)
    for j in range(len(a)):
        # A comparison with NaN is false.
        value = low if a[j] < low else a[j]
        a[j] = high if value > high else value


@_compiled
def inverse_root(arguments: FloatArray) -> None:
    """Replace a > 0 by 1 / sqrt(a)."""
    a = arguments.reshape(-1)
    one = a.dtype.type(1.0)
    for j in range(len(a)):
        a[j] = one / math.sqrt(a[j])
