"""How value, gradient and surrogate of a problem are evaluated."""

from kdrbench.surrogate.automatic import AutomaticProblem
from kdrbench.surrogate.dense import DenseProblem
from kdrbench.surrogate.dispatch import Plan, explain, plan
from kdrbench.surrogate.dispatched import DispatchedProblem, build_problem
from kdrbench.surrogate.evaluation import EVALUATORS, Evaluation
from kdrbench.surrogate.factored import FactoredProblem
from kdrbench.surrogate.low_rank import LowRankProblem
from kdrbench.surrogate.pairwise_sum import PairwiseSumProblem
from kdrbench.surrogate.panels import PanelProblem

__all__ = [
    "EVALUATORS",
    "AutomaticProblem",
    "DenseProblem",
    "DispatchedProblem",
    "Evaluation",
    "FactoredProblem",
    "LowRankProblem",
    "PairwiseSumProblem",
    "PanelProblem",
    "Plan",
    "build_problem",
    "explain",
    "plan",
]
