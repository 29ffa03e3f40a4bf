"""Packed records: what a workflow has measured, small enough to ship, and results folders made of it again.

A packed record is a folder of plain files: CSV and NumPy arrays compressed by xz, a manifest with their SHA-256, a
licence and a README. Nothing beyond Python's standard library and NumPy is needed to read it.
"""

from pathlib import Path

# The record of the papers that comes with this project.
PAPERS = Path("results/reference")
MANIFEST = "manifest.json"


def place_of(reference: str) -> Path:
    """Return the folder of a record: that of the papers for the word ``reference``."""
    return PAPERS if reference == "reference" else Path(reference)
