"""Phi_0 in time linear in n: at beta = 0 a kernel's slope is one number, so the weights of pairs are Gamma's."""

from __future__ import annotations

import numpy as np

from kdrbench.evaluation.passes import Report
from kdrbench.evaluation.weights import GammaSums, weighted_gram
from kdrbench.kernels import Pairing, RelativeGaussian, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective

_ROUNDING = 1e-13


def cleaned_degrees(sums: GammaSums, n_samples: int) -> FloatArray:
    """Return Gamma 1, its diagonal kept; zero where it is rounding, as for every centred Gamma."""
    ones = np.ones((n_samples, 1))
    degrees = sums.applied(ones, ones)[:, 0]
    rounding = _ROUNDING * n_samples * np.abs(sums.diagonal).max()
    return np.where(np.abs(degrees) > rounding, degrees, 0.0)


def slopes_are_one_number(objective: TraceObjective) -> bool:
    """Return whether no member of the kernel has a slope of its own for each pair."""
    return not any(isinstance(term.kernel, RelativeGaussian) for term in terms_of(objective.kernel))


def initial_surrogate(objective: TraceObjective, threads: int = 1, report: Report | None = None) -> FloatArray:
    """Return sum_i mu_i f_i'(0) X' Gamma X (dot) or 2 X' (diag(Gamma 1) - Gamma) X (difference), in double precision.

    Where f_i'(0) is zero, the sign of f_i' above 0 replaces it.
    """
    features, gamma = objective.features, objective.gamma
    sums = GammaSums(gamma, threads)
    ones = np.ones((len(features), 1))
    quadratic = sums.quadratic(ones, features, report)
    slopes = dict.fromkeys(Pairing, 0.0)
    for term in terms_of(objective.kernel):
        slope = float(term.kernel.derivative(np.zeros((1, 1)))[0, 0])
        slope = slope or float(np.sign(term.kernel.derivative(np.ones((1, 1)))[0, 0]))
        slopes[term.kernel.pairing] += term.weight * slope
    result: FloatArray = np.zeros_like(quadratic)
    if slopes[Pairing.DOT]:
        diagonal = sums.diagonal if gamma.zero_diagonal else np.zeros(len(features))
        result += slopes[Pairing.DOT] * (quadratic - weighted_gram(features, diagonal, threads, report))
    if slopes[Pairing.DIFFERENCE]:
        # What Gamma has on its diagonal cancels.
        degrees = cleaned_degrees(sums, len(features))
        result += 2.0 * slopes[Pairing.DIFFERENCE] * (weighted_gram(features, degrees, threads, report) - quadratic)
    return result
