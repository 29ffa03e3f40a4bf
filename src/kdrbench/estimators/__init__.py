"""scikit-learn faces of the solvers."""

from kdrbench.estimators.aligned_kernel import AlignedKernel
from kdrbench.estimators.interpretable_kdr import InterpretableKDR
from kdrbench.estimators.interpretable_kdr_cv import InterpretableKDRCV
from kdrbench.estimators.kpca_trick import KPCATrick
from kdrbench.estimators.low_rank_kernel_learner import LowRankKernelLearner
from kdrbench.estimators.metric_learners import DNE, LMNN, NCA

__all__ = [
    "DNE",
    "LMNN",
    "NCA",
    "AlignedKernel",
    "InterpretableKDR",
    "InterpretableKDRCV",
    "KPCATrick",
    "LowRankKernelLearner",
]
