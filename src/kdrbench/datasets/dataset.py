"""Data sets in memory, and how features are standardised."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DataError, InputError, unknown_name
from kdrbench.kernels.family import FloatArray
from kdrbench.problems.objective import check_features

# A column whose spread is this small beside its size is constant up to rounding.
_RELATIVE_SPREAD = 1e-12


@dataclass(frozen=True)
class Labelling:
    """One way to class the samples: ``codes`` holds n class codes 0, 1, ... and ``class_names`` what they mean."""

    name: str
    codes: NDArray[np.int64]
    class_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """``features``: n x d, float64, C-contiguous, unscaled; ``labels``: n class codes 0, 1, ...; and names.

    A set without labels has empty ``labels`` and ``class_names``. ``labellings`` class the same samples otherwise,
    as alternative clustering wants it.
    """

    name: str
    features: FloatArray
    labels: NDArray[np.int64]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    labellings: tuple[Labelling, ...] = ()

    @property
    def content_sha256(self) -> str:
        """SHA-256 of shape, little-endian feature values and labels: equal for equal data from any source."""
        digest = hashlib.sha256(repr(self.features.shape).encode())
        # Hashed as they lie in memory: a copy of a large set would double what it takes.
        digest.update(np.ascontiguousarray(self.features, dtype="<f8").data)
        digest.update(self.labels.astype("<i8").tobytes())
        for labelling in self.labellings:
            digest.update(labelling.name.encode() + labelling.codes.astype("<i8").tobytes())
        return digest.hexdigest()

    def labelling(self, name: str) -> Labelling:
        """Return a further labelling by name; ``DataError`` naming those there are."""
        by_name = {labelling.name: labelling for labelling in self.labellings}
        if name not in by_name:
            raise DataError(f"data set {self.name!r}: {unknown_name('labelling', name, list(by_name))}")
        return by_name[name]


def check_dataset(dataset: Dataset) -> None:
    """Raise ``DataError`` when values are NaN or infinite, shapes disagree, or there is a single class."""
    name, features = dataset.name, dataset.features
    labelled = bool(dataset.class_names) or dataset.labels.size > 0
    if features.ndim != 2 or (labelled and features.shape[0] != dataset.labels.shape[0]):
        shapes = f"features {features.shape} and labels {dataset.labels.shape}"
        raise DataError(f"data set {name!r}: {shapes} do not describe the same samples")
    if features.shape[1] != len(dataset.feature_names):
        raise DataError(
            f"data set {name!r}: {features.shape[1]} features but {len(dataset.feature_names)} feature names"
        )
    if (is_bad := ~np.isfinite(features)).any():
        row, column = np.argwhere(is_bad)[0]
        raise DataError(
            f"data set {name!r} holds {is_bad.sum()} NaN or infinite values, the first in sample {row}, "
            f"feature {dataset.feature_names[column]!r}; leave such samples out or impute them in the parser"
        )
    if labelled and len(dataset.class_names) < 2:
        raise DataError(f"data set {name!r} has {len(dataset.class_names)} class(es); at least 2 are needed")
    for labelling in dataset.labellings:
        if labelling.codes.shape != (features.shape[0],):
            raise DataError(
                f"data set {name!r}: labelling {labelling.name!r} has {labelling.codes.size} labels for "
                f"{features.shape[0]} samples"
            )


@dataclass(frozen=True)
class Standardiser:
    """x -> (x - mean) / scale, feature by feature; ``scale`` is the population standard deviation (ddof 0).

    Constant features (``constant`` is true there) become exactly zero, in new samples too: nothing was
    learned about their scale.
    """

    mean: FloatArray
    scale: FloatArray
    constant: NDArray[np.bool_]

    @classmethod
    def fit(cls, features: FloatArray) -> Standardiser:
        """Take mean and spread from training ``features`` (n x d); ``InputError`` if NaN, infinite or empty."""
        check_features(features)
        # Scaling first keeps squares of huge values finite and those of tiny values above zero.
        largest = np.abs(features).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scaled = features / unit
        mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
        constant = spread <= _RELATIVE_SPREAD
        return cls(mean * unit, np.where(constant, 1.0, spread * unit), constant)

    def transform(self, features: FloatArray) -> FloatArray:
        """Return standardised features; ``InputError`` when their number is not the fitted one."""
        if features.ndim != 2 or features.shape[1] != self.mean.size:
            raise InputError(f"expected n x {self.mean.size} features as fitted, got shape {features.shape}")
        result = (features - self.mean) / self.scale
        result[:, self.constant] = 0.0
        return result


def check_kernel(data: Dataset) -> None:
    """Raise ``DataError`` unless features are a kernel: square, finite, symmetric, semidefinite up to rounding.

    Text files round to some decimals, and rounding each entry by e moves an eigenvalue by at most n e: eigenvalues
    down to -n e are let pass for e = 1e-6 of the largest entry, the error of values printed with six digits.
    """
    kernel, n = data.features, len(data.labels)
    if kernel.shape != (n, n) or n == 0:
        raise DataError(
            f"kernel {data.name!r} has shape {kernel.shape} and {n} labels; it must be square, a row a label"
        )
    if not np.isfinite(kernel).all():
        raise DataError(f"kernel {data.name!r} holds NaN or infinite values")
    if not np.array_equal(kernel, kernel.T):
        row, column = np.argwhere(kernel != kernel.T)[0]
        raise DataError(
            f"kernel {data.name!r} is not symmetric: entry ({row}, {column}) is {kernel[row, column]}, entry "
            f"({column}, {row}) is {kernel[column, row]}"
        )
    smallest = float(np.linalg.eigvalsh(kernel)[0])
    if smallest < -1e-6 * n * np.abs(kernel).max():
        raise DataError(f"kernel {data.name!r} is not positive semidefinite: its smallest eigenvalue is {smallest:g}")
