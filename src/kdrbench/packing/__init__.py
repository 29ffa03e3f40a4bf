"""Packed records: what a workflow has measured, small enough to ship, and results folders made of it again.

A packed record is a folder of plain files: CSV and NumPy arrays compressed by xz, a manifest with their SHA-256, a
licence and a README. Nothing beyond Python's standard library and NumPy is needed to read it.
"""

from collections.abc import Sequence
from pathlib import Path

from kdrbench.errors import InputError

# The record of the papers that comes with this project.
PAPERS = Path("results/reference")
MANIFEST = "manifest.json"
# Reasons that are printed.
_MOST_REASONS = 6


def place_of(reference: str) -> Path:
    """Return the folder of a record: that of the papers for the word ``reference``."""
    return PAPERS if reference == "reference" else Path(reference)


def shown(left_out: Sequence[str]) -> list[str]:
    """Return why rows of a record are left out, as a few lines."""
    more = [f"and {len(left_out) - _MOST_REASONS} more"] if len(left_out) > _MOST_REASONS else []
    return [*left_out[:_MOST_REASONS], *more]


def check_there(place: Path) -> None:
    """Raise ``InputError`` for the record of the papers where it is not there: the one sentence of all commands."""
    if place.absolute() == PAPERS.absolute() and not (place / MANIFEST).is_file():
        raise InputError(
            f"{PAPERS}, the record of the papers, is not there: work in a checkout of the repository, which holds it, "
            "or `kdrbench pack` what config.papers.yaml makes, or name another record's folder (docs/reference.md)"
        )


def manifest_of(reference: str) -> Path:
    """Return the manifest of the packed record that a configuration includes; ``InputError`` where there is none."""
    place = place_of(reference)
    check_there(place)
    if not (place / MANIFEST).is_file():
        raise InputError(f"`include` names {place}, which is no packed record; `kdrbench pack` makes one of results")
    return place / MANIFEST
