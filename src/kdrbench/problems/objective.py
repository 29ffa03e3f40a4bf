"""The definition of one problem: data, kernel, and Gamma, the n x n matrix that weighs the kernel's entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdrbench.arrays import HostRows, checked_features, is_device_array, row_chunks, rows_at
from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Kernel, restricted_to
from kdrbench.kernels.combination import doubly_centred
from kdrbench.kernels.family import FloatArray, pairing_values
from kdrbench.samples import ArraySamples, Codes, DeviceSamples, Samples, class_sizes, coded_labels, small_type

# Codes of samples at a time.
_CODES = 2**18

# Groups of samples of one class and one weight, beyond which sums over groups cost more than one weight a sample.
_MOST_GROUPS = 100
# Up to here the eigenvalues of n x n targets are quick; and the share of their kernel that may be left out.
_DENSE_TARGETS, _LEFT_OUT = 400, 1e-12


@dataclass(frozen=True)
class FactoredGamma:
    """Gamma = U diag(weights) U', with its diagonal set to zero when ``zero_diagonal`` is true.

    ``weights`` has length r. ``table`` is U, n x r; or where ``codes`` are given, the k different rows of U: sample i
    then has row ``codes[i]`` of them, and Gamma is constant on blocks of samples, which evaluators make use of. So
    labels take a small integer a sample. A zero diagonal is the papers' convention of dropping each sample's kernel
    value with itself; defined here once, it holds for cost and surrogate of every solver.

    Raises ``InputError`` for codes that leave out a row of the table.
    """

    table: FloatArray
    weights: FloatArray
    zero_diagonal: bool = True
    codes: Codes | None = None

    def __post_init__(self) -> None:
        if self.codes is not None and (self.codes.min() < 0 or (self.class_sizes == 0).any()):
            raise InputError("codes must number the classes 0 to k - 1, each with at least one sample")

    @property
    def n_samples(self) -> int:
        """Number of rows and columns of Gamma."""
        return len(self.table if self.codes is None else self.codes)

    @cached_property
    def factor(self) -> FloatArray:
        """U, n x r; with codes it is made, and then held."""
        return self.table if self.codes is None else self.table[self.codes]

    @cached_property
    def class_sizes(self) -> NDArray[np.intp]:
        """The number of samples of each class."""
        if self.codes is None:
            raise InputError("this Gamma has no classes")
        return class_sizes(self.codes, len(self.table))

    @cached_property
    def class_order(self) -> NDArray[np.intp] | None:
        """The samples' numbers, class after class and the largest class first; ``None`` where they are so already.

        ``None`` as well without ``codes``. With large classes first, evaluators may take the small ones together.
        """
        if self.codes is None:
            return None
        by_size = np.argsort(-self.class_sizes, kind="stable")
        places = np.empty(len(by_size), dtype=np.min_scalar_type(len(by_size)))
        places[by_size] = np.arange(len(by_size))
        places = places[self.codes]
        return None if (places[1:] >= places[:-1]).all() else np.argsort(places, kind="stable")

    def spread_out(self, count: int) -> NDArray[np.intp]:
        """Return ``count`` samples, or all if they are fewer, at equal steps in the order of their classes."""
        count = min(count, self.n_samples)
        places = np.linspace(0, self.n_samples - 1, count).round().astype(np.intp)
        if self.codes is None:
            return places
        # Where each sample would be in the order of classes, for a few samples at a time.
        following = np.r_[0, np.cumsum(self.class_sizes)[:-1]]
        result = np.empty_like(places)
        for begin in range(0, len(self.codes), _CODES):
            here = self.codes[begin : begin + _CODES]
            order, sizes = np.argsort(here, kind="stable"), np.bincount(here, minlength=len(following))
            ends = np.cumsum(sizes)
            for number, (first, size) in enumerate(zip(following, sizes, strict=True)):
                wanted = slice(*np.searchsorted(places, [first, first + size]))
                result[wanted] = begin + order[ends[number] - size + places[wanted] - first]
            following += sizes
        return result

    def of(self, rows: NDArray[np.intp]) -> FactoredGamma:
        """Return the rows and columns of these samples."""
        if self.codes is None:
            return replace(self, table=self.table[rows])
        classes, codes = np.unique(self.codes[rows], return_inverse=True)
        return replace(self, table=self.table[classes], codes=codes.astype(self.codes.dtype))

    def reweighted(self, sample_weight: FloatArray) -> FactoredGamma:
        """Return D H_v U diag(weights) U' H_v' D: Gamma with samples counted ``sample_weight`` times (n numbers >= 0).

        D has the sample weights v on its diagonal, and H_v = I - 1 v'/sum(v) takes the weighted mean instead of the
        mean, so that entry ij is v_i v_j (u_i - m)' diag(weights) (u_j - m), m the weighted mean of the rows of U. It
        is the Gamma of samples that are repeated v times, but for pairs of copies of one sample: like each sample with
        itself they are dropped by a zero diagonal.
        """
        per_row = sample_weight if self.codes is None else np.bincount(self.codes, sample_weight, len(self.table))
        centred = self.table - per_row @ self.table / sample_weight.sum()
        if self.codes is None:
            return replace(self, table=centred * sample_weight[:, None])
        different, places = np.unique(sample_weight, return_inverse=True)
        both, codes = np.unique(self.codes.astype(np.int64) * len(different) + places, return_inverse=True)
        if len(both) > _MOST_GROUPS:
            return replace(self, table=centred[self.codes] * sample_weight[:, None], codes=None)
        rows = centred[both // len(different)] * different[both % len(different)][:, None]
        return replace(self, table=rows, codes=codes.astype(small_type(len(rows))))

    def dense(self) -> FloatArray:
        """Return Gamma as an n x n array."""
        gamma: FloatArray = (self.factor * self.weights) @ self.factor.T
        if self.zero_diagonal:
            np.fill_diagonal(gamma, 0.0)
        return gamma


def one_hot_columns(labels: ArrayLike) -> FloatArray:
    """Return the one-hot columns of labels, n x (number of classes), side by side for several label columns.

    Raises ``InputError`` when labels have more than two dimensions, hold NaN, or a column names fewer than two
    classes.
    """
    columns = [np.eye(len(classes))[codes] for classes, codes in _coded_columns(labels)]
    # One column of labels is not copied again.
    return columns[0] if len(columns) == 1 else np.hstack(columns)


def supervised_gamma(labels: ArrayLike, *, zero_diagonal: bool = True) -> FactoredGamma:
    """Return Gamma = H Y Y' H for one-hot labels Y and the centring matrix H = I - 11'/n.

    ``labels`` has one entry a sample, or n x m columns of labels: Y then holds the one-hot columns of all
    of them, and Gamma is the sum of the columns' Gammas. There is no factor 1/(n-1)^2 and no scaling of Y, as in
    the papers.

    Source: NeurIPS 2019, Eq. 2 (HSIC without its constant).

    Raises ``InputError`` as :func:`one_hot_columns`.
    """
    (classes, codes), *others = _coded_columns(labels)
    table = _centred_rows(len(classes), codes)
    for further, numbers in others:
        # Samples are of one class if all their labels agree.
        both, codes = np.unique(codes.astype(np.int64) * len(further) + numbers, return_inverse=True)
        rows = _centred_rows(len(further), numbers)
        table = np.hstack([table[both // len(further)], rows[both % len(further)]])
    return FactoredGamma(
        table, np.ones(table.shape[1]), zero_diagonal, codes.astype(small_type(len(table)), copy=False)
    )


def _centred_rows(n_classes: int, codes: Codes) -> FloatArray:
    """Return the rows that the classes have in H Y."""
    return np.asarray(np.eye(n_classes) - class_sizes(codes, n_classes) / len(codes))


def integer_gamma(labels: ArrayLike) -> FactoredGamma:
    """Return s H without its diagonal, s = y'y, for integer classes y: the Gamma of an error, not for use.

    The published runs of DG took the vector y of class integers for the matrix Y of one-hot columns. Y Y' then is the
    number y'y, and H Y Y' H becomes s H: a Gamma that knows the classes only by its scale. It is here because the costs
    that ISM+ prints for DG come out with it, and not otherwise.

    Off the diagonal s H is -s / n everywhere, hence of rank one.

    Raises ``InputError`` unless labels are n integers, not all 0.
    """
    classes = np.asarray(labels)
    if classes.ndim != 1 or classes.size == 0 or classes.dtype.kind not in "iu" or not classes.any():
        raise InputError(f"labels must be n integers, not all 0, got {classes.dtype} of shape {classes.shape}")
    weight = -float(np.sum(classes.astype(float) ** 2)) / classes.size
    return FactoredGamma(np.ones((1, 1)), np.array([weight]), True, np.zeros(classes.size, dtype=np.int8))


def target_gamma(targets: FloatArray, kernel: Kernel, *, zero_diagonal: bool = True) -> FactoredGamma:
    """Return Gamma = H K_y H for a kernel on continuous targets.

    ``targets`` is n x m (or n entries) of float64; ``kernel`` is applied to the targets themselves, without a
    projection. The factor holds the eigenvectors of H K_y H whose eigenvalues exceed 1e-12 of the largest, and
    the weights the eigenvalues, which are negative for kernels that are not positive definite.

    Of many samples no n x n array is made: K_y is BB', up to terms that centring removes, but for a positive
    semi-definite rest of at most 1e-12 of its trace (:mod:`kdrbench.kernels.bounded_factor`). With the r columns that B
    needs this takes O(n r^2) time and O(n r) memory. Kernels of users have no such factor.

    Source: NeurIPS 2019, Eq. 2 with a kernel in place of one-hot labels.

    Raises ``InputError`` when targets hold NaN, have more than two dimensions, or are all equal.
    """
    columns = targets[:, None] if targets.ndim == 1 else targets
    if columns.ndim != 2 or columns.size == 0 or not np.isfinite(columns).all():
        raise InputError(f"targets must be finite, n entries or n x m; got shape {targets.shape}, perhaps with NaN")
    if np.ptp(columns, axis=0).max() == 0.0:
        raise InputError("targets are all equal: there is nothing to learn from them")
    factor = None
    if len(columns) > _DENSE_TARGETS:
        from kdrbench.kernels.bounded_factor import centred_factor

        factor = centred_factor(kernel, columns, _LEFT_OUT)
    if factor is None:
        values = kernel.value(pairing_values(kernel.pairing, columns))
        centred = doubly_centred(values)
        weights, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
        kept = np.abs(weights) > _LEFT_OUT * np.abs(weights).max()
        return FactoredGamma(vectors[:, kept], weights[kept], zero_diagonal)
    weights, vectors = np.linalg.eigh(factor.T @ factor)
    kept = weights > _LEFT_OUT * weights[-1]
    return FactoredGamma(factor @ (vectors[:, kept] / np.sqrt(weights[kept])), weights[kept], zero_diagonal)


def _coded_columns(labels: Any) -> Iterator[tuple[NDArray[np.generic], Codes]]:
    """Yield the classes of each column of labels, and the samples' places among them."""
    array = labels if hasattr(labels, "shape") else np.asarray(labels)
    if len(array.shape) not in (1, 2) or 0 in array.shape:
        raise InputError(f"labels must be n entries or n x m columns of labels, got shape {tuple(array.shape)}")
    for column in [array] if len(array.shape) == 1 else np.asarray(array).T:
        yield coded_labels(column)


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

    def longest(self, count: int) -> NDArray[np.intp]:
        """Return the places of the ``count`` samples of largest norm, from one pass over the features."""
        features = HostRows(self.features) if is_device_array(self.features) else self.features
        read = features.rows if isinstance(features, Samples) else features.__getitem__
        norms = [np.linalg.norm(read(rows), axis=1) for rows in row_chunks(*self.features.shape)]
        return np.argsort(-np.concatenate(norms), kind="stable")[:count]

    def of(self, places: NDArray[np.intp]) -> TraceObjective:
        """Return the objective of the samples at ``places``, held in memory."""
        some = self.features.take(places) if isinstance(self.features, Samples) else rows_at(self.features, places)
        return TraceObjective(some, restricted_to(self.kernel, places), self.gamma.of(places))

    @cached_property
    def samples(self) -> Samples:
        """The features for passes that read a few rows at a time."""
        if isinstance(self.features, Samples):
            return self.features
        return (DeviceSamples if is_device_array(self.features) else ArraySamples)(self.features)


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
