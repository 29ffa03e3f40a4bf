"""From a registered name to a checked data set."""

from __future__ import annotations

import numpy as np

from kdrbench.datasets import parsers
from kdrbench.datasets.dataset import Dataset, check_dataset
from kdrbench.datasets.fetch import fetch_file
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError, unknown_name


def load_dataset(name: str, *, mirror: str | None = None) -> Dataset:
    """Fetch if need be, verify and parse a data set.

    ``mirror`` is a folder or http(s) URL that is asked before the canonical source.

    Raises ``DataError`` when the name is unknown, no source answers, or the data are not the registered ones.
    """
    registry = load_registry()
    if name not in registry:
        raise DataError(unknown_name("data set", name, sorted(registry)))
    entry = registry[name]
    parser = getattr(parsers, entry.parser)
    parsed = parser() if entry.bundled else parser(fetch_file(entry, mirror=mirror))
    dataset = from_parsed(name, parsed)
    check_dataset(dataset)
    _check_registered(dataset, entry)
    return dataset


def from_parsed(name: str, parsed: parsers.Parsed) -> Dataset:
    """Code the labels by sorted class name and make the features contiguous float64."""
    classes, codes = np.unique(np.asarray(parsed.labels), return_inverse=True)
    return Dataset(
        name=name,
        features=np.ascontiguousarray(parsed.features, dtype=np.float64),
        labels=codes.astype(np.int64),
        feature_names=tuple(str(feature) for feature in parsed.feature_names),
        class_names=tuple(str(label) for label in classes),
    )


def _check_registered(dataset: Dataset, entry: DatasetEntry) -> None:
    shape, counts = dataset.features.shape, tuple(np.bincount(dataset.labels).tolist())
    if shape != (entry.n_samples, entry.n_features) or counts != entry.class_counts:
        raise DataError(
            f"data set {entry.name!r} has shape {shape} and class counts {counts}; the registry says "
            f"{(entry.n_samples, entry.n_features)} and {entry.class_counts}"
        )
    if dataset.content_sha256 != entry.content_sha256:
        raise DataError(
            f"data set {entry.name!r} has values with SHA-256 {dataset.content_sha256}; the registry says "
            f"{entry.content_sha256}"
        )
