"""From a registered name to a checked data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.dataset import Dataset, KernelSet, Labelling, check_dataset, check_kernel_set
from kdrbench.datasets.fetch import Sources, fetch_file
from kdrbench.datasets.parsers import PARSERS, Parsed
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import DataError, unknown_name

_Data = TypeVar("_Data", Dataset, KernelSet)
_PICTURES = "unique_colours"


def load_dataset(name: str, *, mirror: str | None = None) -> Dataset:
    """Fetch if need be, verify and parse a data set; its features are float64 and C-contiguous.

    ``mirror`` is a folder or http(s) URL that is asked before the canonical source.

    Raises ``DataError`` when the name is unknown or names a kernel, no source answers, or the data are not the
    registered ones.
    """
    entry = find_entry(name)
    if entry.kind != "features":
        raise DataError(f"data set {name!r} is a kernel matrix without features; load_kernel_set reads it")
    return read_entry(entry, Sources(mirror))


def load_kernel_set(name: str, *, mirror: str | None = None) -> KernelSet:
    """Do the same as :func:`load_dataset` for a set that is a kernel matrix."""
    entry = find_entry(name)
    if entry.kind != "kernel":
        raise DataError(f"data set {name!r} has features and is no kernel matrix; load_dataset reads it")
    return read_kernel_entry(entry, Sources(mirror))


def load_any(name: str, *, mirror: str | None = None) -> Dataset:
    """Do the same for a set of either kind; the rows of a kernel matrix are then features, with the same hash."""
    if find_entry(name).kind == "features":
        return load_dataset(name, mirror=mirror)
    data = load_kernel_set(name, mirror=mirror)
    samples = tuple(f"sample {number}" for number in range(len(data.labels)))
    return Dataset(data.name, data.kernel, data.labels, samples, data.class_names)


def find_entry(name: str) -> DatasetEntry:
    """Return the registered entry; ``DataError`` naming the nearest one otherwise."""
    registry = load_registry()
    if name not in registry:
        raise DataError(unknown_name("data set", name, sorted(registry)))
    return registry[name]


def read_entry(entry: DatasetEntry, sources: Sources) -> Dataset:
    """Fetch, parse and check an entry with features."""
    return _read(entry, sources, _as_dataset)


def read_kernel_entry(entry: DatasetEntry, sources: Sources) -> KernelSet:
    """Fetch, parse and check an entry that is a kernel."""
    return _read(entry, sources, _as_kernel_set)


def _read(entry: DatasetEntry, sources: Sources, build: Callable[[DatasetEntry, Parsed], _Data]) -> _Data:
    parser = PARSERS[entry.parser]

    def parse(paths: Sequence[Path]) -> _Data:
        data = build(entry, parser(*paths, **entry.options))
        _check_content(entry, data.content_sha256)
        return data

    accepted: dict[tuple[Path, ...], _Data] = {}

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


def _as_dataset(entry: DatasetEntry, parsed: Parsed) -> Dataset:
    dataset = from_parsed(entry.name, parsed)
    check_dataset(dataset)
    _check_registered(entry, "shape", dataset.features.shape, (entry.n_samples, entry.n_features))
    _check_registered(entry, "classes", _counts(dataset.class_names, dataset.labels), entry.classes)
    labellings = {label.name: _counts(label.class_names, label.codes) for label in dataset.labellings}
    _check_registered(entry, "labellings", labellings, entry.labellings)
    return dataset


def _as_kernel_set(entry: DatasetEntry, parsed: Parsed) -> KernelSet:
    codes, class_names = _coded(parsed.labels)
    kernel = np.ascontiguousarray(parsed.features, dtype=np.float64)
    data = KernelSet(entry.name, kernel, codes, class_names)
    check_kernel_set(data)
    _check_registered(entry, "shape", kernel.shape, (entry.n_samples, entry.n_features))
    # In a file of one's own the classes have whatever names one gives them.
    sizes = sorted(_counts(class_names, codes).values())
    _check_registered(entry, "class sizes", sizes, sorted(entry.class_counts))
    return data


def _counts(names: tuple[str, ...], codes: NDArray[np.int64]) -> dict[str, int]:
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def _check_registered(entry: DatasetEntry, what: str, read: object, registered: object) -> None:
    if read != registered:
        raise DataError(f"data set {entry.name!r} has {what} {read}; the registry says {registered}")


def _check_content(entry: DatasetEntry, digest: str) -> None:
    if entry.content_sha256:
        _check_registered(entry, "values with SHA-256", digest, entry.content_sha256)


def is_picture(entry: DatasetEntry) -> bool:
    """Whether the samples are the colours of an image."""
    return entry.parser == _PICTURES


def picture_bytes(name: str, *, mirror: str | None = None) -> bytes:
    """Return the verified PNG file of a data set.

    Raises ``DataError`` when the set is unknown or no picture, or the file cannot be had.
    """
    entry = find_entry(name)
    if not is_picture(entry):
        raise DataError(f"data set {name!r} is no image of which the colours are the samples")
    # The file is verified by its SHA-256.
    return fetch_file(entry, entry.files[0], Sources(mirror or ""), accept=lambda path: None).read_bytes()
