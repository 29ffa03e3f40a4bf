"""The definition of one problem: data, kernel, and Gamma, the n x n matrix that weighs the kernel's entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.bounded_factor import centred_factor
from kdrbench.kernels.combination import doubly_centred
from kdrbench.kernels.family import FloatArray, pairing_values

# Up to here the eigenvalues of n x n targets are quick; and the share of their kernel that may be left out.
_DENSE_TARGETS, _LEFT_OUT = 400, 1e-12


@dataclass(frozen=True)
class FactoredGamma:
    """Gamma = U diag(weights) U', with its diagonal set to zero when ``zero_diagonal`` is true.

    ``factor`` is U, n x r; ``weights`` has length r. A zero diagonal is the papers' convention of dropping
    each sample's kernel value with itself; defined here once, it holds for cost and surrogate of every solver.
    ``codes``, where given, numbers the samples 0 to k - 1 such that those of one number have equal rows of U:
    Gamma is then constant on blocks of samples, which evaluators make use of.

    Raises ``InputError`` for codes that leave out a number.
    """

    factor: FloatArray
    weights: FloatArray
    zero_diagonal: bool = True
    codes: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.codes is not None and (self.codes.min() < 0 or (np.bincount(self.codes) == 0).any()):
            raise InputError("codes must number the classes 0 to k - 1, each with at least one sample")

    @property
    def n_samples(self) -> int:
        """Number of rows and columns of Gamma."""
        return int(self.factor.shape[0])

    @cached_property
    def class_order(self) -> NDArray[np.intp] | None:
        """The samples' numbers, class after class and the largest class first; ``None`` where they are so already.

        ``None`` as well without ``codes``. With large classes first, evaluators may take the small ones together.
        """
        if self.codes is None:
            return None
        by_size = np.argsort(-np.bincount(self.codes), kind="stable")
        places = np.empty(len(by_size), dtype=np.min_scalar_type(len(by_size)))
        places[by_size] = np.arange(len(by_size))
        places = places[self.codes]
        return None if (places[1:] >= places[:-1]).all() else np.argsort(places, kind="stable")

    def of(self, rows: NDArray[np.intp]) -> FactoredGamma:
        """Return the rows and columns of these samples."""
        codes = None if self.codes is None else np.unique(self.codes[rows], return_inverse=True)[1].astype(np.int64)
        return FactoredGamma(self.factor[rows], self.weights, self.zero_diagonal, codes)

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
    columns = [np.eye(n_classes)[codes] for codes, n_classes in _coded_columns(labels)]
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
    parts, codes = [], np.zeros(1, dtype=np.int64)
    for numbers, n_classes in _coded_columns(labels):
        centred = np.eye(n_classes) - np.bincount(numbers) / len(numbers)
        parts.append(centred[numbers])
        # Samples are of one class if all their labels agree.
        codes = codes * n_classes + numbers
        if len(parts) > 1:
            codes = np.unique(codes, return_inverse=True)[1]
    factor = parts[0] if len(parts) == 1 else np.hstack(parts)
    return FactoredGamma(factor, np.ones(factor.shape[1]), zero_diagonal, codes.astype(np.int64, copy=False))


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
    one_class = np.zeros(classes.size, dtype=np.int64)
    return FactoredGamma(np.ones((classes.size, 1)), np.array([weight]), True, one_class)


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
    factor = None if len(columns) <= _DENSE_TARGETS else centred_factor(kernel, columns, _LEFT_OUT)
    if factor is None:
        values = kernel.value(pairing_values(kernel.pairing, columns))
        centred = doubly_centred(values)
        weights, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
        kept = np.abs(weights) > _LEFT_OUT * np.abs(weights).max()
        return FactoredGamma(vectors[:, kept], weights[kept], zero_diagonal)
    weights, vectors = np.linalg.eigh(factor.T @ factor)
    kept = weights > _LEFT_OUT * weights[-1]
    return FactoredGamma(factor @ (vectors[:, kept] / np.sqrt(weights[kept])), weights[kept], zero_diagonal)


def _coded_columns(labels: ArrayLike) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Yield the classes of each column of labels, numbered from 0, and how many there are."""
    array = np.asarray(labels)
    if array.ndim not in (1, 2) or array.size == 0:
        raise InputError(f"labels must be n entries or n x m columns of labels, got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("labels must not be NaN or infinite; remove those samples or give them a class")
    for column in array[None] if array.ndim == 1 else array.T:
        try:
            classes, codes = np.unique(column, return_inverse=True)
        except TypeError as error:
            raise InputError(f"labels of one column must be of one type, none missing: {error}") from error
        if len(classes) < 2:
            raise InputError(f"labels must name at least 2 classes, got {len(classes)} class(es): {classes.tolist()}")
        yield codes, len(classes)


@dataclass(frozen=True)
class TraceObjective:
    """F(W) = Tr(Gamma K_XW), K_ij = f(beta_ij), for features X (n x d), a kernel and Gamma (n x n).

    Raises ``InputError`` when X is not a finite two-dimensional float64 array or its rows do not match Gamma.
    """

    features: FloatArray
    kernel: Kernel | Combination
    gamma: FactoredGamma

    def __post_init__(self) -> None:
        check_features(self.features)
        if self.features.shape[0] != self.gamma.n_samples:
            raise InputError(
                f"features have {self.features.shape[0]} samples but labels have {self.gamma.n_samples}; "
                "both must describe the same samples in the same order"
            )


def check_features(features: FloatArray) -> None:
    """Raise ``InputError`` unless ``features`` is a non-empty, finite, two-dimensional float64 array."""
    if features.ndim != 2 or features.size == 0:
        raise InputError(f"features must be a non-empty n x d array, got shape {features.shape}")
    if features.dtype != np.float64:
        raise InputError(f"features must be float64, got {features.dtype}; convert with .astype(float)")
    bad = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"features hold {int(bad.sum())} NaN or infinite values, the first at row {row}, column {column}; "
            "remove or impute them"
        )
