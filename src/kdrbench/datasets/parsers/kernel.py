"""Kernel matrices in text files."""

from __future__ import annotations

from pathlib import Path

from kdrbench.datasets.parsers.delimited import table
from kdrbench.datasets.parsers.parsed import Parsed


def labelled_kernel(path: Path, *, n: int) -> Parsed:
    """Read ``n`` lines, each a class and ``n`` kernel values between commas."""
    return table(path, names=n, label=0)
