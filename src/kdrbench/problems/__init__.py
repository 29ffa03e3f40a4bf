"""What is maximised: F(W) = Tr(Gamma K_XW) over orthonormal W, with Gamma kept as factors."""

from kdrbench.problems.contract import (
    ApproximableProblem,
    Coordinates,
    Counters,
    Problem,
    accuracy_of,
    approximation_of,
    evaluated_as,
    explanation_of,
    hessian_of,
    hessian_vectors_of,
    in_row_space,
    is_approximable,
    refined_at,
    surrogate_is_constant,
    surrogate_products_of,
    value_and_gradient_of,
)
from kdrbench.problems.gamma import (
    FactoredGamma,
    integer_gamma,
    one_hot_columns,
    supervised_gamma,
    target_gamma,
)
from kdrbench.problems.objective import TraceObjective
from kdrbench.samples.passes import PassStoppedError

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
    "hessian_vectors_of",
    "in_row_space",
    "integer_gamma",
    "is_approximable",
    "one_hot_columns",
    "refined_at",
    "supervised_gamma",
    "surrogate_is_constant",
    "surrogate_products_of",
    "target_gamma",
    "value_and_gradient_of",
]
