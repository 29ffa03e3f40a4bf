"""Small made data whose answer is known: each function returns features (n x d) and integer labels.

Columns beyond the informative ones are standard normal noise. Nothing is scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray

Labels = NDArray[np.int64]


def xor(
    n_samples: int, rng: np.random.Generator, *, n_noise: int = 3, spread: float = 0.3
) -> tuple[FloatArray, Labels]:
    """Two classes on opposite corners of a square of side 2: no single column tells them apart."""
    corners = rng.integers(0, 2, (n_samples, 2))
    informative = 2.0 * corners - 1.0 + spread * rng.standard_normal((n_samples, 2))
    return _with_noise(informative, n_noise, rng), (corners[:, 0] ^ corners[:, 1]).astype(np.int64)


def four_gaussians(
    n_samples: int, rng: np.random.Generator, *, n_noise: int = 3, spread: float = 0.3
) -> tuple[FloatArray, Labels]:
    """Four classes, one on each corner of a square of side 2."""
    corners = rng.integers(0, 2, (n_samples, 2))
    informative = 2.0 * corners - 1.0 + spread * rng.standard_normal((n_samples, 2))
    return _with_noise(informative, n_noise, rng), (2 * corners[:, 0] + corners[:, 1]).astype(np.int64)


def circles(
    n_samples: int, rng: np.random.Generator, *, n_noise: int = 3, spread: float = 0.1
) -> tuple[FloatArray, Labels]:
    """Two classes on circles of radius 1 and 2 about the origin."""
    labels = rng.integers(0, 2, n_samples)
    angles = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    radii = 1.0 + labels + spread * rng.standard_normal(n_samples)
    informative = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return _with_noise(informative, n_noise, rng), labels.astype(np.int64)


def independent_labellings(
    n_samples: int, rng: np.random.Generator, *, separations: tuple[float, ...] = (9.0, 8.0, 7.0), spread: float = 1.0
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Several two-class labellings of the same samples, independent of each other; labels are n x m.

    All combinations of classes are equally frequent, up to one sample. Labelling i splits the i-th pair of columns
    into two groups ``separations[i]`` apart along their diagonal.
    """
    n_labellings = len(separations)
    codes = rng.permutation(np.arange(n_samples) % 2**n_labellings)
    labels = (codes[:, None] >> np.arange(n_labellings)) & 1
    centres = (labels - 0.5) * np.array(separations) / np.sqrt(2.0)
    features = np.repeat(centres, 2, axis=1) + spread * rng.standard_normal((n_samples, 2 * n_labellings))
    return features, labels.astype(np.int64)


def noise(n_samples: int, n_features: int, n_classes: int, rng: np.random.Generator) -> tuple[FloatArray, Labels]:
    """Labels that have nothing to do with the features; each class has a member if there are enough."""
    labels = np.arange(n_samples) % n_classes
    return rng.standard_normal((n_samples, n_features)), rng.permutation(labels).astype(np.int64)


def _with_noise(informative: FloatArray, n_noise: int, rng: np.random.Generator) -> FloatArray:
    return np.hstack([informative, rng.standard_normal((informative.shape[0], n_noise))])
