"""scikit-learn faces of the solvers."""

from kdrbench.estimators.interpretable_kdr import InterpretableKDR

__all__ = ["InterpretableKDR"]
