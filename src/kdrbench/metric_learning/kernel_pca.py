"""Kernel matrices between samples, their principal components (KPCA), and the KPCA trick that kernelises learners.

With n samples KPCA takes O(n^3) time and O(n^2) memory. In the span of m of them, the landmarks of the Nystroem method,
it takes O(n m^2) and O(m^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.spatial.distance import cdist

from kdrbench.errors import InputError
from kdrbench.kernels.combination import Combination, terms_of
from kdrbench.kernels.family import FloatArray, Gaussian, Kernel, Pairing
from kdrbench.metric_learning.learner import Learner, class_codes, learn_map
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.parameters import POSITIVE, Either, OneOf, check_value, whole
from kdrbench.samples import evenly_drawn
from kdrbench.samples.passes import chunks

# k(left, right) for rows of features (m x D, n x D): m x n.
KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]
AnyKernel = Kernel | Combination | KernelFunction
# Up to here ``auto`` keeps all components. Beyond, those that hold this share of the variance, up to this number.
_ALL_SAMPLES, _EXPLAINED_SHARE, _MOST = 1000, 0.99, 100
# From here on the largest eigenvalues alone are sought, if they are at most this share of all.
_ITERATED_SAMPLES, _FEW = 1000, 0.2
# Samples that are mapped at a time; whose kernel with the landmarks is held at a time, and with each other, for k(x, x)
# of any function.
_ROWS, _LANDMARK_ROWS, _SQUARE = 2048, 1024, 64
# The package's one notion of rank: eigenvalues below this share of the largest are zero.
RANK_TOLERANCE = 1e-12
COMPONENTS = Either((OneOf(("auto",)), whole(1)), or_none=True)


def scaled_gaussian(sigma: float, n_features: int) -> Gaussian:
    """Return k(x, y) = exp(-|x - y|^2 / (2 D sigma^2)), D = ``n_features``, the kernel of Chatpatanasiri et al. 2010.

    Raises ``InputError`` unless sigma is a finite number > 0.
    """
    check_value("sigma", sigma, POSITIVE)
    return Gaussian(float(sigma) * float(np.sqrt(n_features)))


class SamplePairs:
    """All pairs of the rows of ``left`` (m x D) and ``right`` (n x D), their distances and products computed once.

    Kernels of any bandwidth or degree, and the folds of a cross validation, share them.
    """

    def __init__(self, left: FloatArray, right: FloatArray) -> None:
        self._left, self._right = left, right
        self._beta: dict[Pairing, FloatArray] = {}

    def beta(self, pairing: Pairing) -> FloatArray:
        """Return what kernels of this pairing are functions of, m x n; not to be written to."""
        if pairing not in self._beta:
            if pairing is Pairing.DIFFERENCE:
                # From differences, not from products: a pair has the same distance in whatever array it is, and
                # far from zero no digits are lost, which wide Gaussians would need.
                self._beta[pairing] = cdist(self._left, self._right, "sqeuclidean")
            else:
                self._beta[pairing] = self._left @ self._right.T
        return self._beta[pairing]

    def block(self, rows: slice, columns: slice) -> SamplePairs:
        """Return the pairs of some rows with some columns, nothing of them computed or kept here."""
        return SamplePairs(self._left[rows], self._right[columns])

    def gram(self, kernel: AnyKernel, *, up_to_constant: bool = False) -> FloatArray:
        """Return K_ij = k(left_i, right_j), m x n, or with ``up_to_constant`` one that centring makes equal to it.

        For Gaussians that is K - 1, from expm1: a wide one is 1 - 1e-6 or so everywhere, and subtracting the means of
        such a K would leave few digits of the samples' differences.

        Raises ``InputError`` for a function whose values are not a finite m x n array.
        """
        shape = (len(self._left), len(self._right))
        if callable(kernel):
            return _checked(kernel(self._left, self._right), shape)
        total: FloatArray = np.zeros(shape)
        for term in terms_of(kernel):
            beta = self.beta(term.kernel.pairing)
            if up_to_constant and isinstance(term.kernel, Gaussian):
                total += term.weight * np.expm1(beta * (-0.5 / term.kernel.sigma**2))
            else:
                total += term.weight * term.kernel.value(beta)
        return _checked(total, shape)


def _checked(values: object, shape: tuple[int, int]) -> FloatArray:
    gram = np.asarray(values)
    if gram.shape != shape or gram.dtype.kind not in "fiu" or not np.isfinite(gram).all():
        raise InputError(
            f"a kernel of {shape[0]} samples by {shape[1]} must be a finite real array of shape {shape}; got "
            f"{gram.dtype} of shape {gram.shape}" + ("" if gram.shape != shape else ": scale the features")
        )
    return gram.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class KernelPCA:
    """Orthonormal coordinates of feature vectors about the mean of n training ones.

        z(x) = Lambda^-1/2 V' H (k_x - K1/n)

    for the eigenvectors V (n x r) and eigenvalues ``values`` Lambda > 0, largest first, of HKH, H = I - 11'/n, and
    k_x the kernel of x with the training samples. Distances of coordinates are those of feature vectors, projected to
    the span of the training ones. ``scaled_vectors`` is V Lambda^-1/2, ``column_means`` K1/n. ``explained`` is the
    share of tr HKH, the variance of feature vectors, that the components hold.

    Source: Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", 1998;
    Chatpatanasiri et al. 2010, section 3.
    """

    values: FloatArray
    scaled_vectors: FloatArray
    column_means: FloatArray
    explained: float = 1.0

    def transform(self, gram: FloatArray) -> FloatArray:
        """Return the coordinates (m x r) of m samples from their kernel with the n training ones (m x n).

        Training samples have the same coordinates whether they come back alone, together or in another order.
        Raises ``InputError`` for another number of columns.
        """
        if gram.ndim != 2 or gram.shape[1] != len(self.column_means):
            raise InputError(
                f"the kernel must be between samples and the {len(self.column_means)} training samples, "
                f"m x {len(self.column_means)}; got shape {gram.shape}"
            )
        centred = gram - self.column_means
        centred -= centred.mean(axis=1, keepdims=True)
        return np.asarray(centred @ self.scaled_vectors)


def kernel_pca(gram: FloatArray, n_components: int | str | None = None) -> KernelPCA:
    """Return KPCA of a training kernel K (n x n), all components or the ``n_components`` largest there are.

    ``auto``: all for at most 1000 samples; beyond, the largest that hold 99 % of the variance, and at most 100. Where
    few are asked for of many, ARPACK seeks them alone: O(n^2) for each, where all take O(n^3).

    K need be positive semidefinite only once centred; a constant added to it changes nothing. Eigenvalues up to
    1e-12 of the largest, or up to the rounding errors of K itself, count as zero.

    Raises ``InputError`` for a K that is not square, symmetric and finite, has a negative eigenvalue once centred, or
    is constant, and for ``n_components`` that is not an integer >= 1, ``auto`` or ``None``.
    """
    check_value("n_components", n_components, COMPONENTS)
    _check_symmetric(gram)
    means = gram.mean(axis=0)
    centred = gram - means
    centred -= centred.mean(axis=1, keepdims=True)
    most = components_kept(len(gram), n_components)
    share = _EXPLAINED_SHARE if n_components == "auto" and most is not None else 1.0
    values, vectors = _spectrum(centred, float(np.abs(gram).max()), most)
    total = max(float(np.trace(centred)), float(values.sum()))
    if share < 1.0:
        count = int(np.searchsorted(np.cumsum(values), share * total)) + 1
        values, vectors = values[:count], vectors[:, :count]
    return KernelPCA(values, vectors / np.sqrt(values), means, float(values.sum()) / total)


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
    for rows in chunks(n_samples, _LANDMARK_ROWS):
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
        kept = kept[: int(np.searchsorted(np.cumsum(values[kept]), _EXPLAINED_SHARE * total)) + 1]
    share = min(float(values[kept].sum()) / total, 1.0)
    return KernelPCA(values[kept], basis.scaled_vectors @ vectors[:, kept], means, share)


def _diagonal(kernel: AnyKernel, features: FloatArray) -> FloatArray:
    """Return k(x, x) of each sample, up to the constant that centring takes away."""
    parts = [features[rows] for rows in chunks(len(features), _SQUARE)]
    return np.concatenate([np.diag(SamplePairs(part, part).gram(kernel, up_to_constant=True)) for part in parts])


def components_kept(n_samples: int, n_components: int | str | None) -> int | None:
    """Return the most components that :func:`kernel_pca` keeps; ``None`` for all there are."""
    if n_components == "auto":
        return None if n_samples <= _ALL_SAMPLES else _MOST
    return cast("int | None", n_components)


def _spectrum(centred: FloatArray, magnitude: float, most: int | None) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of HKH that are not zero, ``most`` of them, largest first, and their vectors."""
    n_samples = len(centred)
    if most is not None and n_samples > _ITERATED_SAMPLES and most <= _FEW * n_samples:
        values, vectors = _largest(centred, most)
        threshold = rank_threshold(values, magnitude, n_samples)
        smallest = _smallest_below(centred, -threshold)
    else:
        values, vectors = eigh(0.5 * (centred + centred.T))
        threshold, smallest = rank_threshold(values, magnitude), float(values[0])
    if smallest < -threshold:
        raise InputError(
            f"the kernel is not positive semidefinite: once centred, its most negative eigenvalue is {smallest:.6g} "
            f"(the largest is {values[-1]:.6g}); choose another kernel, or clip its eigenvalues first"
        )
    kept = np.flatnonzero(values > threshold)[::-1][:most]
    if not len(kept):
        raise InputError(f"the kernel is constant on these {n_samples} samples; there is nothing to learn from")
    return values[kept], vectors[:, kept]


