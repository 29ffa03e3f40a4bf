"""Packed records: what a workflow has measured, small enough to ship, and results folders made of it again.

A packed record is a folder of plain files: CSV and NumPy arrays compressed by xz, a manifest with their SHA-256, a
licence and a README. Nothing beyond Python's standard library and NumPy is needed to read it. Layers below it, of the
same format, hold what was measured later.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from kdrbench.errors import InputError

# The record of the papers that comes with this project.
PAPERS = Path("results/reference")
MANIFEST = "manifest.json"
# The folder of a record's layers, and what the record without any is called there.
LAYERS, BASE = "layers", "base"
# Reasons that are printed.
_MOST_REASONS = 6


def place_of(reference: str) -> Path:
    """Return the folder of a record: that of the papers for the word ``reference``."""
    return PAPERS if reference == "reference" else Path(reference)


def shown(left_out: Sequence[str]) -> list[str]:
    """Return why rows of a record are left out, as a few lines."""
    more = [f"and {len(left_out) - _MOST_REASONS} more"] if len(left_out) > _MOST_REASONS else []
    return [*left_out[:_MOST_REASONS], *more]


def parts_of(place: Path) -> list[Path]:
    """Return the folders that a packed record is made of: its base, and its layers from the oldest to the newest.

    A layer's own folder names the record as of that layer, and ``layers/base`` the record without layers.
    """
    base, newest, own = place, None, place.absolute()
    if own.parent.name == LAYERS and (own.parents[1] / MANIFEST).is_file() and (own.name == BASE or own.is_dir()):
        base, newest = own.parents[1], own.name
    # A layer that is being written is in a hidden folder.
    layers = sorted(path for path in (base / LAYERS).glob("[!.]*") if path.is_dir() and newest != BASE)
    return [base, *(path for path in layers if newest is None or path.name <= newest)]


def is_packed(place: Path) -> bool:
    """Return whether a folder is a packed record, sound or not."""
    return (parts_of(place)[0] / MANIFEST).is_file()


def check_there(place: Path) -> None:
    """Raise ``InputError`` for the record of the papers where it is not there: the one sentence of all commands."""
    if place.absolute() == PAPERS.absolute() and not (place / MANIFEST).is_file():
        raise InputError(
            f"{PAPERS}, the record of the papers, is not there: work in a checkout of the repository, which holds it, "
            "or `kdrbench pack` what config.papers.yaml makes, or name another record's folder (docs/reference.md)"
        )


def manifest_of(reference: str) -> Path:
    """Return the newest manifest of the packed record that a configuration includes; ``InputError`` without one."""
    place = place_of(reference)
    check_there(place)
    if not is_packed(place):
        raise InputError(f"`include` names {place}, which is no packed record; `kdrbench pack` makes one of results")
    return parts_of(place)[-1] / MANIFEST


def template(name: str) -> str:
    """Return a text of every record or crate, to be filled in."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
