"""A data set in memory and in its prepared file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DataError, unknown_name
from kdrbench.files import replacing
from kdrbench.kernels.family import FloatArray

# Rows are hashed and checked this many bytes at a time: a copy of a large set would double what it takes.
_BLOCK_BYTES = 2**23


@dataclass(frozen=True)
class Labelling:
    """One way to class the samples: ``codes`` holds n class codes 0, 1, ... and ``class_names`` what they mean."""

    name: str
    codes: NDArray[np.int64]
    class_names: tuple[str, ...]


@dataclass(frozen=True)
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
        for block in blocks_of(self.features):
            digest.update(block.astype("<f8").tobytes())
        digest.update(self.labels.astype("<i8").tobytes())
        for labelling in self.labellings:
            digest.update(labelling.name.encode() + labelling.codes.astype("<i8").tobytes())
        return digest.hexdigest()

    def labelling(self, name: str) -> Labelling:
        """Return a further labelling by name; ``DataError`` naming those there are."""
        for labelling in self.labellings:
            if labelling.name == name:
                return labelling
        allowed = [labelling.name for labelling in self.labellings]
        raise DataError(f"data set {self.name!r}: {unknown_name('labelling', name, allowed)}")


def blocks_of(features: FloatArray) -> list[FloatArray]:
    """Return views of consecutive rows that together are the array, each of a few MiB."""
    rows = max(1, _BLOCK_BYTES // max(1, features[:1].nbytes))
    return [features[begin : begin + rows] for begin in range(0, len(features), rows)]


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
    _check_finite(dataset)
    if labelled and len(dataset.class_names) < 2:
        raise DataError(f"data set {name!r} has {len(dataset.class_names)} class(es); at least 2 are needed")
    for labelling in dataset.labellings:
        if labelling.codes.shape != (features.shape[0],):
            raise DataError(
                f"data set {name!r}: labelling {labelling.name!r} has {labelling.codes.size} labels for "
                f"{features.shape[0]} samples"
            )


def _check_finite(dataset: Dataset) -> None:
    n_bad = sum(int((~np.isfinite(block)).sum()) for block in blocks_of(dataset.features))
    if n_bad:
        row, column = np.argwhere(~np.isfinite(dataset.features))[0]
        raise DataError(
            f"data set {dataset.name!r} holds {n_bad} NaN or infinite values, the first in sample {row}, feature "
            f"{dataset.feature_names[column]!r}; leave such samples out or impute them in the parser"
        )


def save_prepared(dataset: Dataset, path: Path) -> None:
    """Write the data set as an ``.npz`` file without pickled objects; the file appears whole or not at all."""
    further: dict[str, NDArray[np.generic]] = {}
    for number, labelling in enumerate(dataset.labellings):
        further[f"labelling_{number}_name"] = np.array(labelling.name)
        further[f"labelling_{number}_codes"] = labelling.codes
        further[f"labelling_{number}_classes"] = np.array(labelling.class_names, dtype=np.str_)
    with replacing(path) as stream:
        np.savez_compressed(
            stream,
            name=np.array(dataset.name),
            features=dataset.features,
            labels=dataset.labels,
            feature_names=np.array(dataset.feature_names, dtype=np.str_),
            class_names=np.array(dataset.class_names, dtype=np.str_),
            **further,  # type: ignore[arg-type]
        )


def load_prepared(path: Path) -> Dataset:
    """Read a file that :func:`save_prepared` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        count = sum(key.startswith("labelling_") and key.endswith("_name") for key in arrays)
        return Dataset(
            name=str(arrays["name"]),
            features=np.ascontiguousarray(arrays["features"], dtype=np.float64),
            labels=arrays["labels"].astype(np.int64),
            feature_names=tuple(arrays["feature_names"].tolist()),
            class_names=tuple(arrays["class_names"].tolist()),
            labellings=tuple(
                Labelling(
                    str(arrays[f"labelling_{number}_name"]),
                    arrays[f"labelling_{number}_codes"].astype(np.int64),
                    tuple(arrays[f"labelling_{number}_classes"].tolist()),
                )
                for number in range(count)
            ),
        )