def _largest(centred: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the ``count`` largest eigenvalues, ascending, and their vectors; the same in every run."""
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(len(centred))
    values, vectors = eigsh(centred, count, which="LA", v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _smallest_below(centred: FloatArray, bound: float) -> float:
    """Return the smallest eigenvalue if it may be below ``bound`` < 0, and ``bound`` otherwise."""
    shifted = 0.5 * (centred + centred.T)
    # A Cholesky factor exists where all eigenvalues are above this shift, but for rounding; it is quick.
    shifted[np.diag_indices(len(shifted))] -= bound
    try:
        cholesky(shifted, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return float(eigh(0.5 * (centred + centred.T), eigvals_only=True, subset_by_index=[0, 0])[0])
    return bound


def rank_threshold(values: FloatArray, magnitude: float, n_samples: int | None = None) -> float:
    """Return up to where eigenvalues of a matrix are zero, from those and the largest entry before centring.

    ``n_samples`` is its size where only some of its eigenvalues are given.
    """
    rounding = 8.0 * (n_samples or len(values)) * float(np.finfo(np.float64).eps) * magnitude
    return max(RANK_TOLERANCE * float(np.abs(values).max()), rounding)


def _check_symmetric(gram: FloatArray) -> None:
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
        raise InputError(f"a training kernel must be a finite square matrix, got shape {gram.shape}")
    asymmetry, largest = float(np.abs(gram - gram.T).max()), float(np.abs(gram).max())
    if asymmetry > 1e-8 * largest:
        raise InputError(
            f"a training kernel must be symmetric; entries differ from their mirror by up to {asymmetry:.3g}"
        )


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A learned map on coordinates: x -> A'z(x), whose Euclidean distances are the learned ones.

    ``samples`` are the training samples, or ``None`` where the kernel is given as matrices.
    """

    coordinates: KernelPCA
    projection: FloatArray
    kernel: AnyKernel | None = None
    samples: FloatArray | None = None

    def transform(self, features: FloatArray) -> FloatArray:
        """Return A'z(x) (m x d) for m x D features, or for their kernel with the training samples (m x n)."""
        if self.kernel is None or self.samples is None:
            return self.transform_gram(features)
        if features.ndim != 2 or features.shape[1] != self.samples.shape[1]:
            raise InputError(f"expected features with {self.samples.shape[1]} columns, got shape {features.shape}")
        parts = []
        for rows in chunks(max(len(features), 1), _ROWS):
            gram = SamplePairs(features[rows], self.samples).gram(self.kernel, up_to_constant=True)
            parts.append(self.transform_gram(gram))
        return np.vstack(parts)

    def transform_gram(self, gram: FloatArray) -> FloatArray:
        """Do the same from the kernel matrix (m x n)."""
        return np.asarray(self.coordinates.transform(gram) @ self.projection)


@dataclass(frozen=True)
class KPCATrick:
    """``learner`` in the feature space of ``kernel``.

    By the representer theorem an optimal map of feature vectors needs only their components in the span of the training
    ones, and there KPCA coordinates are orthonormal: the learner, unchanged, finds in coordinates what its kernelised
    formula would find in dual variables, with the same objective, also with a Frobenius (Hilbert-Schmidt) regulariser.

    ``kernel`` is a kernel or combination of :mod:`kdrbench.kernels`, for instance :func:`scaled_gaussian`; a function
    of two arrays of features; or "precomputed", and then kernel matrices replace features. ``n_components`` keeps
    only the largest components (Remark 4), ``auto`` as :func:`kernel_pca`: quicker, and not the same result.

    Source: Chatpatanasiri, Korsrilabutr, Tangchanachaianan, Kijsirikul, "A new kernelization framework for Mahalanobis
    distance learning algorithms", Neurocomputing 73, 2010: Theorems 1 to 3, Proposition 3.
    """

    kernel: AnyKernel | str
    learner: Learner
    n_components: int | str | None = None

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
        return replace(trick, kernel=self.kernel, samples=features)


def fit_in_coordinates(
    learner: Learner, gram: FloatArray, labels: NDArray[np.generic], n_components: int | str | None = None
) -> KernelMap:
    """Return the learner's map in the KPCA coordinates of a training kernel (n x n)."""
    coordinates = kernel_pca(gram, n_components)
    return KernelMap(coordinates, learn_map(learner, coordinates.transform(gram), labels))


def drawn_landmarks(labels: NDArray[np.generic], count: int, rng: np.random.Generator) -> IntArray:
    """Return the numbers of ``count`` samples, ascending, drawn at random with the classes' shares.

    Raises ``InputError`` unless 2 <= count <= n.
    """
    codes = class_codes(labels)
    check_value("n_landmarks", count, whole(2, len(codes), f"the {len(codes)} samples"))
    return evenly_drawn(codes, count, rng)


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
