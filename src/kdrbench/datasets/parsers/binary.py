"""Files that are no text: the CMU face images, the IDX format of MNIST, colour images and MATLAB 5 files."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.datasets.unpack import read_archive, read_unpacked
from kdrbench.errors import DataError
from kdrbench.extras import needed_for

_WIDTH, _HEIGHT = 32, 30
_MEMBER = re.compile(r"(?:[^/]+/)*([^/_]+)_([^/_]+)_([^/_]+)_([^/_]+)_4\.pgm")
# P5, width, height and largest value between white space or comments, one white space, then the bytes.
_GAP = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P5" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)\s")
_UNSIGNED_BYTE = 0x08
_MOST_VALUES = 10**7


def cmu_faces(path: Path) -> Parsed:
    """Read the quarter-size images, sorted by name; labels are the persons; pose, expression and eyes are further ones.

    An archive of PGM files, whose names say who, which pose, what expression, which eyes. Bytes are taken as they are:
    each image announces another largest value, and rescaling by it changes them.
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


def idx_images(images: Path, labels: Path) -> Parsed:
    """Read gzipped images and labels; features are the pixels row by row, unscaled bytes 0 to 255.

    The format: a magic number, big-endian sizes, then unsigned bytes.
    """
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


def unique_colours(path: Path, *, width: int, height: int) -> Parsed:
    """Return the distinct colours of a PNG image in lexicographic order, without labels."""
    with needed_for("a data set that is an image"):
        from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            if image.size != (width, height):
                raise DataError(f"{path} has {image.size[0]} x {image.size[1]} pixels; it must have {width} x {height}")
            pixels = np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path} is not a readable PNG image: {error}") from error
    return Parsed(np.unique(pixels.reshape(-1, 3), axis=0), [], ["red", "green", "blue"])


def matlab_arrays(path: Path, *, features: str, labels: str, classes: Mapping[str, str]) -> Parsed:
    """Read the variables named ``features`` (n x d) and ``labels`` (n whole numbers, named by ``classes``).

    Anything but numbers is refused before it is read: no cells, no structures, no objects.
    """
    from scipy.io import loadmat, whosmat

    try:
        kinds = {name: (shape, kind) for name, shape, kind in whosmat(path)}
        for name in (features, labels):
            shape, kind = kinds.get(name, ((), "no such variable"))
            numeric = kind.removeprefix("u") in {"int8", "int16", "int32", "int64", "single", "double"}
            if not numeric or len(shape) != 2 or int(np.prod(shape, dtype=object)) > _MOST_VALUES:
                raise DataError(f"{path}: variable {name!r} is not a table of numbers but {kind} {shape}")
        content = loadmat(path, variable_names=[features, labels])
    except DataError:
        raise
    except Exception as error:
        # scipy raises whatever its reader stumbles over.
        raise DataError(f"{path} is not a readable MATLAB 5 file: {error}") from error
    values, codes = content[features], content[labels].ravel()
    unknown = {str(code) for code in codes.tolist()} - set(classes)
    if unknown or len(codes) != len(values):
        raise DataError(f"{path}: {labels!r} does not hold {len(values)} labels out of {', '.join(classes)}")
    names = [f"x{number}" for number in range(1, values.shape[1] + 1)]
    return Parsed(values, [classes[str(code)] for code in codes.tolist()], names)
