"""The ISM family of kernels: each is a scalar function f of a pairing beta of two projected samples."""

from kdrbench.kernels.bandwidth import median_distance
from kdrbench.kernels.combination import Combination, Term, terms_of
from kdrbench.kernels.family import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    Pairing,
    Polynomial,
    Squared,
)
from kdrbench.kernels.registry import FAMILIES, build_kernel, check_definition

__all__ = [
    "FAMILIES",
    "Combination",
    "Gaussian",
    "Kernel",
    "Linear",
    "Multiquadric",
    "Pairing",
    "Polynomial",
    "Squared",
    "Term",
    "build_kernel",
    "check_definition",
    "median_distance",
    "terms_of",
]
