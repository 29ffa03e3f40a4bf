"""Methods of supervised dimension reduction beside InterpretableKDR, as scikit-learn transformers, and all by name.

The names of the methods are there at once; a transformer, with scikit-learn, is imported when it is first asked for.
"""

from importlib import import_module

from kdrbench.reduction.methods import METHODS, ReducerEntry, build_reducer

__all__ = [
    "LDA",
    "LFDA",
    "METHODS",
    "PLSDA",
    "SAVE",
    "SIR",
    "DirectionalRegression",
    "GradientKDR",
    "KernelDiscriminantAnalysis",
    "LeadingComponents",
    "MedianKernelPCA",
    "RandomAxes",
    "ReducerEntry",
    "ShuffledLabels",
    "SupervisedPCA",
    "SupervisedUMAP",
    "build_reducer",
]

# Type checkers and editors take this name for true; that of `typing` would have to be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdrbench.reduction.adapters import (
        LDA,
        PLSDA,
        LeadingComponents,
        MedianKernelPCA,
        RandomAxes,
        ShuffledLabels,
        SupervisedUMAP,
    )
    from kdrbench.reduction.discriminants import LFDA, KernelDiscriminantAnalysis
    from kdrbench.reduction.inverse_regression import SAVE, SIR, DirectionalRegression
    from kdrbench.reduction.kernel_dimension_reduction import GradientKDR, SupervisedPCA
else:
    _MODULES = {
        "adapters": (
            "LDA",
            "PLSDA",
            "LeadingComponents",
            "MedianKernelPCA",
            "RandomAxes",
            "ShuffledLabels",
            "SupervisedUMAP",
        ),
        "discriminants": ("KernelDiscriminantAnalysis", "LFDA"),
        "inverse_regression": ("SAVE", "SIR", "DirectionalRegression"),
        "kernel_dimension_reduction": ("GradientKDR", "SupervisedPCA"),
    }

    def __getattr__(name):
        """Return a transformer, whose module is imported when it is first asked for."""
        for module, names in _MODULES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """Return the transformers as well, whether or not they have been imported."""
        return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
