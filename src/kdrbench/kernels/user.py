"""A kernel of the user's own: f, f' and a pairing; surrogates and all other oracles follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kdrbench.arrays import is_device_array, namespace_of
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray, Pairing

Function = Callable[[FloatArray], FloatArray]

_PROBES = np.array([0.05, 0.3, 1.0, 2.5])
# Central differences of a smooth f agree with f' to far less than this share at some step, those of a wrong f' at none.
_AGREEMENT = 1e-4
_STEPS = 10.0 ** -np.arange(3.0, 9.0)
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class UserKernel:
    """f(beta), elementwise, with its derivative and the pairing that makes beta.

    Phi(W) and Phi_0 follow from f' alone. ``curvature`` is f''; without it, it is the central difference of f' (at
    the edge beta = 0 of the difference pairing a one-sided one) with a step relative to the betas at hand, which
    errs by about 1e-9 where f' is smooth on their scale.

    Raises ``InputError`` when a function returns another shape or NaN at beta in [0, 2.5], or when f' is not the
    derivative of f there (f'' of f').

    Example: the rational kernel 1 / (1 + beta) over differences.

    >>> kernel = UserKernel(lambda beta: 1 / (1 + beta), lambda beta: -1 / (1 + beta) ** 2, Pairing.DIFFERENCE)
    >>> float(kernel.value(np.array([1.0]))[0])
    0.5
    """

    function: Function
    slope: Function
    pairing: Pairing
    curvature: Function | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pairing, Pairing):
            raise InputError(f"pairing must be one of {', '.join(map(repr, Pairing))}, got {self.pairing!r}")
        _checked("f'", self.slope, np.zeros(1))
        _check_derivative("f'", self.function, self.slope)
        if self.curvature is not None:
            _check_derivative("f''", self.slope, self.curvature)

    def value(self, beta: FloatArray) -> FloatArray:
        """Return f(beta)."""
        return _float64(self.function(beta), beta)

    def derivative(self, beta: FloatArray) -> FloatArray:
        """Return f'(beta)."""
        return _float64(self.slope(beta), beta)

    def second_derivative(self, beta: FloatArray) -> FloatArray:
        """Return f''(beta), given or by differences of f'."""
        if self.curvature is not None:
            return _float64(self.curvature(beta), beta)
        # Relative to the betas at hand, whatever the units of the data.
        xp = namespace_of(beta)
        scale = float(xp.mean(xp.abs(beta))) or 1.0
        step = _EPS ** (1 / 3) * xp.clip(xp.abs(beta), scale, None)
        # Squared distances are never negative, and f need not be defined below zero.
        at_edge = (beta < step) if self.pairing is Pairing.DIFFERENCE else step < 0.0
        centre = xp.where(at_edge, beta + step, beta)
        ahead, behind = self.derivative(centre + step), self.derivative(centre - step)
        central = (ahead - behind) / (2 * step)
        one_sided = (4 * self.derivative(centre) - ahead - 3 * behind) / (2 * step)
        result: FloatArray = xp.where(at_edge, one_sided, central)
        return result


def _float64(values: FloatArray, beta: FloatArray) -> FloatArray:
    """Return a function's values as a new array of numpy; those of another library's arrays as they are."""
    return values if is_device_array(beta) else np.array(values, dtype=np.float64)


def _check_derivative(name: str, function: Function, derivative: Function) -> None:
    """Refuse a derivative that differs from central differences at every step where rounding is small enough."""
    for probe in _PROBES:
        slope = float(_checked(name, derivative, np.array([probe]))[0])
        excesses = []
        for step in _STEPS * probe:
            ahead, behind = _checked(name, function, np.array([probe + step, probe - step]))
            difference = float(ahead - behind) / (2 * step)
            size, rounding = max(abs(slope), abs(difference)), _EPS * (abs(ahead) + abs(behind)) / step
            if rounding <= 0.01 * size:
                excesses.append((abs(slope - difference) - rounding - _AGREEMENT * size, difference))
        if excesses and min(excesses)[0] > 0:
            raise InputError(
                f"{name} is not the derivative: at beta = {probe} it is {slope:.6g}, "
                f"differences give {min(excesses)[1]:.6g}"
            )


def _checked(name: str, function: Function, beta: FloatArray) -> FloatArray:
    values = np.asarray(function(beta))
    if values.shape != beta.shape or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise InputError(
            f"a kernel's functions must map arrays to finite real arrays of the same shape; where {name} was checked, "
            f"beta = {beta.tolist()} gave {values!r}"
        )
    return values.astype(np.float64)
