"""What is maximised: F(W) = Tr(Gamma K_XW) over orthonormal W, with Gamma kept as factors."""

from kdrbench.problems.contract import Coordinates, Counters, PassStoppedError, Problem
from kdrbench.problems.gamma import FactoredGamma, one_hot_columns, supervised_gamma, target_gamma
from kdrbench.problems.objective import TraceObjective

__all__ = [
    "Coordinates",
    "Counters",
    "FactoredGamma",
    "PassStoppedError",
    "Problem",
    "TraceObjective",
    "one_hot_columns",
    "supervised_gamma",
    "target_gamma",
]
