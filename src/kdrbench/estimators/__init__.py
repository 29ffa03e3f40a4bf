"""scikit-learn faces of the solvers; each is imported when it is first asked for."""

from importlib import import_module

_MODULES = {
    "DNE": "metric_learners",
    "LMNN": "metric_learners",
    "NCA": "metric_learners",
    "AlignedKernel": "aligned_kernel",
    "InterpretableKDR": "interpretable_kdr",
    "InterpretableKDRCV": "interpretable_kdr_cv",
    "KPCATrick": "kpca_trick",
    "LowRankKernelLearner": "low_rank_kernel_learner",
}
__all__ = list(_MODULES)

# Type checkers and editors take this name for true; that of `typing` would have to be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdrbench.estimators.aligned_kernel import AlignedKernel as AlignedKernel
    from kdrbench.estimators.interpretable_kdr import InterpretableKDR as InterpretableKDR
    from kdrbench.estimators.interpretable_kdr_cv import InterpretableKDRCV as InterpretableKDRCV
    from kdrbench.estimators.kpca_trick import KPCATrick as KPCATrick
    from kdrbench.estimators.low_rank_kernel_learner import LowRankKernelLearner as LowRankKernelLearner
    from kdrbench.estimators.metric_learners import DNE as DNE
    from kdrbench.estimators.metric_learners import LMNN as LMNN
    from kdrbench.estimators.metric_learners import NCA as NCA
else:

    def __getattr__(name):
        """Return an estimator, whose module is imported when it is first asked for."""
        if name in _MODULES:
            return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
