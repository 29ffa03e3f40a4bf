"""How value, gradient and surrogate of a problem are evaluated; each evaluator has a module of its own."""

from kdrbench.evaluation.cost_model import EVALUATORS, STREAMED_FAMILIES, Evaluation, Plan, plan
from kdrbench.evaluation.dispatched import DispatchedProblem, build_problem

__all__ = [
    "EVALUATORS",
    "STREAMED_FAMILIES",
    "DispatchedProblem",
    "Evaluation",
    "Plan",
    "build_problem",
    "plan",
]
