"""scikit-learn faces of the solvers."""

from kdrbench.estimators.interpretable_kdr import InterpretableKDR
from kdrbench.estimators.kernel_metric import KernelMetricLearner

__all__ = ["InterpretableKDR", "KernelMetricLearner"]
