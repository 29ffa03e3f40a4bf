"""Supervised IKDR: max HSIC(XW, Y) = Tr(K_XW H Y Y' H)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, TraceObjective, supervised_gamma
from kdrbench.surrogate import build_problem


def supervised_problem(features: FloatArray, labels: ArrayLike, kernel: Kernel | Combination) -> Problem:
    """Return the problem max_W Tr(H Y Y' H K_XW) with the diagonal of K dropped.

    ``features`` is n x d (standardised by the caller), ``labels`` has n entries of any type.

    Source: NeurIPS 2019, Eq. 2.
    """
    return build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))
