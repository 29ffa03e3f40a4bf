"""Low-rank kernel learning: the kernel nearest to K0, in Burg's or von Neumann's divergence, under constraints."""

from kdrbench.lowrank.constraints import (
    Constraints,
    Sense,
    diagonal,
    join,
    relative_distances,
    similarities,
    squared_distances,
)
from kdrbench.lowrank.correlation import factor_of, kmeans_on_factor, nearest_correlation
from kdrbench.lowrank.definite_boost import definite_boost
from kdrbench.lowrank.learn import DIVERGENCES, SOLVERS, learn_kernel
from kdrbench.lowrank.result import LearnedKernel, LowRankStatus, Stopping
from kdrbench.lowrank.sampling import centred_factor, constraints_from_labels, draw_pairs, isometry_constraints

__all__ = [
    "DIVERGENCES",
    "SOLVERS",
    "Constraints",
    "LearnedKernel",
    "LowRankStatus",
    "Sense",
    "Stopping",
    "centred_factor",
    "constraints_from_labels",
    "definite_boost",
    "diagonal",
    "draw_pairs",
    "factor_of",
    "isometry_constraints",
    "join",
    "kmeans_on_factor",
    "learn_kernel",
    "nearest_correlation",
    "relative_distances",
    "similarities",
    "squared_distances",
]
