"""The definition of one problem: data, kernel, and Gamma, the n x n matrix that weighs the kernel's entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kdrbench.arrays import checked_features, is_device_array, rows_at
from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Kernel, restricted_to
from kdrbench.kernels.family import FloatArray
from kdrbench.problems.gamma import FactoredGamma
from kdrbench.samples import ArraySamples, Samples


@dataclass(frozen=True)
class TraceObjective:
    """F(W) = Tr(Gamma K_XW), K_ij = f(beta_ij), for features X (n x d), a kernel and Gamma (n x n).

    ``features`` are an array, or :class:`kdrbench.samples.Samples` that passes read a few rows at a time.

    Raises ``InputError`` when X is not a finite two-dimensional float64 array or its rows do not match Gamma. Samples
    that are streamed must have been checked.
    """

    features: FloatArray | Samples
    kernel: Kernel | Combination
    gamma: FactoredGamma

    def __post_init__(self) -> None:
        if not isinstance(self.features, Samples):
            check_features(self.features)
        if self.features.shape[0] != self.gamma.n_samples:
            raise InputError(
                f"features have {self.features.shape[0]} samples but labels have {self.gamma.n_samples}; "
                "both must describe the same samples in the same order"
            )

    @property
    def is_streamed(self) -> bool:
        """Whether passes read the samples a few rows at a time."""
        return isinstance(self.features, Samples)

    @property
    def array(self) -> FloatArray:
        """The features where they are in memory; ``InputError`` where they are streamed."""
        if isinstance(self.features, Samples):
            raise InputError(
                "these samples are streamed and not held in memory; choose a linear, squared, polynomial or Gaussian "
                "kernel with evaluator 'auto', or give the samples as an array: np.asarray(X, dtype=float)"
            )
        return self.features

    def of(self, places: NDArray[np.intp]) -> TraceObjective:
        """Return the objective of the samples at ``places``, held in memory."""
        some = self.features.take(places) if isinstance(self.features, Samples) else rows_at(self.features, places)
        return TraceObjective(some, restricted_to(self.kernel, places), self.gamma.of(places))

    @cached_property
    def samples(self) -> Samples:
        """The features for passes that read a few rows at a time."""
        return self.features if isinstance(self.features, Samples) else ArraySamples(self.features)


def check_features(features: FloatArray) -> None:
    """Raise ``InputError`` unless ``features`` is a non-empty, finite, two-dimensional float64 array.

    Arrays of a device may be float32 (:mod:`kdrbench.arrays`).
    """
    if is_device_array(features):
        checked_features(features)
        return
    if features.ndim != 2 or features.size == 0:
        raise InputError(f"features must be a non-empty n x d array, got shape {features.shape}")
    if features.dtype != np.float64:
        raise InputError(f"features must be float64, got {features.dtype}; convert with .astype(float)")
    ArraySamples(features).check_finite()
