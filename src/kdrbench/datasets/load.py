"""From a registered name to a checked data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.dataset import Dataset, Labelling, check_dataset, check_kernel
from kdrbench.datasets.fetch import Sources, fetch_file
from kdrbench.datasets.parsers import PARSERS, Parsed
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError, unknown_name

_PICTURES = "unique_colours"


def load_dataset(name: str, *, mirror: str | None = None) -> Dataset:
    """Fetch if need be, verify and parse a data set; its features are float64 and C-contiguous.

    Of a set that is a kernel matrix, features are its rows. ``mirror`` is a folder or http(s) URL that is asked before
    the canonical source.

    Raises ``DataError`` when the name is unknown, no source answers, or the data are not the registered ones.
    """
    return read_entry(find_entry(name), Sources(mirror))


def find_entry(name: str) -> DatasetEntry:
    """Return the registered entry; ``DataError`` naming the nearest one otherwise."""
    registry = load_registry()
    if name not in registry:
        raise DataError(unknown_name("data set", name, sorted(registry)))
    return registry[name]


def read_entry(entry: DatasetEntry, sources: Sources) -> Dataset:
    """Fetch, parse and check an entry."""
    parser = PARSERS[entry.parser]

    def parse(paths: Sequence[Path]) -> Dataset:
        dataset = from_parsed(entry.name, parser(*paths, **entry.options))
        if entry.kind == "kernel":
            dataset = replace(dataset, feature_names=tuple(f"sample {row}" for row in range(len(dataset.labels))))
            check_kernel(dataset)
        _check_entry(entry, dataset)
        return dataset

    accepted: dict[tuple[Path, ...], Dataset] = {}

    def accept(path: Path) -> None:
        accepted[(path,)] = parse([path])

    paths = tuple(fetch_file(entry, file, sources, accept=accept) for file in entry.files)
    # What was parsed to be verified need not be parsed again.
    return accepted[paths] if paths in accepted else parse(paths)


def from_parsed(name: str, parsed: Parsed) -> Dataset:
    """Code the labels by sorted class name and make the features contiguous float64."""
    codes, class_names = _coded(parsed.labels)
    return Dataset(
        name=name,
        features=np.ascontiguousarray(parsed.features, dtype=np.float64),
        labels=codes,
        feature_names=tuple(str(feature) for feature in parsed.feature_names),
        class_names=class_names,
        labellings=tuple(Labelling(key, *_coded(labels)) for key, labels in parsed.labellings.items()),
    )


def _coded(labels: Sequence[object]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    return codes.astype(np.int64), tuple(str(label) for label in classes)


def _check_entry(entry: DatasetEntry, dataset: Dataset) -> None:
    """Raise ``DataError`` unless the data are the registered ones."""
    check_dataset(dataset)
    _check_registered(entry, "shape", dataset.features.shape, (entry.n_samples, entry.n_features))
    counts = class_counts(dataset.class_names, dataset.labels)
    if entry.content_sha256:
        _check_registered(entry, "classes", counts, entry.classes)
    else:
        # In a file of one's own the classes have whatever names one gives them.
        _check_registered(entry, "class sizes", sorted(counts.values()), sorted(entry.class_counts))
    labellings = {label.name: class_counts(label.class_names, label.codes) for label in dataset.labellings}
    _check_registered(entry, "labellings", labellings, entry.labellings)
    if entry.content_sha256:
        _check_registered(entry, "values with SHA-256", dataset.content_sha256, entry.content_sha256)


def class_counts(names: tuple[str, ...], codes: NDArray[np.int64]) -> dict[str, int]:
    """Return the number of samples of each class by its name."""
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def _check_registered(entry: DatasetEntry, what: str, read: object, registered: object) -> None:
    if read != registered:
        raise DataError(f"data set {entry.name!r} has {what} {read}; the registry says {registered}")


def is_picture(entry: DatasetEntry) -> bool:
    """Whether the samples are the colours of an image."""
    return entry.parser == _PICTURES


def picture_bytes(name: str, *, mirror: str | None = None) -> bytes:
    """Return the verified PNG file of a data set; ``DataError`` for an unknown set, or one that is no picture."""
    entry = find_entry(name)
    if not is_picture(entry):
        raise DataError(f"data set {name!r} is no image of which the colours are the samples")
    # The file is verified by its SHA-256.
    return fetch_file(entry, entry.files[0], Sources(mirror or ""), accept=lambda path: None).read_bytes()
