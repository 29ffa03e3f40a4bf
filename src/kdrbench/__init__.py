"""Solvers and a benchmark suite for learning projections and kernels.

The estimators can be imported from here; ``import kdrbench`` alone loads nothing else.
"""

__version__ = "0.1.0"
__all__ = [
    "DNE",
    "LMNN",
    "NCA",
    "AlignedKernel",
    "InterpretableKDR",
    "InterpretableKDRCV",
    "KPCATrick",
    "LowRankKernelLearner",
    "__version__",
]

# Type checkers and editors take this name for true; that of `typing` would have to be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdrbench.estimators import (
        DNE,
        LMNN,
        NCA,
        AlignedKernel,
        InterpretableKDR,
        InterpretableKDRCV,
        KPCATrick,
        LowRankKernelLearner,
    )
else:

    def __getattr__(name):
        """Return an estimator, which is imported when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from kdrbench import estimators

        return getattr(estimators, name)

    def __dir__():
        """Return the estimators as well, whether or not they have been imported."""
        return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
