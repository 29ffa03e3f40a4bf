"""Small made data whose answer is known: each function returns features (n x d) and integer labels.

Columns beyond the informative ones are standard normal noise. Nothing is scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray

Labels = NDArray[np.int64]


def four_gaussians(
    n_samples: int, rng: np.random.Generator, *, n_noise: int = 3, spread: float = 0.3
) -> tuple[FloatArray, Labels]:
    """Four classes, one on each corner of a square of side 2."""
    corners = rng.integers(0, 2, (n_samples, 2))
    informative = 2.0 * corners - 1.0 + spread * rng.standard_normal((n_samples, 2))
    features = np.hstack([informative, rng.standard_normal((n_samples, n_noise))])
    return features, (2 * corners[:, 0] + corners[:, 1]).astype(np.int64)


def noise(n_samples: int, n_features: int, n_classes: int, rng: np.random.Generator) -> tuple[FloatArray, Labels]:
    """Labels that have nothing to do with the features; each class has a member if there are enough."""
    labels = np.arange(n_samples) % n_classes
    return rng.standard_normal((n_samples, n_features)), rng.permutation(labels).astype(np.int64)


def two_pairs_of_moons(
    n_samples: int, rng: np.random.Generator, *, spread: float = 0.1
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Two labellings (n x 2), independent of each other: which of two half circles, in two pairs of columns.

    All four combinations are equally frequent, up to one sample.
    """
    codes = rng.permutation(np.arange(n_samples) % 4)
    labels = np.column_stack([codes // 2, codes % 2]).astype(np.int64)
    angles = rng.uniform(0.0, np.pi, labels.shape)
    # The second moon is the first turned by half a turn about (1/2, 1/4).
    side = 1.0 - 2.0 * labels
    pairs = np.stack([side * np.cos(angles) + labels, side * np.sin(angles) + 0.5 * labels], axis=2)
    return pairs.reshape(n_samples, 4) + spread * rng.standard_normal((n_samples, 4)), labels


def gaussians_on_a_rectangle(
    n_samples: int, rng: np.random.Generator, *, sides: tuple[float, float] = (9.0, 7.0)
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Four unit Gaussians at the corners of a rectangle and a uniform noise column; two labellings (n x 2).

    The first tells the halves of the long side apart, the second those of the short side. All four corners are equally
    frequent, up to one sample.
    """
    codes = rng.permutation(np.arange(n_samples) % 4)
    labels = np.column_stack([codes // 2, codes % 2]).astype(np.int64)
    informative = (labels - 0.5) * np.array(sides) + rng.standard_normal((n_samples, 2))
    return np.column_stack([informative, rng.uniform(-10.0, 10.0, n_samples)]), labels


def growing(
    n_samples: int, rng: np.random.Generator, *, n_features: int = 20, n_classes: int = 4
) -> tuple[FloatArray, Labels]:
    """Classes 0, 1, ... in turn, each 3 away from the others in a column of its own, in standard normal noise.

    With the same seed a smaller set is the beginning of a larger one, so that only the size differs.
    """
    labels = np.arange(n_samples) % n_classes
    features = rng.standard_normal((n_samples, n_features))
    features[np.arange(n_samples), labels] += 3.0 / np.sqrt(2.0)
    return features, labels.astype(np.int64)


def species_kernel(
    counts: tuple[int, ...], rng: np.random.Generator, *, n_sites: int = 400, n_letters: int = 20
) -> tuple[FloatArray, Labels]:
    """Sequences on a tree: an ancestor, species that differ from it, members that differ from their species.

    The kernel is the share of identical sites of two sequences, a Gram matrix of one-hot codes divided by the number of
    sites and so positive semidefinite, with ones on the diagonal. Species change 30 % of the sites, members 2 to 15 %.
    """
    ancestor = rng.integers(0, n_letters, n_sites)
    labels = np.repeat(np.arange(len(counts)), counts)
    species = [_mutated(ancestor, 0.3, n_letters, rng) for _ in counts]
    members = np.array([_mutated(species[code], rng.uniform(0.02, 0.15), n_letters, rng) for code in labels])
    same = (members[:, None, :] == members[None, :, :]).mean(axis=2)
    return same.astype(np.float64), labels.astype(np.int64)


def _mutated(sequence: Labels, share: float, n_letters: int, rng: np.random.Generator) -> Labels:
    changed = rng.random(sequence.size) < share
    # A change is to one of the other letters.
    shifted = (sequence + rng.integers(1, n_letters, sequence.size)) % n_letters
    return np.where(changed, shifted, sequence)


def ring(n_samples: int, rng: np.random.Generator) -> tuple[FloatArray, Labels]:
    """Return a disc and a ring around it (n x 2) and their labels: x1^2 + x2^2 separates them."""
    labels = np.arange(n_samples) % 2
    radii = np.where(labels == 0, np.sqrt(rng.random(n_samples)), 2.0 + 0.5 * rng.random(n_samples))
    angles = 2 * np.pi * rng.random(n_samples)
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), labels


def cone(n_samples: int, rng: np.random.Generator) -> tuple[FloatArray, Labels]:
    """Return normal samples in and out of a cone (n x 4): x1^2 - x2^2 + x3^2 - x4^2 separates them."""
    features = rng.standard_normal((4 * n_samples, 4))
    form = np.square(features) @ np.array([1.0, -1.0, 1.0, -1.0])
    chosen = np.flatnonzero(np.abs(form) > 0.7)[:n_samples]
    return features[chosen], (form[chosen] > 0).astype(np.intp)
