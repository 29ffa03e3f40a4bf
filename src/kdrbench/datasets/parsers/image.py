"""Colour images whose colours are the samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.errors import DataError


def unique_colours(path: Path, *, width: int, height: int) -> Parsed:
    """Return the distinct colours of a PNG image in lexicographic order, without labels."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            if image.size != (width, height):
                raise DataError(f"{path} has {image.size[0]} x {image.size[1]} pixels; it must have {width} x {height}")
            pixels = np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path} is not a readable PNG image: {error}") from error
    return Parsed(np.unique(pixels.reshape(-1, 3), axis=0), [], ["red", "green", "blue"])
