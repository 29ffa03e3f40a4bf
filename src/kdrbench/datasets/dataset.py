"""A data set in memory and in its prepared file."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DataError
from kdrbench.files import write_bytes
from kdrbench.kernels.family import FloatArray


@dataclass(frozen=True)
class Dataset:
    """``features``: n x d, float64, C-contiguous, unscaled; ``labels``: n class codes 0, 1, ...; and names."""

    name: str
    features: FloatArray
    labels: NDArray[np.int64]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]

    @property
    def content_sha256(self) -> str:
        """SHA-256 of shape, little-endian feature values and labels: equal for equal data from any source."""
        digest = hashlib.sha256(repr(self.features.shape).encode())
        digest.update(self.features.astype("<f8").tobytes())
        digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


def check_dataset(dataset: Dataset) -> None:
    """Raise ``DataError`` when values are NaN or infinite, shapes disagree, or there are fewer than 2 classes."""
    name, features = dataset.name, dataset.features
    if features.ndim != 2 or features.shape[0] != dataset.labels.shape[0]:
        shapes = f"features {features.shape} and labels {dataset.labels.shape}"
        raise DataError(f"data set {name!r}: {shapes} do not describe the same samples")
    if features.shape[1] != len(dataset.feature_names):
        raise DataError(
            f"data set {name!r}: {features.shape[1]} features but {len(dataset.feature_names)} feature names"
        )
    bad = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"data set {name!r} holds {int(bad.sum())} NaN or infinite values, the first in sample {row}, feature "
            f"{dataset.feature_names[column]!r}; leave such samples out or impute them in the parser"
        )
    if len(dataset.class_names) < 2:
        raise DataError(f"data set {name!r} has {len(dataset.class_names)} class(es); at least 2 are needed")


def save_prepared(dataset: Dataset, path: Path) -> None:
    """Write the data set as an ``.npz`` file without pickled objects; the file appears whole or not at all."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        name=np.array(dataset.name),
        features=dataset.features,
        labels=dataset.labels,
        feature_names=np.array(dataset.feature_names),
        class_names=np.array(dataset.class_names),
    )
    write_bytes(path, buffer.getvalue())


def load_prepared(path: Path) -> Dataset:
    """Read a file that :func:`save_prepared` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return Dataset(
            name=str(arrays["name"]),
            features=np.ascontiguousarray(arrays["features"], dtype=np.float64),
            labels=arrays["labels"].astype(np.int64),
            feature_names=tuple(arrays["feature_names"].tolist()),
            class_names=tuple(arrays["class_names"].tolist()),
        )
