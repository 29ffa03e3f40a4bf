"""What is maximised: F(W) = Tr(Gamma K_XW) over orthonormal W, with Gamma kept as factors."""

from kdrbench.problems.contract import Counters, Problem, RowSpace
from kdrbench.problems.objective import (
    FactoredGamma,
    TraceObjective,
    integer_gamma,
    one_hot_columns,
    supervised_gamma,
    target_gamma,
)
from kdrbench.samples.passes import PassStoppedError

__all__ = [
    "Counters",
    "FactoredGamma",
    "PassStoppedError",
    "Problem",
    "RowSpace",
    "TraceObjective",
    "integer_gamma",
    "one_hot_columns",
    "supervised_gamma",
    "target_gamma",
]
