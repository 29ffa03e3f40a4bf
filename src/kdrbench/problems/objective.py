"""The definition of one problem: data, kernel and Gamma."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.problems.gamma import FactoredGamma


@dataclass(frozen=True)
class TraceObjective:
    """F(W) = Tr(Gamma K_XW), K_ij = f(beta_ij), for features X (n x d), a kernel and Gamma (n x n).

    Raises ``InputError`` when X is not a finite two-dimensional float64 array or its rows do not match Gamma.
    """

    features: FloatArray
    kernel: Kernel | Combination
    gamma: FactoredGamma

    def __post_init__(self) -> None:
        check_features(self.features)
        if self.features.shape[0] != self.gamma.n_samples:
            raise InputError(
                f"features have {self.features.shape[0]} samples but labels have {self.gamma.n_samples}; "
                "both must describe the same samples in the same order"
            )


def check_features(features: FloatArray) -> None:
    """Raise ``InputError`` unless ``features`` is a non-empty, finite, two-dimensional float64 array."""
    if features.ndim != 2 or features.size == 0:
        raise InputError(f"features must be a non-empty n x d array, got shape {features.shape}")
    if features.dtype != np.float64:
        raise InputError(f"features must be float64, got {features.dtype}; convert with .astype(float)")
    bad = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"features hold {int(bad.sum())} NaN or infinite values, the first at row {row}, column {column}; "
            "remove or impute them"
        )
