"""What is learned from: each paradigm turns data into problems for a solver."""

from kdrbench.paradigms.supervised import supervised_problem

__all__ = ["supervised_problem"]
