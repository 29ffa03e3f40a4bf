"""The declarative list of data sets (``registry.toml``) as typed entries."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class DatasetEntry:
    """What is known of a data set before it is read.

    ``label`` stands in tables, ``title`` is the full name. ``parser`` names a function of
    :mod:`kdrbench.datasets.parsers`. A downloaded set has ``file`` (its path in a mirror), ``urls`` and
    ``sha256`` of the file's bytes; a bundled one has none of the three. ``content_sha256`` pins the parsed
    values of either. ``class_counts`` is in the order of sorted labels.
    """

    name: str
    label: str
    title: str
    parser: str
    n_samples: int
    n_features: int
    class_counts: tuple[int, ...]
    content_sha256: str
    licence: str
    citation: str
    notes: str = ""
    file: str = ""
    urls: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def bundled(self) -> bool:
        """Whether the set ships inside scikit-learn and needs no network."""
        return not self.file


@cache
def load_registry() -> dict[str, DatasetEntry]:
    """Return every registered data set by name."""
    text = files("kdrbench.datasets").joinpath("registry.toml").read_text(encoding="utf-8")
    return {name: _entry(name, values) for name, values in tomllib.loads(text).items()}


def _entry(name: str, values: dict[str, object]) -> DatasetEntry:
    tuples = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return DatasetEntry(name=name, **tuples)  # type: ignore[arg-type]
