"""Data sets of the user's own: a dataclass of options whose ``load`` returns features and labels.

    datasets:
      mine: {loader: path/to/my_data.py}

``load()`` returns features (n x d) and n labels of any type that sorts, and the names of the features if they have any.
Files of tables need no class of the user's own (:mod:`kdrbench.datasets.tables`). What the registry says of other sets
is taken from the values themselves; ``label``, ``title``, ``licence`` and ``citation`` of the class are used where it
has them. The data are loaded whenever a configuration is read: the hash of their values is part of each run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.dataset import Dataset, check_dataset
from kdrbench.datasets.load import class_counts, from_parsed
from kdrbench.datasets.parsers import Parsed
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.datasets.tables import LOADERS
from kdrbench.errors import InputError, in_words
from kdrbench.extras import MissingPackageError
from kdrbench.kernels.family import FloatArray
from kdrbench.methods import build_method, load_method

# What a data set's class must have.
CONTRACT = ("load",)
Definition = Mapping[str, Any]
# Sums of squares of some 1e6 features below it are finite.
_LARGEST = 1e150


def load_own(name: str, definition: Definition) -> Dataset:
    """Return the data set that ``definition`` (``loader`` and its options) names.

    Raises ``InputError`` when it cannot be loaded or returns something else than features and labels of classes, and
    ``DataError`` when these are no data set: NaN, one class, or lengths that differ.
    """
    loader = build_method("data set", definition, LOADERS, CONTRACT, key="loader")
    try:
        with redirect_stdout(sys.stderr):
            loaded = loader.load()
    except (KeyboardInterrupt, InputError, MissingPackageError):
        raise
    except BaseException as error:
        # A user's method may raise anything, also what ends a process.
        raise InputError(f"load of data set {name!r} raised {in_words(error)}") from error
    try:
        parsed = _parsed(loaded)
    except InputError as error:
        raise InputError(f"load of data set {name!r} {error}") from error
    dataset = from_parsed(name, parsed)
    check_dataset(dataset)
    return dataset


def entry_of(name: str, definition: Definition) -> DatasetEntry:
    """Return what the registry would say of it; errors as :func:`load_own`."""
    loader = load_method("data set", definition.get("loader"), LOADERS, CONTRACT)
    return _entry(name, loader, json.dumps(dict(definition), sort_keys=True), _state(definition.get("path")))


def check_own(name: str, definition: Definition) -> None:
    """Raise ``InputError`` or ``DataError`` unless this is a labelled data set with a name that is not registered."""
    if name in load_registry():
        raise InputError("a registered data set has this name; give yours another")
    entry_of(name, definition)


def registry_of(config: Mapping[str, Any]) -> dict[str, DatasetEntry]:
    """Return the registered data sets and those that a configuration defines."""
    users = {name: entry_of(name, definition) for name, definition in config.get("datasets", {}).items()}
    return {**load_registry(), **users}


def _state(path: object) -> tuple[int, ...]:
    """Return what tells a file from one that was written since; nothing where an option names no file."""
    try:
        seen = Path(str(path)).expanduser().stat()
    except (OSError, ValueError):
        return ()
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


@cache
def _entry(name: str, loader: type, definition: str, state: tuple[int, ...]) -> DatasetEntry:
    # A loader's file that has changed is another class, and a data file another state: so another entry.
    dataset = load_own(name, json.loads(definition))
    return DatasetEntry(
        name=name,
        label=str(getattr(loader, "label", name)),
        title=str(getattr(loader, "title", name)),
        licence=str(getattr(loader, "licence", "the user's own")),
        citation=str(getattr(loader, "citation", "")),
        parser="",
        n_samples=dataset.features.shape[0],
        n_features=dataset.features.shape[1],
        classes=class_counts(dataset.class_names, dataset.labels),
        content_sha256=dataset.content_sha256,
    )


def _parsed(loaded: object) -> Parsed:
    """Return what a loader has returned; ``InputError``, without its subject, for anything but a data set."""
    if not isinstance(loaded, Sequence) or not 2 <= len(loaded) <= 4:
        raise InputError(
            f"must return (features, labels) or (features, labels, feature_names); it returned {type(loaded).__name__}"
        )
    features = _features(loaded[0])
    labels = _labels(loaded[1], len(features))
    names = loaded[2] if len(loaded) > 2 else [f"feature {number}" for number in range(features.shape[1])]
    if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray):
        raise InputError(f"must return feature names as a list, got {type(names).__name__}")
    if len(loaded) > 3 and not isinstance(loaded[3], Mapping):
        raise InputError(f"must return labellings as a dict, got {type(loaded[3]).__name__}")
    return Parsed(features, cast("Sequence[object]", labels), list(names), *loaded[3:])


def _features(given: object) -> FloatArray:
    """Return the features; ``InputError`` unless they are n x d numbers with finite squares, n and d at least 1."""
    array = _array("features", given)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InputError(
            f"must return features as an n x d array of numbers; it returned shape {array.shape} of {array.dtype}"
        )
    if array.size == 0:
        raise InputError(f"returned features of shape {array.shape}: there are no values")
    features: FloatArray = array.astype(np.float64)
    # NaN and infinite values have a sentence of their own.
    largest = float(np.abs(features).max())
    if _LARGEST < largest < np.inf:
        raise InputError(f"returned features up to {largest:.3g}, whose squares overflow; scale them")
    return features


def _labels(given: object, n_samples: int) -> NDArray[Any]:
    """Return one label a sample; ``InputError`` for NaN, for tables of labels, and for numbers that are no classes."""
    from kdrbench.estimators.targets import is_surely_continuous

    labels = _array("labels", given)
    if labels.shape != (n_samples,):
        raise InputError(
            f"must return one label for each of its {n_samples} samples; it returned labels of shape {labels.shape}"
        )
    if labels.dtype.kind == "O" and len({type(label) for label in labels}) > 1:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise InputError(f"returned labels of several types, {kinds}; return one of them")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            count = int((~np.isfinite(labels)).sum())
            raise InputError(f"returned {count} NaN or infinite labels; leave those samples out")
        if (between := labels[labels != np.round(labels)]).size:
            raise InputError(
                f"returned continuous labels, for instance {float(between[0])!r}; labels are classes: return integers "
                "or words"
            )
    if labels.dtype.kind in "iuf" and is_surely_continuous(labels):
        raise InputError(
            f"returned {len(np.unique(labels))} different whole numbers as labels of {n_samples} samples; labels are "
            "classes: return groups of the values (pandas: qcut)"
        )
    return labels


def _array(what: str, given: object) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except (ValueError, TypeError) as error:
        # Lists of unequal lengths, or an object whose own conversion fails.
        raise InputError(f"returned {what} that are no array: {in_words(error)}") from error
