"""The KPCA trick: any learner of linear maps, fitted on KPCA coordinates, is its own kernel version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.gram import AnyKernel, SamplePairs
from kdrbench.metric_learning.kernel_pca import KernelPCA, kernel_pca
from kdrbench.metric_learning.learner import Learner, learn_map


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A learned map on coordinates: x -> A'z(x), whose Euclidean distances are the learned ones.

    ``samples`` are the training samples, or ``None`` where the kernel is given as matrices.
    """

    coordinates: KernelPCA
    projection: FloatArray
    kernel: AnyKernel | None
    samples: FloatArray | None

    def transform(self, features: FloatArray) -> FloatArray:
        """Return A'z(x) (m x d) for m x D features, or for their kernel with the training samples (m x n)."""
        if self.kernel is None or self.samples is None:
            return self.transform_gram(features)
        if features.ndim != 2 or features.shape[1] != self.samples.shape[1]:
            raise InputError(f"expected features with {self.samples.shape[1]} columns, got shape {features.shape}")
        return self.transform_gram(SamplePairs(features, self.samples).gram(self.kernel, up_to_constant=True))

    def transform_gram(self, gram: FloatArray) -> FloatArray:
        """Do the same from the kernel matrix (m x n)."""
        mapped: FloatArray = self.coordinates.transform(gram) @ self.projection
        return mapped


@dataclass(frozen=True)
class KPCATrick:
    """``learner`` in the feature space of ``kernel``.

    By the representer theorem an optimal map of feature vectors needs only their components in the span of the training
    ones, and there KPCA coordinates are orthonormal: the learner, unchanged, finds in coordinates what its kernelised
    formula would find in dual variables, with the same objective, also with a Frobenius (Hilbert-Schmidt) regulariser.

    ``kernel`` is a kernel or combination of :mod:`kdrbench.kernels`, for instance :func:`scaled_gaussian`; a function
    of two arrays of features; or "precomputed", and then kernel matrices replace features. ``n_components`` keeps
    only the largest components (Remark 4): quicker, and not the same result.

    Source: Chatpatanasiri, Korsrilabutr, Tangchanachaianan, Kijsirikul, "A new kernelization framework for Mahalanobis
    distance learning algorithms", Neurocomputing 73, 2010: Theorems 1 to 3, Proposition 3.
    """

    kernel: AnyKernel | str
    learner: Learner
    n_components: int | None = None

    def fit(self, features: FloatArray, labels: NDArray[np.generic]) -> KernelMap:
        """Learn from ``features`` (n x D), or a kernel matrix (n x n), and n class labels.

        Raises ``InputError`` for a kernel that is not positive semidefinite or constant, and whatever the learner
        refuses.
        """
        if isinstance(self.kernel, str):
            if self.kernel != "precomputed":
                raise InputError(
                    f"a kernel must be 'precomputed', a kernel of kdrbench.kernels or a function; got {self.kernel!r}"
                )
            return fit_in_coordinates(self.learner, features, labels, self.n_components)
        if not np.isfinite(features).all():
            raise InputError(f"features hold {int((~np.isfinite(features)).sum())} NaN or infinite values")
        gram = SamplePairs(features, features).gram(self.kernel, up_to_constant=True)
        trick = fit_in_coordinates(self.learner, gram, labels, self.n_components)
        return KernelMap(trick.coordinates, trick.projection, self.kernel, features)


def fit_in_coordinates(
    learner: Learner, gram: FloatArray, labels: NDArray[np.generic], n_components: int | None = None
) -> KernelMap:
    """Return the learner's map in the KPCA coordinates of a training kernel (n x n)."""
    coordinates = kernel_pca(gram, n_components)
    return KernelMap(coordinates, learn_map(learner, coordinates.transform(gram), labels), None, None)
