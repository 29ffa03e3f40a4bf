"""Data sets of the user's own: a dataclass of options whose ``load`` returns features and labels.

    datasets:
      mine: {loader: path/to/my_data.py}

``load()`` returns features (n x d) and n labels of any type that sorts, and the names of the features if they have any.
What the registry says of other sets is taken from the values themselves; ``label``, ``title``, ``licence`` and
``citation`` of the class are used where it has them. The data are loaded whenever a configuration is read, which is how
a changed value is noticed: its hash is part of each run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kdrbench.datasets.dataset import Dataset, check_dataset
from kdrbench.datasets.load import from_parsed
from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.errors import InputError
from kdrbench.methods import build_method, load_method

# What a data set's class must have.
CONTRACT = ("load",)
Definition = Mapping[str, Any]


def load_own(name: str, definition: Definition) -> Dataset:
    """Return the data set that ``definition`` (``loader`` and its options) names.

    Raises ``InputError`` when it cannot be loaded or returns something else than features and labels, and ``DataError``
    when these are no data set: NaN, one class, or lengths that differ.
    """
    loader = build_method("data set", definition, {}, CONTRACT, key="loader")
    try:
        loaded = loader.load()
    except Exception as error:
        raise InputError(f"load of data set {name!r} raised {type(error).__name__}: {error}") from error
    dataset = from_parsed(name, _parsed(name, loaded))
    check_dataset(dataset)
    return dataset


def entry_of(name: str, definition: Definition) -> DatasetEntry:
    """Return what the registry would say of it; errors as :func:`load_own`."""
    loader = load_method("data set", definition.get("loader"), {}, CONTRACT)
    return _entry(name, loader, json.dumps(dict(definition), sort_keys=True))


def check_own(name: str, definition: Definition) -> None:
    """Raise ``InputError`` or ``DataError`` unless this is a labelled data set with a name that is not registered."""
    if name in load_registry():
        raise InputError("a registered data set has this name; give yours another")
    entry_of(name, definition)


def registry_of(config: Mapping[str, Any]) -> dict[str, DatasetEntry]:
    """Return the registered data sets and those that a configuration defines."""
    users = {name: entry_of(name, definition) for name, definition in config.get("datasets", {}).items()}
    return {**load_registry(), **users}


@cache
def _entry(name: str, loader: type, definition: str) -> DatasetEntry:
    # A file that has changed is another class, and so another entry.
    dataset = load_own(name, json.loads(definition))
    counts = np.bincount(dataset.labels, minlength=len(dataset.class_names)).tolist()
    return DatasetEntry(
        name=name,
        label=str(getattr(loader, "label", name)),
        title=str(getattr(loader, "title", name)),
        licence=str(getattr(loader, "licence", "the user's own")),
        citation=str(getattr(loader, "citation", "")),
        parser="",
        n_samples=dataset.features.shape[0],
        n_features=dataset.features.shape[1],
        classes=dict(zip(dataset.class_names, counts, strict=True)),
        content_sha256=dataset.content_sha256,
    )


def _parsed(name: str, loaded: object) -> Parsed:
    if not isinstance(loaded, Sequence) or not 2 <= len(loaded) <= 4:
        raise InputError(
            f"load of data set {name!r} must return (features, labels) or (features, labels, feature_names); it "
            f"returned {type(loaded).__name__}"
        )
    features, labels = np.asarray(loaded[0]), loaded[1]
    if features.ndim != 2 or features.dtype.kind not in "fiu":
        raise InputError(
            f"load of data set {name!r} must return features as an n x d array of numbers; it returned shape "
            f"{features.shape} of {features.dtype}"
        )
    names = loaded[2] if len(loaded) > 2 else [f"feature {number}" for number in range(features.shape[1])]
    return Parsed(features.astype(np.float64), labels, names, *loaded[3:])
