"""scikit-learn faces of the solvers; each is imported when it is first asked for."""

from importlib import import_module

_MODULES = {
    "AlignedKernel": "aligned_kernel",
    "DNE": "metric_learners",
    "InterpretableKDR": "interpretable_kdr",
    "InterpretableKDRCV": "interpretable_kdr_cv",
    "KPCATrick": "kpca_trick",
    "LMNN": "metric_learners",
    "LowRankKernelLearner": "low_rank_kernel_learner",
    "NCA": "metric_learners",
}
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

# Type checkers and editors take this name for true; that of `typing` would have to be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdrbench.estimators.aligned_kernel import AlignedKernel
    from kdrbench.estimators.interpretable_kdr import InterpretableKDR
    from kdrbench.estimators.interpretable_kdr_cv import InterpretableKDRCV
    from kdrbench.estimators.kpca_trick import KPCATrick
    from kdrbench.estimators.low_rank_kernel_learner import LowRankKernelLearner
    from kdrbench.estimators.metric_learners import DNE, LMNN, NCA
else:

    def __getattr__(name):
        """Return an estimator, whose module is imported when it is first asked for."""
        if name in _MODULES:
            return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
