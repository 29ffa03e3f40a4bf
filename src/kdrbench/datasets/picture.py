"""The image whose colours are a data set's samples: what the samples were, before they were sorted."""

from __future__ import annotations

from pathlib import Path

from kdrbench.datasets.fetch import Sources, fetch_file
from kdrbench.datasets.load import find_entry
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import DataError

PARSER = "unique_colours"


def is_picture(entry: DatasetEntry) -> bool:
    """Whether the samples are the colours of an image."""
    return entry.parser == PARSER


def picture_bytes(name: str, *, mirror: str | None = None) -> bytes:
    """Return the verified PNG file of a data set.

    Raises ``DataError`` when the set is unknown or no picture, or the file cannot be had.
    """
    entry = find_entry(name)
    if not is_picture(entry):
        raise DataError(f"data set {name!r} is no image of which the colours are the samples")
    return fetch_file(entry, entry.files[0], Sources(mirror or ""), accept=_any).read_bytes()


def _any(path: Path) -> None:
    """Accept the file: it is verified by its SHA-256."""
