"""Methods of supervised dimension reduction beside InterpretableKDR, as scikit-learn transformers, and all by name."""

from kdrbench.reduction.adapters import LDA, PLSDA, LeadingComponents, MedianKernelPCA
from kdrbench.reduction.methods import METHODS, ReducerEntry, build_reducer

__all__ = [
    "LDA",
    "METHODS",
    "PLSDA",
    "LeadingComponents",
    "MedianKernelPCA",
    "ReducerEntry",
    "build_reducer",
]
