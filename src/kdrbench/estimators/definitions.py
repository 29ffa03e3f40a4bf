"""What parameters of an estimator mean: the definition of its kernel, and the settings of its paradigm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any

from kdrbench.errors import InputError
from kdrbench.kernels import EXACT_SAMPLES, FAMILIES, Combination, Gaussian, Kernel, RelativeGaussian, build_kernel
from kdrbench.kernels.family import FloatArray, Pairing
from kdrbench.methods import is_own, unknown_method
from kdrbench.parameters import COUNT, NOT_NEGATIVE, OPTIONS, POSITIVE, Either, Instance, optional

# X is the kernel itself.
PRECOMPUTED = "precomputed"
# The default rule for a bandwidth where there are labels or targets.
PROJECTED = "projected"
_OF_DIFFERENCES = ("gaussian", "squared", "multiquadric", "rbf_relative")
KERNEL_ALIASES = {"rbf": "gaussian", "poly": "polynomial"}
# Which option of a family a parameter sets.
_OPTIONS: dict[str, dict[str, str]] = {
    "gaussian": {"sigma": "sigma", "gamma": "sigma"},
    "polynomial": {"degree": "degree", "gamma": "scale", "coef0": "offset"},
}
_BANDWIDTH = Instance((str,), "'projected', 'median', or a share such as '0.1 median'")
# Types of the parameters of kernels and paradigms, with what is allowed.
Bandwidth = Annotated[float | str | None, optional(Either((POSITIVE, _BANDWIDTH)))]
Positive = Annotated[float | None, optional(POSITIVE)]
Count = Annotated[int | None, optional(COUNT)]
Offset = Annotated[float | None, optional(NOT_NEGATIVE)]
Options = Annotated[Mapping[str, Any] | None, optional(OPTIONS)]
# Parameters that set options of a kernel, and of a paradigm.
OF_KERNEL = ("sigma", "gamma", "degree", "coef0")
_OF_PARADIGM = ("n_clusters", "mu")


@dataclass(frozen=True)
class Definitions:
    """A kernel (a definition with its ``family``, or an object), a paradigm's name and its settings."""

    kernel: Any
    paradigm: str
    settings: Mapping[str, Any]

    @property
    def family(self) -> str | None:
        """The kernel's family; ``None`` of an object."""
        return self.kernel.get("family") if isinstance(self.kernel, Mapping) else None

    @property
    def is_gaussian(self) -> bool:
        """Whether the kernel is a Gaussian, by name or an object."""
        return self.family == "gaussian" or isinstance(self.kernel, Gaussian)

    @property
    def sigma(self) -> Any:
        """A Gaussian's bandwidth as it is given, a rule or a number; ``None`` for other kernels."""
        return self.kernel.get("sigma", "median") if self.family == "gaussian" else None

    @property
    def is_of_differences(self) -> bool:
        """Whether the kernel is a function of differences of samples, so that their mean does not matter."""
        if self.family is None:
            return getattr(self.kernel, "pairing", None) == Pairing.DIFFERENCE
        return self.family in _OF_DIFFERENCES

    @property
    def takes_pairs(self) -> bool:
        """Whether the kernel is a function of differences whose sums take pairs of samples, but for approximations."""
        return self.is_gaussian or (self.is_of_differences and self.family != "squared")

    @property
    def is_continuous(self) -> bool:
        """Whether y holds continuous targets."""
        return self.settings.get("target_kernel") is not None

    def with_target_kernel(self, n_samples: int) -> Definitions:
        """Return them with a Gaussian on continuous targets whose sigma is their median distance, if there is none."""
        if self.is_continuous:
            return self
        sigma = "median" if n_samples <= EXACT_SAMPLES else "estimated median"
        kernel = {"family": "gaussian", "sigma": sigma}
        return replace(self, settings={**self.settings, "target_kernel": kernel})


def definitions_of(estimator: Any) -> Definitions:
    """Return what an estimator's ``kernel``, ``paradigm`` and the parameters of both mean.

    Raises ``InputError`` as :func:`kernel_definition`, and for a setting that is given twice.
    """
    settings = dict(estimator.paradigm_params or {})
    given = _given(estimator, _OF_PARADIGM)
    if estimator.paradigm == "supervised":
        # scikit-learn's tools set it wherever there is one.
        given.pop("n_clusters", None)
    for name, value in given.items():
        if name in settings:
            raise InputError(f"{name} is given twice, as a parameter and in paradigm_params; leave out one of them")
        settings[name] = value
    kernel = kernel_definition(estimator)
    if estimator.paradigm == "supervised" and isinstance(kernel, Mapping):
        kernel = _with_projected_bandwidth(kernel)
    return Definitions(kernel, estimator.paradigm, settings)


def _with_projected_bandwidth(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition with sigma ``projected`` for Gaussians that have none, members of a combination too."""
    if kernel.get("family") == "gaussian":
        return {"sigma": PROJECTED, **kernel}
    members = kernel.get("members")
    if kernel.get("family") != "combination" or not isinstance(members, list):
        return dict(kernel)
    changed = [_with_projected_bandwidth(one) if isinstance(one, Mapping) else one for one in members]
    return {**kernel, "members": changed}


def kernel_definition(estimator: Any) -> Any:
    """Return the definition of an estimator's kernel family with its options, or its kernel object.

    Raises ``InputError`` for an unknown family, options of an object, parameters that do not belong to the family, and
    what is given twice.
    """
    kernel, options = estimator.kernel, estimator.kernel_params
    given = _given(estimator, OF_KERNEL)
    if not isinstance(kernel, str):
        if names := [*given, *(["kernel_params"] if options else [])]:
            raise InputError(f"{names[0]}: a kernel object has options of its own; leave it out, or name a family")
        return kernel
    family = KERNEL_ALIASES.get(kernel, kernel)
    if not is_own("kernel", family, FAMILIES) and family not in FAMILIES:
        raise InputError(unknown_method("kernel", "kernel", kernel, {*KERNEL_ALIASES, *FAMILIES}))
    definition, taken = {"family": family, **(options or {})}, _OPTIONS.get(family, {})
    for name, value in given.items():
        if name not in taken:
            takes = ", ".join(taken) or "none of these parameters"
            raise InputError(f"{name} does not belong to kernel {kernel!r}, which takes {takes}; leave it out")
        if (option := taken[name]) in definition:
            raise InputError(f"{name} sets the kernel's {option}, which is given already; leave out one of them")
        definition[option] = sqrt(0.5 / value) if option == "sigma" and name == "gamma" else value
    return definition


def pairwise_kernel(estimator: Any, definition: Any, features: FloatArray, n_components: int | None = None) -> Kernel:
    """Return a kernel with a value for any two samples, resolved on n x d samples for q components (default: d).

    Raises ``InputError`` for the others: combinations, and Gaussians with a bandwidth for each training sample.
    """
    kernel = build_kernel(definition, features, n_components or features.shape[1])
    if isinstance(kernel, Combination | RelativeGaussian):
        raise InputError(
            f"{type(estimator).__name__} needs a kernel with a value for any two samples: no combination and no "
            "rbf_relative"
        )
    return kernel


def _given(estimator: Any, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(estimator, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}
