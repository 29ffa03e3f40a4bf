"""The contract of a kernel: its functions, their derivatives, and the gradient of F that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kdrbench.kernels import FAMILIES, Kernel, Pairing, build_kernel, check_definition
from kdrbench.kernels.family import FloatArray, pairing_values
from kdrbench.kernels.registry import CONTRACT
from kdrbench.methods import load_method
from kdrbench.paradigms import supervised_problem
from kdrbench.suite.conformance.common import (
    Arrays,
    Case,
    Check,
    Fault,
    check_options,
    common_checks,
    features_and_labels,
    some_projection,
)

Function = Callable[[FloatArray], FloatArray]
_STEPS = 10.0 ** -np.arange(2.0, 9.0)
_EPS = float(np.finfo(float).eps)
# Central differences of a smooth f agree with f' to far less than this share at some step, those of a wrong f' at none.
_AGREEMENT = 1e-4
# Steps of the Taylor test: the cubic term is small beside the square, and rounding beside either.
_TAYLOR_STEPS = np.array([1e-2, 1e-3])


def kernel_checks(place: str, options: Mapping[str, Any]) -> list[Check]:
    """Return the checks of the kernel at a place."""
    definition = {"family": place, **options}

    def build() -> Any:
        return build_kernel(definition, features_and_labels()[0], 2)

    return [
        Check("API", lambda: _check_api(definition), "see docs/extending.md for what a kernel's class has"),
        Check("values", lambda: _values(build()), "return a new float array of the shape of beta"),
        Check("derivatives", lambda: _derivatives(build()), "derive f once more, by hand or by a computer algebra"),
        Check("gradient slope", lambda: _slopes(build()), "derive f once more, by hand or by a computer algebra"),
        *common_checks(Case(build, _inputs, _work)),
    ]


def _check_api(definition: Mapping[str, Any]) -> None:
    check_definition(definition)
    if definition["family"] in FAMILIES:
        return
    family = load_method("kernel", definition["family"], {}, CONTRACT)
    check_options(family)
    if not isinstance(family.pairing, Pairing):
        raise Fault(
            f"pairing is {family.pairing!r}",
            "write pairing: ClassVar[Pairing] = Pairing.DIFFERENCE (beta is a squared distance) or Pairing.DOT",
        )


def _functions(kernel: Kernel) -> dict[str, Function]:
    return {"value": kernel.value, "derivative": kernel.derivative, "second_derivative": kernel.second_derivative}


def _betas(kernel: Kernel) -> FloatArray:
    """Return beta of all pairs of projected samples; with zeros on the diagonal for differences."""
    features, _ = features_and_labels()
    return pairing_values(kernel.pairing, features @ some_projection(features.shape[1], 2))


def _values(kernel: Kernel) -> None:
    for name, function in _functions(kernel).items():
        beta = _betas(kernel)
        # A value that is not finite is reported with its place.
        with np.errstate(all="ignore"):
            values = np.asarray(function(beta))
        if not np.array_equal(beta, _betas(kernel)):
            raise Fault(f"{name} changes the array it is given", "work on a copy: write beta + 1 in place of beta += 1")
        if values.shape != beta.shape or values.dtype.kind != "f":
            raise Fault(
                f"{name} maps an array of shape {beta.shape} to one of shape {values.shape} and type {values.dtype}",
                "work elementwise: a constant is numpy.full_like(beta, constant)",
            )
        if not np.isfinite(values).all():
            beta_of = beta[~np.isfinite(values)][0]
            raise Fault(f"{name} is not finite at beta = {beta_of:g}", "give the function its limit there")
        if np.shares_memory(values, beta):
            raise Fault(f"{name} returns beta itself, not a new array", "write beta.copy()")


def _derivatives(kernel: Kernel) -> None:
    functions = _functions(kernel)
    for name, antiderivative in (("derivative", "value"), ("second_derivative", "derivative")):
        beta = _betas(kernel)
        # Off the edge of squared distances; what is restricted to samples keeps its shape.
        if kernel.pairing is Pairing.DIFFERENCE:
            beta = np.maximum(beta, 1e-3 * beta.mean())
        wrong, slope, difference = _disagreement(functions[antiderivative], functions[name], beta)
        if wrong.any():
            worst = np.unravel_index(np.argmax(wrong), wrong.shape)
            raise Fault(
                f"{name} is not the derivative of {antiderivative}: at beta = {beta[worst]:.6g} it is "
                f"{slope[worst]:.6g}, differences give {difference[worst]:.6g}",
                "derive f once more, by hand or by a computer algebra",
            )


def _disagreement(function: Function, derivative: Function, beta: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
    """Return where no step makes differences agree with the derivative, the derivative, and the nearest difference."""
    slope = derivative(beta)
    nearest, excess = np.zeros_like(beta), np.full(beta.shape, np.inf)
    scale = np.abs(beta) + (0.0 if (beta > 0).all() else np.abs(beta).mean())
    for step in _STEPS:
        ahead, behind = function(beta + step * scale), function(beta - step * scale)
        difference = (ahead - behind) / (2 * step * scale)
        rounding = 4 * _EPS * (np.abs(ahead) + np.abs(behind)) / (step * scale)
        size = np.maximum(np.abs(slope), np.abs(difference))
        now = np.abs(slope - difference) - rounding - _AGREEMENT * size
        nearest, excess = np.where(now < excess, difference, nearest), np.minimum(now, excess)
    return excess > 0, slope, nearest


def _slopes(kernel: Kernel) -> None:
    features, labels = features_and_labels()
    problem = supervised_problem(features, labels, kernel)
    projection, direction = some_projection(6, 2), some_projection(6, 4)[:, 2:]
    value, gradient = problem.value(projection), problem.gradient(projection)
    bent = float(np.vdot(problem.hessian_vector(projection, direction), direction))
    errors: dict[int, list[float]] = {2: [], 3: []}
    for step in _TAYLOR_STEPS:
        first = problem.value(projection + step * direction) - value - step * float(np.vdot(gradient, direction))
        errors[2].append(abs(first))
        errors[3].append(abs(first - 0.5 * step**2 * bent))
    for order, what in ((2, "derivative"), (3, "second_derivative")):
        large, small = errors[order]
        # Of a quadratic F nothing but rounding is left.
        if small <= 1e4 * _EPS * abs(value):
            continue
        slope = float(np.log10(large / small))
        if slope < order - 0.1:
            raise Fault(
                f"the error of the Taylor expansion of F falls with the power {slope:.2f} of the step, not {order}",
                f"{what} is not what value makes it",
            )


def _inputs() -> Arrays:
    return (features_and_labels()[0],)


def _work(kernel: Kernel, arrays: Arrays) -> Arrays:
    beta = pairing_values(kernel.pairing, arrays[0] @ some_projection(arrays[0].shape[1], 2))
    # The last array shows whether beta has been changed.
    return (*(function(beta) for function in _functions(kernel).values()), beta)
