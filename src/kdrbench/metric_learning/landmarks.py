"""KPCA and the KPCA trick for many samples, in the span of some of them: the landmarks of the Nystroem method.

With n samples and m landmarks a fit takes O(n m^2) time and O(m^2) memory where all samples take O(n^3) and O(n^2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.kernel_pca import (
    EXPLAINED_SHARE,
    AnyKernel,
    KernelMap,
    KernelPCA,
    SamplePairs,
    components_kept,
    kernel_pca,
    rank_threshold,
)
from kdrbench.metric_learning.learner import Learner, class_codes, learn_map
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import check_value, whole
from kdrbench.samples import evenly_drawn
from kdrbench.samples.passes import chunks

# Samples whose kernel with the landmarks is held at a time, and with each other, for k(x, x) of any function.
_ROWS, _SQUARE = 1024, 64


def drawn_landmarks(labels: NDArray[np.generic], count: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers of ``count`` samples, ascending, drawn at random with the classes' shares.

    Raises ``InputError`` unless 2 <= count <= n.
    """
    codes = class_codes(labels)
    check_value("n_landmarks", count, whole(2, len(codes), f"the {len(codes)} samples"))
    return evenly_drawn(codes, count, rng)


def landmark_pca(
    kernel: AnyKernel, landmarks: FloatArray, features: FloatArray, n_components: int | str | None = None
) -> KernelPCA:
    """Return KPCA of n samples (``features``, n x D), projected to the span of m ``landmarks`` (m x D).

    With z_L the coordinates of KPCA of the landmarks, all of them (:func:`kernel_pca`), it is the PCA of those:

        z(x) = Q' (z_L(x) - mean z_L),   sum_i (z_L(x_i) - mean z_L) (z_L(x_i) - mean z_L)' = Q Lambda Q'

    Of all samples as landmarks that is their KPCA. ``explained`` is a lower bound of the share of the variance of
    feature vectors that the components hold: to the variance within the span is added the sum of squared distances
    from it, |phi(x_i) - mean phi(landmarks)|^2 - |z_L(x_i)|^2, which is at least the variance beyond it.

    Source: Williams, Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 2000; Schoelkopf, Smola,
    Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", 1998.

    Raises ``InputError`` as :func:`kernel_pca` does, of the kernel between landmarks.
    """
    gram = SamplePairs(landmarks, landmarks).gram(kernel, up_to_constant=True)
    basis = kernel_pca(gram)
    n_samples, offset, magnitude = len(features), float(basis.column_means.mean()), float(np.abs(gram).max())
    scatter, means, beyond = np.zeros((len(basis.values),) * 2), np.zeros(len(landmarks)), 0.0
    for rows in chunks(n_samples, _ROWS):
        block = SamplePairs(features[rows], landmarks).gram(kernel, up_to_constant=True)
        inside = basis.transform(block)
        scatter += inside.T @ inside
        means += block.sum(axis=0)
        squares = _diagonal(kernel, features[rows]) - 2.0 * block.mean(axis=1) + offset
        beyond += float(np.maximum(squares - np.sum(inside**2, axis=1), 0.0).sum())
    means /= n_samples
    middle = basis.transform(means[None])[0]
    scatter -= n_samples * np.outer(middle, middle)
    values, vectors = eigh(scatter)
    total = float(values.clip(0.0).sum()) + beyond
    most = components_kept(n_samples, n_components)
    kept = np.flatnonzero(values > rank_threshold(values, magnitude, n_samples))[::-1][:most]
    if not len(kept):
        raise InputError(f"the kernel is constant on these {n_samples} samples; there is nothing to learn from")
    if n_components == "auto" and most is not None:
        kept = kept[: int(np.searchsorted(np.cumsum(values[kept]), EXPLAINED_SHARE * total)) + 1]
    share = min(float(values[kept].sum()) / total, 1.0)
    return KernelPCA(values[kept], basis.scaled_vectors @ vectors[:, kept], means, share)


def fit_on_landmarks(
    kernel: AnyKernel,
    learner: Learner,
    features: FloatArray,
    labels: NDArray[np.generic],
    landmarks: FloatArray,
    n_components: int | str | None = None,
) -> KernelMap:
    """Return the learner's map of all n samples in their coordinates by :func:`landmark_pca`."""
    coordinates = landmark_pca(kernel, landmarks, features, n_components)
    mapped = KernelMap(coordinates, np.eye(len(coordinates.values)), kernel, landmarks)
    return replace(mapped, projection=learn_map(learner, mapped.transform(features), labels))


def _diagonal(kernel: AnyKernel, features: FloatArray) -> FloatArray:
    """Return k(x, x) of each sample, up to the constant that centring takes away."""
    parts = [features[rows] for rows in chunks(len(features), _SQUARE)]
    return np.concatenate([np.diag(SamplePairs(part, part).gram(kernel, up_to_constant=True)) for part in parts])
