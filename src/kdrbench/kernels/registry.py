"""Kernel families by name: which options a definition may hold, and how it becomes a kernel on given data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from numbers import Real
from typing import Any, cast

import numpy as np

from kdrbench.errors import InputError, TooFewSamplesError, unknown_name
from kdrbench.kernels.combination import Combination, Term, aligned_weights
from kdrbench.kernels.family import (
    EstimatedGaussian,
    FloatArray,
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    Polynomial,
    RelativeGaussian,
    Squared,
    projected_share,
)
from kdrbench.kernels.median import estimated_median_distance, median_distance
from kdrbench.kernels.neighbours import neighbour_distances
from kdrbench.methods import build_method, is_own, load_method, unknown_method
from kdrbench.parameters import COUNT, Instance, check_names, check_value, yaml_number

# What a kernel's class must have.
CONTRACT = ("pairing", "value", "derivative", "second_derivative")
Definition = Mapping[str, Any]
# The median distance, exact or estimated where that is said, or that expected of projected samples; or a share of it.
_MEDIAN = re.compile(r"(?:(\d*\.?\d+) )?(?:(?:(exact|estimated) )?median|(projected))")
# Examples of it.
_MEDIANS = ["median", "exact median", "estimated median", "0.1 median", "projected", "0.5 projected"]
# Up to this number of samples, the median is exact even where it need not be.
EXACT_SAMPLES = 5000


@dataclass(frozen=True)
class Samples:
    """What a definition is resolved on: the arguments of :func:`build_kernel`.

    While only ``checking`` a definition, what depends on the samples alone is not asked for. ``drawn_from`` is the
    number of samples of which these are a random subset, where they are.
    """

    features: FloatArray
    n_components: int
    target: FloatArray | None = None
    checking: bool = False
    seed: int | None = None
    threads: int = 1
    drawn_from: int | None = None


def _gaussian(samples: Samples, *, sigma: Any = "median") -> Kernel:
    if not isinstance(sigma, str):
        return Gaussian(_number("sigma", sigma, "a rule such as '0.1 median'"))
    if (rule := _MEDIAN.fullmatch(sigma)) is None:
        raise InputError(f"{unknown_name('sigma', sigma, _MEDIANS)} A number > 0 is allowed, too{yaml_number(sigma)}")
    share, named, drawn_from = float(rule[1] or 1.0), rule[2], samples.drawn_from
    if rule[3]:
        share *= projected_share(samples.features, samples.n_components)
    drawn = drawn_from is not None and drawn_from > len(samples.features)
    if drawn and named == "exact":
        raise InputError(
            f"the exact median distance of {drawn_from} streamed samples would need all pairs of them; let "
            "sigma be 'median', whose standard error is stated, or a number"
        )
    may_err = drawn or (samples.seed is not None and len(samples.features) > EXACT_SAMPLES)
    if named == "exact" or (named is None and not may_err):
        return Gaussian(share * median_distance(samples.features, threads=samples.threads))
    rng = np.random.default_rng(samples.seed or 0)
    estimate = estimated_median_distance(samples.features, rng, drawn_from=drawn_from)
    return EstimatedGaussian(share * estimate.value, share * estimate.standard_error)


def _rbf_relative(samples: Samples, *, neighbour: Any = 7) -> Kernel:
    check_value("kernel option neighbour", neighbour, COUNT)
    return RelativeGaussian(neighbour_distances(samples.features, int(neighbour)))


def _multiquadric(samples: Samples, *, offset: Any = 1.0) -> Kernel:
    return Multiquadric(_number("offset", offset))


def _polynomial(samples: Samples, *, degree: Any = 3, offset: Any = 1.0, scale: Any = "1/q") -> Kernel:
    resolved = 1.0 / samples.n_components if scale == "1/q" else _number("scale", scale, "'1/q'")
    return Polynomial(degree=degree, offset=_number("offset", offset), scale=resolved)


def _combination(samples: Samples, *, members: Any = None, weights: Any = "given") -> Combination:
    if not isinstance(members, list) or not members or not all(isinstance(member, Mapping) for member in members):
        raise InputError(f"combination option members must be a list of kernel definitions, got {members!r}")
    if weights not in ("given", "alignment"):
        raise InputError(f"combination option weights must be 'given' or 'alignment', got {weights!r}")
    numbers = [_number("weight", member.get("weight", 1.0)) for member in members]
    if weights == "alignment" and any("weight" in member for member in members):
        raise InputError("combination: members have no weight of their own where weights is 'alignment'")
    definitions = [{key: value for key, value in member.items() if key != "weight"} for member in members]
    for definition in definitions:
        check_definition(definition)
    built = [_build(definition, samples) for definition in definitions]
    kernels = [kernel for kernel in built if not isinstance(kernel, Combination)]
    if len(kernels) < len(members):
        raise InputError("a combination's members must be single kernels, not combinations")
    if weights == "alignment" and not samples.checking:
        if samples.target is None:
            raise InputError("combination weights by alignment need labels, which only supervised learning has")
        numbers = aligned_weights(kernels, samples.features, samples.target).tolist()
    return Combination(tuple(Term(weight, kernel) for weight, kernel in zip(numbers, kernels, strict=True)))


# Their options are keywords with defaults.
FAMILIES: dict[str, Callable[..., Kernel | Combination]] = {
    "linear": lambda samples: Linear(),
    "squared": lambda samples: Squared(),
    "multiquadric": _multiquadric,
    "combination": _combination,
    "polynomial": _polynomial,
    "gaussian": _gaussian,
    "rbf_relative": _rbf_relative,
}


def check_definition(definition: Definition) -> None:
    """Raise ``InputError`` if the definition's family, an option's name or its value is not allowed."""
    family = definition.get("family")
    if not is_own("kernel", family, FAMILIES):
        if not isinstance(family, str) or family not in FAMILIES:
            raise InputError(unknown_method("kernel", "kernel family", family, FAMILIES))
        _, *options = signature(FAMILIES[family]).parameters
        named = (option for option in definition if option != "family")
        check_names(f"option of kernel family {family!r}:", named, sorted(options))
    # Samples with a positive median distance give every data-dependent option a value, unless it wants more of them.
    probe = np.arange(16.0).reshape(16, 1)
    with suppress(TooFewSamplesError):
        _build(definition, Samples(probe, 1, checking=True))


def own_modules(definition: Definition) -> dict[str, str]:
    """Return by family the modules of the user's own families in a definition."""
    members = [member for member in definition.get("members", ()) if isinstance(member, Mapping)]
    modules = {family: module for member in members for family, module in own_modules(member).items()}
    if is_own("kernel", family := definition.get("family"), FAMILIES):
        modules[str(family)] = load_method("kernel", family, {}, CONTRACT).__module__
    return modules


