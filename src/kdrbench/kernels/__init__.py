"""The ISM family of kernels: each is a scalar function f of a pairing beta of two projected samples."""

from kdrbench.kernels.combination import Combination, Term, aligned_weights, gram_matrix, restricted_to, terms_of
from kdrbench.kernels.family import (
    EstimatedGaussian,
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    Pairing,
    Polynomial,
    RelativeGaussian,
    Squared,
    restricted,
)
from kdrbench.kernels.median import MedianDistance, estimated_median_distance, median_distance
from kdrbench.kernels.neighbours import neighbour_distances
from kdrbench.kernels.registry import EXACT_SAMPLES, FAMILIES, build_kernel, check_definition
from kdrbench.kernels.user import UserKernel

__all__ = [
    "EXACT_SAMPLES",
    "FAMILIES",
    "Combination",
    "EstimatedGaussian",
    "Gaussian",
    "Kernel",
    "Linear",
    "MedianDistance",
    "Multiquadric",
    "Pairing",
    "Polynomial",
    "RelativeGaussian",
    "Squared",
    "Term",
    "UserKernel",
    "aligned_weights",
    "build_kernel",
    "check_definition",
    "estimated_median_distance",
    "gram_matrix",
    "median_distance",
    "neighbour_distances",
    "restricted",
    "restricted_to",
    "terms_of",
]
