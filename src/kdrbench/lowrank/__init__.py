"""Low-rank kernel learning: the kernel nearest to K0, in Burg's or von Neumann's divergence, under constraints."""

from kdrbench.lowrank.constraints import (
    Constraints,
    Sense,
    diagonal,
    join,
    rank_one,
    rank_two,
    relative_distances,
    similarities,
    squared_distances,
)
from kdrbench.lowrank.learn import DIVERGENCES, SOLVERS, learn_kernel
from kdrbench.lowrank.result import LearnedKernel, Outcome, Stopping
from kdrbench.lowrank.sampling import constraints_from_labels, draw_pairs

__all__ = [
    "DIVERGENCES",
    "SOLVERS",
    "Constraints",
    "LearnedKernel",
    "Outcome",
    "Sense",
    "Stopping",
    "constraints_from_labels",
    "diagonal",
    "draw_pairs",
    "join",
    "learn_kernel",
    "rank_one",
    "rank_two",
    "relative_distances",
    "similarities",
    "squared_distances",
]
