"""Data sets as the workflow prepares them: one file each, which is made again where it is damaged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.dataset import Dataset, Labelling
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.load import find_entry, read_entry
from kdrbench.datasets.own import load_own
from kdrbench.errors import DamagedError, DataError, KdrbenchError
from kdrbench.files import drop_unfinished, locked, replacing


def load_defined(name: str, definition: Mapping[str, Any], sources: Sources | None = None) -> Dataset:
    """Return a data set by its ``definition`` if it is the user's own, else the registered one from ``sources``."""
    return load_own(name, definition) if definition else read_entry(find_entry(name), sources or Sources())


@dataclass(frozen=True)
class PreparedFolder:
    """The folder of prepared files; a file that is damaged or missing is made again, in its place.

    ``sha256`` holds by name what the values must have, empty where any will do, and ``definitions`` the user's own data
    sets. The others come from ``mirror`` or their address.
    """

    folder: Path
    sha256: Mapping[str, str] = field(default_factory=dict)
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mirror: str | None = None

    def load(self, name: str) -> Dataset:
        """Return a data set.

        Raises ``DataError`` when its file is damaged and it cannot be had again; the file is then removed, so that the
        workflow prepares it.
        """
        path = self.folder / f"{name}.npz"
        with suppress(DamagedError):
            return self._read(name, path)
        with locked(path.with_name(f".{path.name}.lock")):
            try:
                # Another job may have made it while this one waited.
                return self._read(name, path)
            except DamagedError as damage:
                print(f"kdrbench: {damage}; it is made again", file=sys.stderr)
            try:
                dataset = load_defined(name, self.definitions.get(name, {}), Sources(self.mirror))
            except KdrbenchError as error:
                if not path.is_dir():
                    path.unlink(missing_ok=True)
                raise DataError(f"{path} is to be made again, but {error}") from error
            drop_unfinished(path)
            save_prepared(dataset, path)
            return dataset

    def _read(self, name: str, path: Path) -> Dataset:
        dataset, expected = load_prepared(path), self.sha256.get(name)
        if expected and dataset.content_sha256 != expected:
            raise DamagedError(f"{path} holds values with SHA-256 {dataset.content_sha256}, not {expected}")
        return dataset


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
    """Read a file that :func:`save_prepared` wrote; raises ``DamagedError`` when it cannot be read."""
    if not path.is_file():
        raise DamagedError(f"{path} is {'no file' if path.exists() else 'missing'}")
    try:
        # numpy leaves a file open that it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            count = sum(key.startswith("labelling_") and key.endswith("_name") for key in arrays)
            labellings = [
                Labelling(
                    str(arrays[f"labelling_{number}_name"]),
                    arrays[f"labelling_{number}_codes"].astype(np.int64),
                    tuple(arrays[f"labelling_{number}_classes"].tolist()),
                )
                for number in range(count)
            ]
            return Dataset(
                name=str(arrays["name"]),
                features=np.ascontiguousarray(arrays["features"], dtype=np.float64),
                labels=arrays["labels"].astype(np.int64),
                feature_names=tuple(arrays["feature_names"].tolist()),
                class_names=tuple(arrays["class_names"].tolist()),
                labellings=tuple(labellings),
            )
    # Which error it is depends on where in a broken archive its reader stumbles.
    except Exception as error:
        raise DamagedError(f"{path} cannot be read ({type(error).__name__}: {error})") from error
