"""Methods of supervised dimension reduction beside InterpretableKDR, as scikit-learn transformers, and all by name."""

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
