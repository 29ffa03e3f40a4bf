"""The CMU face images: an archive of PGM files whose names say who, which pose, what expression, which eyes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.archives import read_archive
from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.errors import DataError

_WIDTH, _HEIGHT = 32, 30
_MEMBER = re.compile(r"(?:[^/]+/)*([^/_]+)_([^/_]+)_([^/_]+)_([^/_]+)_4\.pgm")
# P5, width, height and largest value between white space or comments, one white space, then the bytes.
_GAP = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P5" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)\s")


def cmu_faces(path: Path) -> Parsed:
    """Read the quarter-size images, sorted by name; labels are the persons; pose, expression and eyes are further ones.

    Bytes are taken as they are: each image announces another largest value, and rescaling by it changes them.
    """
    members = read_archive(path, lambda name: _MEMBER.fullmatch(name) is not None)
    if not members:
        raise DataError(f"{path} holds no image named <person>_<pose>_<expression>_<eyes>_4.pgm")
    names = sorted(members, key=lambda name: name.rsplit("/", 1)[-1])
    words = np.array([_MEMBER.sub(r"\1 \2 \3 \4", name).split() for name in names])
    images = np.array([_pixels(members[name], f"{path}: {name}") for name in names])
    pixels = [f"row {row} column {column}" for row in range(_HEIGHT) for column in range(_WIDTH)]
    further = {"pose": words[:, 1].tolist(), "expression": words[:, 2].tolist(), "eyes": words[:, 3].tolist()}
    return Parsed(images, words[:, 0].tolist(), pixels, further)


def _pixels(content: bytes, where: str) -> NDArray[np.uint8]:
    header = _HEADER.match(content)
    if not header or tuple(map(int, header.groups()[:2])) != (_WIDTH, _HEIGHT) or int(header[3]) > 255:
        raise DataError(f"{where} is not a binary PGM image of {_WIDTH} x {_HEIGHT} bytes")
    pixels = np.frombuffer(content, dtype=np.uint8, offset=header.end())
    if pixels.size != _WIDTH * _HEIGHT:
        raise DataError(f"{where} holds {pixels.size} pixels; it must hold {_WIDTH * _HEIGHT}")
    return pixels