def build_kernel(
    kernel: object,
    features: FloatArray,
    n_components: int,
    target: FloatArray | None = None,
    *,
    seed: int | None = None,
    threads: int = 1,
    drawn_from: int | None = None,
) -> Kernel | Combination:
    """Return the kernel for a family's name or a definition, resolved on training ``features`` (n x d).

    A definition holds ``family`` and options; a combination's ``members`` are definitions, each with its
    ``weight``, or without where ``weights`` is ``alignment``: see :func:`aligned_weights`, whose ``target`` is the
    centred one-hot labels. ``sigma: median`` is the median distance of the unprojected training samples, ``0.1 median``
    a tenth of it, ``projected`` its share for q components (:func:`.projected_share`). ``neighbour: 7`` takes each
    sample's bandwidth from its 7th nearest neighbour, ``scale: 1/q`` is one over ``n_components``. A family that is a
    file or ``module:Class`` is a dataclass of its options; if it has a method ``on_samples(features, n_components)``,
    the kernel is what that returns. A kernel object is returned as it is.

    The median is exact, on ``threads`` threads. With a ``seed`` and more than 5000 samples it is estimated from random
    groups, with a relative error of some 1e-4, and the kernel is an :class:`kdrbench.kernels.EstimatedGaussian`.
    ``exact median`` and ``estimated median`` say which it shall be.

    Raises ``InputError`` for whatever is not allowed, or has no value on these samples.
    """
    if isinstance(kernel, str | Mapping):
        definition = {"family": kernel} if isinstance(kernel, str) else kernel
        check_definition(definition)
        samples = Samples(features, n_components, target, seed=seed, threads=threads, drawn_from=drawn_from)
        return _build(definition, samples)
    if isinstance(kernel, Combination):
        return kernel
    if isinstance(kernel, type) or not all(hasattr(kernel, name) for name in CONTRACT):
        raise InputError(
            f"a kernel must be a family's name, a definition, or an object with pairing, value, derivative and "
            f"second_derivative, such as UserKernel(...); got {kernel!r}"
        )
    return cast("Kernel", kernel)


def _build(definition: Definition, samples: Samples) -> Kernel | Combination:
    if is_own("kernel", definition["family"], FAMILIES):
        kernel = build_method("kernel", definition, {}, CONTRACT, key="family")
        if hasattr(kernel, "on_samples"):
            kernel = kernel.on_samples(samples.features, samples.n_components)
        return cast("Kernel", kernel)
    options = {key: value for key, value in definition.items() if key != "family"}
    return FAMILIES[definition["family"]](samples, **options)


def _number(name: str, value: object, otherwise: str | None = None) -> float:
    allowed = f"a number or {otherwise}" if otherwise else "a number"
    check_value(f"kernel option {name}", value, Instance((Real,), allowed))
    return float(cast("float", value))
