"""How value, gradient and surrogate of a problem are evaluated."""

from kdrbench.surrogate.dense import DenseProblem
from kdrbench.surrogate.dispatch import build_problem

__all__ = ["DenseProblem", "build_problem"]
