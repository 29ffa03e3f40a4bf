"""From a source to arrays: a parser for each format, a generator or a function of scikit-learn where there is no file.

A parser takes the paths of the entry's verified files, in the registry's order, and the entry's options by name.
Whatever is wrong with a file is a ``DataError`` that names it. ``PARSERS`` holds them by the registry's names.
"""

from __future__ import annotations

import gzip
import re
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import synthetic
from kdrbench.errors import DataError
from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray

_WIDTH, _HEIGHT = 32, 30
_MEMBER = re.compile(r"(?:[^/]+/)*([^/_]+)_([^/_]+)_([^/_]+)_([^/_]+)_4\.pgm")
# P5, width, height and largest value between white space or comments, one white space, then the bytes.
_GAP = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P5" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)\s")
_UNSIGNED_BYTE = 0x08
_MOST_VALUES = 10**7
# What is generated is rounded: mathematical libraries differ in the last bits, and the hash of the content must not.
_DECIMALS = 6


class Parsed(NamedTuple):
    """Features (n x d, floats or bytes), one label a sample (any type that sorts), and the names of the features.

    ``labels`` is empty where a set has none. ``labellings`` are further labels of the same samples by name.
    """

    features: FloatArray | NDArray[np.uint8]
    labels: Sequence[object]
    feature_names: Sequence[str]
    labellings: Mapping[str, Sequence[object]] = MappingProxyType({})


def table(
    *paths: Path,
    names: Sequence[str] | int,
    label: int = -1,
    skip: Sequence[int] = (),
    delimiter: str = ",",
    missing: str = "",
    classes: Mapping[str, str] | None = None,
    levels: Sequence[Sequence[str]] = (),
    keep: Sequence[str] = (),
    sample: int = 0,
    seed: int = 0,
) -> Parsed:
    """Read files with the same columns, one after the other, the class in column ``label``.

    ``names`` are the features' names or their number; columns in ``skip`` are left out; ``delimiter`` " " means any
    white space. Rows with a field equal to ``missing`` are left out. ``classes`` names the classes and allows no
    other. ``levels`` lists for each feature its words, coded 0, 1, ... in that order. Of the classes in ``keep``
    (all by default), ``sample`` rows are drawn without replacement by numpy's generator with that ``seed``.
    """
    feature_names = _numbered(names) if isinstance(names, int) else list(names)
    fields = np.vstack([_fields(path, delimiter, len(feature_names) + len(skip) + 1) for path in paths])
    if missing:
        fields = fields[~(fields == missing).any(axis=1)]
    if keep:
        fields = fields[np.isin(fields[:, label], keep)]
    if sample:
        fields = fields[np.sort(np.random.default_rng(seed).choice(len(fields), sample, replace=False))]
    values = np.delete(fields, [*skip, label], axis=1)
    if levels:
        values = np.column_stack(
            [_coded(values[:, column], allowed, paths[0]) for column, allowed in enumerate(levels)]
        )
    labels = fields[:, label].tolist()
    return Parsed(_numbers(values, paths[0]), _class_names(labels, classes, paths[0]), feature_names)


def table_and_labels(path: Path, label_path: Path, *, classes: Mapping[str, str]) -> Parsed:
    """Read a table of numbers and, from a file of their own, its labels: whole numbers, named by ``classes``."""
    values, codes = (_numbers(_fields(part, ","), part) for part in (path, label_path))
    if codes.shape != (len(values), 1) or (codes != np.round(codes)).any():
        raise DataError(f"{label_path} does not hold {len(values)} labels, each a whole number")
    labels = [str(int(code)) for code in codes[:, 0]]
    return Parsed(values, _class_names(labels, classes, label_path), _numbered(values.shape[1]))


def held_out_rows(path: Path, others: Path, *, names: Sequence[str], label: str) -> Parsed:
    """Read the rows of a table of numbers that are not in another one; the class is the feature called ``label``."""
    rows, held = (_numbers(_fields(part, ",", len(names)), part) for part in (path, others))
    known = set(map(tuple, held))
    kept = np.array([row for row in rows if tuple(row) not in known])
    return Parsed(kept, [f"{value:g}" for value in kept[:, list(names).index(label)]], list(names))


