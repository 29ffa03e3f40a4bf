"""Pictures within charts: pixels as a PNG file in base64, which JSON holds and browsers show."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def to_png(pixels: Pixels) -> str:
    """Return an image, rows x columns x 3 or grey without the 3; the same text for the same pixels."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def from_png(text: str) -> Pixels:
    """Return the pixels that :func:`to_png` was given."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(text)), formats=["PNG"]) as image:
        return np.asarray(image)
