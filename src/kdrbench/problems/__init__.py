"""What is maximised: F(W) = Tr(Gamma K_XW) over orthonormal W, with Gamma kept as factors."""

from kdrbench.problems.approximable import (
    ApproximableProblem,
    Coordinates,
    accuracy_of,
    approximation_of,
    evaluated_as,
    explanation_of,
    hessian_of,
    in_row_space,
    is_approximable,
)
from kdrbench.problems.contract import Counters, PassStoppedError, Problem
from kdrbench.problems.gamma import FactoredGamma, one_hot_columns, supervised_gamma, target_gamma
from kdrbench.problems.objective import TraceObjective

__all__ = [
    "ApproximableProblem",
    "Coordinates",
    "Counters",
    "FactoredGamma",
    "PassStoppedError",
    "Problem",
    "TraceObjective",
    "accuracy_of",
    "approximation_of",
    "evaluated_as",
    "explanation_of",
    "hessian_of",
    "in_row_space",
    "is_approximable",
    "one_hot_columns",
    "supervised_gamma",
    "target_gamma",
]
