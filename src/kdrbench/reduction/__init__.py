"""Methods of supervised dimension reduction beside InterpretableKDR, as scikit-learn transformers, and all by name.

The names of the methods are there at once; a transformer, with scikit-learn, is imported when it is first asked for.
"""

from importlib import import_module

from kdrbench.reduction.methods import METHODS, ReducerEntry, build_reducer

_MODULES = {
    **dict.fromkeys(("LDA", "PLSDA", "LeadingComponents", "MedianKernelPCA", "RandomAxes"), "adapters"),
    **dict.fromkeys(("ShuffledLabels", "SupervisedUMAP"), "adapters"),
    **dict.fromkeys(("LFDA", "KernelDiscriminantAnalysis"), "discriminants"),
    **dict.fromkeys(("SAVE", "SIR", "DirectionalRegression", "GradientKDR", "SupervisedPCA"), "sufficient"),
}
__all__ = ["METHODS", "ReducerEntry", "build_reducer", *_MODULES]

# Type checkers and editors take this name for true; that of `typing` would have to be imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdrbench.reduction.adapters import LDA as LDA
    from kdrbench.reduction.adapters import PLSDA as PLSDA
    from kdrbench.reduction.adapters import LeadingComponents as LeadingComponents
    from kdrbench.reduction.adapters import MedianKernelPCA as MedianKernelPCA
    from kdrbench.reduction.adapters import RandomAxes as RandomAxes
    from kdrbench.reduction.adapters import ShuffledLabels as ShuffledLabels
    from kdrbench.reduction.adapters import SupervisedUMAP as SupervisedUMAP
    from kdrbench.reduction.discriminants import LFDA as LFDA
    from kdrbench.reduction.discriminants import KernelDiscriminantAnalysis as KernelDiscriminantAnalysis
    from kdrbench.reduction.sufficient import SAVE as SAVE
    from kdrbench.reduction.sufficient import SIR as SIR
    from kdrbench.reduction.sufficient import DirectionalRegression as DirectionalRegression
    from kdrbench.reduction.sufficient import GradientKDR as GradientKDR
    from kdrbench.reduction.sufficient import SupervisedPCA as SupervisedPCA
else:

    def __getattr__(name):
        """Return a transformer, whose module is imported when it is first asked for."""
        if name in _MODULES:
            return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """Return the transformers as well, whether or not they have been imported."""
        return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
