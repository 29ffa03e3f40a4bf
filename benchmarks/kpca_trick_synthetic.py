"""Two sets of two classes that no line parts, and a form of degree two does."""

from __future__ import annotations

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray


def ring(rng: np.random.Generator, n_samples: int) -> tuple[FloatArray, IntArray]:
    """Return a disc and a ring around it: of degree 2, x^2 + y^2 parts them."""
    labels = np.arange(n_samples) % 2
    radii = np.where(labels == 0, np.sqrt(rng.random(n_samples)), 2.0 + 0.5 * rng.random(n_samples))
    angles = 2 * np.pi * rng.random(n_samples)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), labels


def cone(rng: np.random.Generator, n_samples: int) -> tuple[FloatArray, IntArray]:
    """Return four features, the first and third of which are drawn: x1^2 + x2^2 - x3^2 - x4^2 parts the classes."""
    features = rng.standard_normal((4 * n_samples, 4))
    form = np.square(features) @ np.array([1.0, 1.0, -1.0, -1.0])
    chosen = np.flatnonzero(np.abs(form) > 0.7)[:n_samples]
    return features[chosen][:, [0, 2, 1, 3]], (form[chosen] > 0).astype(np.intp)
