"""scikit-learn faces of the solvers."""

from kdrbench.estimators.interpretable_kdr import InterpretableKDR
from kdrbench.estimators.kernel_metric import KernelMetricLearner
from kdrbench.estimators.low_rank_kernel_learner import LowRankKernelLearner

__all__ = ["InterpretableKDR", "KernelMetricLearner", "LowRankKernelLearner"]