def _numbered(count: int) -> list[str]:
    return [f"x{number}" for number in range(1, count + 1)]


def _fields(path: Path, delimiter: str, width: int | None = None) -> NDArray[np.str_]:
    """Return the fields of the lines that are not empty, as text."""
    try:
        lines = [line for line in read_unpacked(path).decode("ascii").splitlines() if line.strip()]
        if not lines:
            raise DataError(f"{path} holds no line with data")
        fields = np.loadtxt(lines, dtype=np.str_, delimiter=delimiter.strip() or None, comments=None, ndmin=2)
    except ValueError as error:
        raise DataError(f"{path} is not a table of ASCII text: {error}") from error
    if width and fields.shape[1] != width:
        raise DataError(f"{path} has {fields.shape[1]} columns; it must have {width}")
    return np.char.strip(fields)


def _numbers(fields: NDArray[np.str_], path: Path) -> FloatArray:
    try:
        return fields.astype(np.float64)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error


def _coded(words: NDArray[np.str_], allowed: Sequence[str], path: Path) -> NDArray[np.intp]:
    """Return the place of each word among those that are allowed."""
    if not (known := np.isin(words, allowed)).all():
        raise DataError(f"{path}: {str(words[~known][0])!r} is none of {', '.join(allowed)}")
    return np.array([allowed.index(word) for word in words])


def _class_names(labels: list[str], classes: Mapping[str, str] | None, path: Path) -> list[str]:
    if classes is None:
        return labels
    if unknown := sorted(set(labels) - set(classes)):
        raise DataError(f"{path}: the class is {unknown[0]!r}; it must be one of {', '.join(classes)}")
    return [classes[label] for label in labels]


