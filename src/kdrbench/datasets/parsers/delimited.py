"""Tables of text: one sample a line, fields between delimiters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.datasets.unpack import read_unpacked
from kdrbench.errors import DataError


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
    feature_names = [f"x{number}" for number in range(1, names + 1)] if isinstance(names, int) else list(names)
    width = len(feature_names) + len(skip) + 1
    dropped = {column % width for column in (*skip, label)}
    features: list[list[float]] = []
    labels: list[str] = []
    for path in paths:
        for where, fields in _lines(path, delimiter, width):
            if (missing and missing in fields) or (keep and fields[label] not in keep):
                continue
            words = [word for column, word in enumerate(fields) if column not in dropped]
            features.append(_numbers(words, levels, where))
            labels.append(_class_of(fields[label], classes, where))
    values = np.array(features).reshape(-1, len(feature_names))
    if sample:
        rows = np.sort(np.random.default_rng(seed).choice(len(values), sample, replace=False))
        return Parsed(values[rows], [labels[row] for row in rows], feature_names)
    return Parsed(values, labels, feature_names)


def table_and_labels(
    path: Path, *label_paths: Path, labellings: Sequence[str] = (), classes: Mapping[str, str] | None = None
) -> Parsed:
    """Read a table of numbers and, from files of their own, its labels: whole numbers or rows with a single 1.

    The first label file is the primary one, ``labellings`` names the others.
    """
    values = np.array([_numbers(fields, (), where) for where, fields in _lines(path, ",")])
    codings = [_codes(label_path, len(values)) for label_path in label_paths] or [[]]
    primary = [_class_of(str(code), classes, str(label_paths[0])) for code in codings[0]] if classes else codings[0]
    names = [f"x{number}" for number in range(1, values.shape[1] + 1)]
    return Parsed(values, primary, names, dict(zip(labellings, codings[1:], strict=True)))


def _lines(path: Path, delimiter: str, width: int | None = None) -> list[tuple[str, list[str]]]:
    """Return place and fields of the lines that are not empty, all with as many fields."""
    try:
        text = read_unpacked(path).decode("ascii")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not a table of ASCII text: byte {error.start} is {error.object[error.start]}"
        ) from error
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        fields = line.split() if delimiter == " " else [field.strip() for field in line.split(delimiter)]
        width = width or len(fields)
        if len(fields) != width:
            raise DataError(f"{path}, line {number}: {len(fields)} fields; every line must have {width}")
        rows.append((f"{path}, line {number}", fields))
    if not rows:
        raise DataError(f"{path} holds no line with data")
    return rows


def _numbers(words: Sequence[str], levels: Sequence[Sequence[str]], where: str) -> list[float]:
    if levels:
        for word, allowed in zip(words, levels, strict=True):
            if word not in allowed:
                raise DataError(f"{where}: {word!r} is none of {', '.join(allowed)}")
        return [float(allowed.index(word)) for word, allowed in zip(words, levels, strict=True)]
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def _class_of(word: str, classes: Mapping[str, str] | None, where: str) -> str:
    if classes is None:
        return word
    if word not in classes:
        raise DataError(f"{where}: the class is {word!r}; it must be one of {', '.join(classes)}")
    return classes[word]


def _codes(path: Path, n_samples: int) -> list[int]:
    values = np.array([_numbers(fields, (), where) for where, fields in _lines(path, ",")])
    one_hot = values.shape[1] > 1
    codes = values.argmax(axis=1) if one_hot else values[:, 0]
    sound = (values.sum(axis=1) == 1) & (values.max(axis=1) == 1) if one_hot else codes == np.round(codes)
    if len(codes) != n_samples or not sound.all():
        raise DataError(f"{path} does not hold {n_samples} labels, each a whole number or a row with a single 1")
    return [int(code) for code in codes]


def labelled_kernel(path: Path, *, n: int) -> Parsed:
    """Read ``n`` lines, each a class and ``n`` kernel values between commas."""
    return table(path, names=n, label=0)
