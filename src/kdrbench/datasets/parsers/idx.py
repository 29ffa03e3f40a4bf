"""The IDX format of MNIST: a magic number, big-endian sizes, then unsigned bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.datasets.unpack import read_unpacked
from kdrbench.errors import DataError

_UNSIGNED_BYTE = 0x08


def idx_images(images: Path, labels: Path) -> Parsed:
    """Read gzipped images and labels; features are the pixels row by row, unscaled bytes 0 to 255."""
    pixels, digits = _read(images, 3), _read(labels, 1)
    _, height, width = pixels.shape
    names = [f"row {row} column {column}" for row in range(height) for column in range(width)]
    return Parsed(pixels.reshape(len(pixels), -1), digits.tolist(), names)


def _read(path: Path, n_axes: int) -> NDArray[np.uint8]:
    content = read_unpacked(path)
    header = 4 + 4 * n_axes
    if content[:4] != bytes((0, 0, _UNSIGNED_BYTE, n_axes)) or len(content) < header:
        raise DataError(f"{path} is not an IDX file of unsigned bytes with {n_axes} axes")
    shape = struct.unpack(f">{n_axes}I", content[4:header])
    if int(np.prod(shape, dtype=object)) != len(content) - header:
        raise DataError(f"{path} announces {shape} bytes and holds {len(content) - header}")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
