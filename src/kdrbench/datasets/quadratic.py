"""Two sets of two classes that no line separates, but a form of degree two does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Labels = NDArray[np.intp]


def ring(rng: np.random.Generator, n_samples: int) -> tuple[FloatArray, Labels]:
    """Return a disc and a ring around it (n x 2) and their labels: x1^2 + x2^2 separates them."""
    labels = np.arange(n_samples) % 2
    radii = np.where(labels == 0, np.sqrt(rng.random(n_samples)), 2.0 + 0.5 * rng.random(n_samples))
    angles = 2 * np.pi * rng.random(n_samples)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), labels


def cone(rng: np.random.Generator, n_samples: int) -> tuple[FloatArray, Labels]:
    """Return normal samples in and out of a cone (n x 4): x1^2 - x2^2 + x3^2 - x4^2 separates them."""
    features = rng.standard_normal((4 * n_samples, 4))
    form = np.square(features) @ np.array([1.0, -1.0, 1.0, -1.0])
    chosen = np.flatnonzero(np.abs(form) > 0.7)[:n_samples]
    return features[chosen], (form[chosen] > 0).astype(np.intp)
