"""Standardising features with the statistics of the training samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.problems.objective import check_features

# A column whose spread is this small beside its size is constant up to rounding.
_RELATIVE_SPREAD = 1e-12


@dataclass(frozen=True)
class Standardiser:
    """x -> (x - mean) / scale, feature by feature; ``scale`` is the population standard deviation (ddof 0).

    Constant features (``constant`` is true there) become exactly zero, in new samples too: nothing was
    learned about their scale.
    """

    mean: FloatArray
    scale: FloatArray
    constant: NDArray[np.bool_]

    @classmethod
    def fit(cls, features: FloatArray) -> Standardiser:
        """Take mean and spread from training ``features`` (n x d); ``InputError`` if NaN, infinite or empty."""
        check_features(features)
        # Scaling first keeps squares of huge values finite and those of tiny values above zero.
        largest = np.abs(features).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scaled = features / unit
        mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
        constant = spread <= _RELATIVE_SPREAD
        return cls(mean * unit, np.where(constant, 1.0, spread * unit), constant)

    def transform(self, features: FloatArray) -> FloatArray:
        """Return standardised features; ``InputError`` when their number is not the fitted one."""
        if features.ndim != 2 or features.shape[1] != self.mean.size:
            raise InputError(f"expected n x {self.mean.size} features as fitted, got shape {features.shape}")
        result = (features - self.mean) / self.scale
        result[:, self.constant] = 0.0
        return result
