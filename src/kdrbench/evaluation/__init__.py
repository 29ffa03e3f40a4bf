"""How value, gradient and surrogate of a problem are evaluated."""

from kdrbench.evaluation.cost_model import Plan, explain, plan
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.dispatched import DispatchedProblem, build_problem
from kdrbench.evaluation.factored import FactoredProblem
from kdrbench.evaluation.gaussian_sums import ClassSumsProblem, ErrorBound
from kdrbench.evaluation.low_rank import LowRankProblem
from kdrbench.evaluation.on_request import AutomaticProblem, PairwiseSumProblem
from kdrbench.evaluation.options import EVALUATORS, Evaluation
from kdrbench.evaluation.panels import PanelProblem
from kdrbench.evaluation.streaming import STREAMED_FAMILIES

__all__ = [
    "EVALUATORS",
    "STREAMED_FAMILIES",
    "AutomaticProblem",
    "ClassSumsProblem",
    "DenseProblem",
    "DispatchedProblem",
    "ErrorBound",
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