def read_unpacked(path: Path) -> bytes:
    """Return the file's content, unpacked if its first bytes are those of gzip or of the old Unix program compress.

    The latter, as some files of UCI are, is unpacked by the program gzip. Raises ``DataError`` for a broken file.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x9d":
            return subprocess.run(["gzip", "-dc"], input=content, capture_output=True, check=True).stdout
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except subprocess.CalledProcessError as error:
        raise DataError(f"{path} cannot be read: {error.stderr.decode().strip()}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def labelled_kernel(path: Path, *, n: int) -> Parsed:
    """Read ``n`` lines, each a class and ``n`` kernel values between commas."""
    return table(path, names=n, label=0)


def cmu_faces(path: Path) -> Parsed:
    """Read the quarter-size images, sorted by name; labels are the persons; pose, expression and eyes are further ones.

    A tar archive of PGM files. Bytes are taken as they are: each image announces another largest value, and rescaling
    by it changes them.
    """
    members = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if _MEMBER.fullmatch(member.name) and (stream := archive.extractfile(member)):
                    members[member.name] = stream.read()
    except Exception as error:
        # The error depends on where in a broken file the reader of tar or of its packing stumbles.
        raise DataError(f"{path} is not a readable tar archive: {error}") from error
    if not members:
        raise DataError(f"{path} holds no image named <person>_<pose>_<expression>_<eyes>_4.pgm")
    names = sorted(members, key=lambda name: name.rsplit("/", 1)[-1])
    words = np.array([_MEMBER.sub(r"\1 \2 \3 \4", name).split() for name in names])
    images = np.array([_pixels(members[name], f"{path}: {name}") for name in names])
    further = {"pose": words[:, 1].tolist(), "expression": words[:, 2].tolist(), "eyes": words[:, 3].tolist()}
    return Parsed(images, words[:, 0].tolist(), _places(_HEIGHT, _WIDTH), further)


def _places(height: int, width: int) -> list[str]:
    return [f"row {row} column {column}" for row in range(height) for column in range(width)]


def _pixels(content: bytes, where: str) -> NDArray[np.uint8]:
    header = _HEADER.match(content)
    if not header or tuple(map(int, header.groups()[:2])) != (_WIDTH, _HEIGHT) or int(header[3]) > 255:
        raise DataError(f"{where} is not a binary PGM image of {_WIDTH} x {_HEIGHT} bytes")
    pixels = np.frombuffer(content, dtype=np.uint8, offset=header.end())
    if pixels.size != _WIDTH * _HEIGHT:
        raise DataError(f"{where} holds {pixels.size} pixels; it must hold {_WIDTH * _HEIGHT}")
    return pixels


def idx_images(images: Path, labels: Path) -> Parsed:
    """Read gzipped images and labels: a magic number, big-endian sizes, then unsigned bytes, the pixels row by row."""
    pixels, digits = _idx_array(images, 3), _idx_array(labels, 1)
    _, height, width = pixels.shape
    return Parsed(pixels.reshape(len(pixels), -1), digits.tolist(), _places(height, width))


def _idx_array(path: Path, n_axes: int) -> NDArray[np.uint8]:
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
    values, codes = content[features], [str(code) for code in content[labels].ravel().tolist()]
    if not set(codes) <= set(classes) or len(codes) != len(values):
        raise DataError(f"{path}: {labels!r} does not hold {len(values)} labels out of {', '.join(classes)}")
    return Parsed(values, [classes[code] for code in codes], _numbered(values.shape[1]))


def _generated(
    generate: Callable[..., tuple[FloatArray, NDArray[Any]]],
    names: Sequence[str] | None = None,
    labelling: str = "",
    *,
    n: int,
    seed: int,
    **options: Any,
) -> Parsed:
    """Make ``n`` samples by a function of :mod:`.synthetic`, seeded so that everybody has the same.

    A second column of labels is the ``labelling`` of that name.
    """
    features, labels = generate(n_samples=n, rng=np.random.default_rng(seed), **options)
    columns = labels.reshape(n, -1).T.tolist()
    further = {labelling: columns[1]} if labelling else {}
    return Parsed(features.round(_DECIMALS), columns[0], names or _numbered(features.shape[1]), further)


def gyrb_standin(*, seed: int) -> Parsed:
    """Make a kernel of simulated sequences, see :func:`kdrbench.datasets.synthetic.species_kernel`."""
    kernel, labels = synthetic.species_kernel((10, 31, 11), np.random.default_rng(seed))
    names = [f"sequence {number}" for number in range(1, len(kernel) + 1)]
    return Parsed(kernel, [f"species {code + 1}" for code in labels], names)


def bundled(loader: str) -> Parsed:
    """Read the copy of a set inside scikit-learn, by the name of the function that loads it."""
    from sklearn import datasets

    bunch = getattr(datasets, loader)()
    labels = [str(bunch.target_names[code]) for code in bunch.target]
    return Parsed(bunch.data, labels, [str(name) for name in bunch.feature_names])


PARSERS: dict[str, Callable[..., Parsed]] = {
    "bundled_iris": partial(bundled, "load_iris"),
    # The 1,797 test rows of UCI, 8 x 8 pixels of 0 to 16.
    "bundled_optdigits": partial(bundled, "load_digits"),
    "bundled_wdbc": partial(bundled, "load_breast_cancer"),
    "bundled_wine": partial(bundled, "load_wine"),
    "cmu_faces": cmu_faces,
    "cone": partial(_generated, synthetic.cone),
    "disc_and_ring": partial(_generated, synthetic.ring),
    "four_gaussians": partial(
        _generated, synthetic.gaussians_on_a_rectangle, ["long side", "short side", "noise"], "short side"
    ),
    "gyrb_standin": gyrb_standin,
    "idx_images": idx_images,
    "labelled_kernel": labelled_kernel,
    "matlab_arrays": matlab_arrays,
    "moons": partial(_generated, synthetic.two_pairs_of_moons, ["x1", "y1", "x2", "y2"], "second pair"),
    "noise": partial(_generated, synthetic.noise, n_classes=2),
    "scaling": partial(_generated, synthetic.growing),
    "table": table,
    "table_and_labels": table_and_labels,
    "held_out_rows": held_out_rows,
    "unique_colours": unique_colours,
}
