"""Supervised IKDR: max HSIC(XW, y) = Tr(K_XW H K_y H)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kdrbench.evaluation import build_problem
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, TraceObjective, supervised_gamma, target_gamma


def supervised_problem(features: FloatArray, labels: ArrayLike, kernel: Kernel | Combination) -> Problem:
    """Return the problem max_W Tr(H Y Y' H K_XW) with the diagonal of K dropped.

    ``features`` is n x d (standardised by the caller), ``labels`` has n entries of any type, or n x m columns of
    them: Y holds the one-hot columns of all.

    Source: NeurIPS 2019, Eq. 2.
    """
    return build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))


def regression_problem(
    features: FloatArray, targets: FloatArray, kernel: Kernel | Combination, target_kernel: Kernel
) -> Problem:
    """Return the problem max_W Tr(H K_y H K_XW) with the diagonal of K dropped, for continuous targets.

    ``targets`` has n entries or n x m, ``target_kernel`` makes K_y of them as they are.

    Source: NeurIPS 2019, Eq. 2 with a kernel in place of one-hot labels.
    """
    return build_problem(TraceObjective(features, kernel, target_gamma(targets, target_kernel)))
