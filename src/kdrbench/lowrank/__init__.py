"""Low-rank kernel learning: the kernel nearest to K0, in Burg's or von Neumann's divergence, under constraints."""

from kdrbench.lowrank.constraints import (
    Constraints,
    Sense,
    constraints_from_labels,
    diagonal,
    draw_pairs,
    join,
    rank_one,
    relative_distances,
    similarities,
    squared_distances,
)
from kdrbench.lowrank.definite_boost import definite_boost
from kdrbench.lowrank.factors import factor_of, kmeans_on_factor
from kdrbench.lowrank.learn import DIVERGENCES, SOLVERS, learn_kernel
from kdrbench.lowrank.result import LearnedKernel, LowRankStatus, Stopping

__all__ = [
    "DIVERGENCES",
    "SOLVERS",
    "Constraints",
    "LearnedKernel",
    "LowRankStatus",
    "Sense",
    "Stopping",
    "constraints_from_labels",
    "definite_boost",
    "diagonal",
    "draw_pairs",
    "factor_of",
    "join",
    "kmeans_on_factor",
    "learn_kernel",
    "rank_one",
    "relative_distances",
    "similarities",
    "squared_distances",
]
