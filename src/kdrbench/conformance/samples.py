"""The small problem on which plug-ins are checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray

N_SAMPLES, N_FEATURES, N_CLASSES = 40, 6, 3


def features_and_labels() -> tuple[FloatArray, NDArray[np.int64]]:
    """Return three overlapping classes of 40 samples, centred, and their codes; the same every time."""
    labels = np.arange(N_SAMPLES) % N_CLASSES
    features = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES)) + 0.7 * labels[:, None]
    return features - features.mean(axis=0), labels


def some_projection(n_features: int, n_components: int) -> FloatArray:
    """Return an orthonormal array that is no stationary point of anything; the same every time."""
    columns = np.random.default_rng(1).standard_normal((n_features, n_components))
    return np.ascontiguousarray(np.linalg.qr(columns)[0])
