"""What is maximised: F(W) = Tr(Gamma K_XW) over orthonormal W, with Gamma kept as factors."""

from kdrbench.problems.contract import (
    ApproximableProblem,
    Counters,
    Problem,
    accuracy_of,
    approximation_of,
    evaluated_as,
    few_outweigh,
    hessian_of,
    hessian_vectors_of,
    in_row_space,
    is_approximable,
    surrogate_is_constant,
    surrogate_products_of,
    value_and_gradient_of,
)
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
    "ApproximableProblem",
    "Counters",
    "FactoredGamma",
    "PassStoppedError",
    "Problem",
    "TraceObjective",
    "accuracy_of",
    "approximation_of",
    "evaluated_as",
    "few_outweigh",
    "hessian_of",
    "hessian_vectors_of",
    "in_row_space",
    "integer_gamma",
    "is_approximable",
    "one_hot_columns",
    "supervised_gamma",
    "surrogate_is_constant",
    "surrogate_products_of",
    "target_gamma",
    "value_and_gradient_of",
]
