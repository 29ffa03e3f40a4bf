"""Kernel families by name: which options a definition may hold, and how it becomes a kernel on given data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels.bandwidth import median_distance
from kdrbench.kernels.combination import Combination, Term
from kdrbench.kernels.family import (
    FloatArray,
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    Polynomial,
    Squared,
)

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """A named family: its options with their defaults, and the builder (options, features, q) -> kernel."""

    defaults: Mapping[str, Any]
    build: Callable[[Definition, FloatArray, int], Kernel | Combination]


def _gaussian(options: Definition, features: FloatArray, n_components: int) -> Kernel:
    sigma = options["sigma"]
    return Gaussian(median_distance(features) if sigma == "median" else _number("sigma", sigma, "'median'"))


def _polynomial(options: Definition, features: FloatArray, n_components: int) -> Kernel:
    scale = options["scale"]
    resolved = 1.0 / n_components if scale == "1/q" else _number("scale", scale, "'1/q'")
    return Polynomial(degree=options["degree"], offset=_number("offset", options["offset"]), scale=resolved)


def _multiquadric(options: Definition, features: FloatArray, n_components: int) -> Kernel:
    return Multiquadric(_number("offset", options["offset"]))


def _combination(options: Definition, features: FloatArray, n_components: int) -> Combination:
    members = options["members"]
    if not isinstance(members, list) or not all(isinstance(member, Mapping) for member in members):
        raise InputError(f"combination option members must be a list of kernel definitions, got {members!r}")
    terms = []
    for member in members:
        definition = {key: value for key, value in member.items() if key != "weight"}
        check_definition(definition)
        kernel = build_kernel(definition, features, n_components)
        if isinstance(kernel, Combination):
            raise InputError("a combination's members must be single kernels, not combinations")
        terms.append(Term(_number("weight", member.get("weight", 1.0)), kernel))
    return Combination(tuple(terms))


FAMILIES: dict[str, Family] = {
    "linear": Family({}, lambda options, features, n_components: Linear()),
    "squared": Family({}, lambda options, features, n_components: Squared()),
    "multiquadric": Family({"offset": 1.0}, _multiquadric),
    "combination": Family({"members": []}, _combination),
    "polynomial": Family({"degree": 3, "offset": 1.0, "scale": "1/q"}, _polynomial),
    "gaussian": Family({"sigma": "median"}, _gaussian),
}


def check_definition(definition: Definition) -> None:
    """Raise ``InputError`` if the definition's family, an option's name or its value is not allowed."""
    family = definition.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(unknown_name("kernel family", family, sorted(FAMILIES)))
    allowed = FAMILIES[family].defaults
    for option in definition:
        if option != "family" and option not in allowed:
            raise InputError(unknown_name(f"option of kernel family {family!r}:", option, sorted(allowed)))
    # Samples with a positive median distance give every data-dependent option a value.
    build_kernel(definition, np.arange(4.0).reshape(4, 1), 1)


def build_kernel(definition: Definition, features: FloatArray, n_components: int) -> Kernel | Combination:
    """Build the kernel that ``definition`` means on training ``features`` (n x d) projected to q components.

    ``definition`` holds ``family`` and options; a combination's ``members`` are definitions, each with its
    ``weight``. ``sigma: median`` is the median distance of the unprojected training samples, ``scale: 1/q`` is one
    over ``n_components``.
    """
    family = FAMILIES[definition["family"]]
    options = {**family.defaults, **{key: value for key, value in definition.items() if key != "family"}}
    return family.build(options, features, n_components)


def _number(name: str, value: object, otherwise: str | None = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        words = f"a number or {otherwise}" if otherwise else "a number"
        raise InputError(f"kernel option {name} must be {words}, got {value!r}")
    return float(value)
