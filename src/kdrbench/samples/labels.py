"""Class labels as small integers, read a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.samples.sources import read

Codes = NDArray[np.signedinteger[Any]]
# Labels at a time; more classes than this are no classes.
_LABELS, _MOST_CLASSES = 2**18, 2**15 - 1


def coded_labels(labels: Any) -> tuple[NDArray[np.generic], Codes]:
    """Return the sorted classes of n labels, and each label's place among them in the smallest signed type.

    ``labels`` is an array, in memory or not. Beyond it, n codes are held.

    Raises ``InputError`` for labels that are NaN or infinite, of types that cannot be sorted, of one class only, or of
    too many classes to be labels.
    """
    labels = labels if hasattr(labels, "shape") else np.asarray(labels)
    n_labels, classes = int(labels.shape[0]), np.empty(0)
    try:
        for begin, chunk in _chunks(labels):
            found = np.unique(chunk)
            classes = found if begin == 0 else np.unique(np.concatenate([classes, found]))
            if len(classes) > _MOST_CLASSES and len(classes) > 2 + n_labels // 2:
                raise InputError(
                    f"the first {begin + len(chunk)} labels are of {len(classes)} classes; labels must name classes, "
                    "and numbers are no labels unless target_kernel is given"
                )
    except TypeError as error:
        raise InputError(f"labels of one column must be of one type, none missing: {error}") from error
    if len(classes) < 2:
        raise InputError(f"labels must name at least 2 classes, got {len(classes)} class(es): {classes.tolist()}")
    codes = np.empty(n_labels, dtype=small_type(len(classes)))
    for begin, chunk in _chunks(labels):
        places = np.searchsorted(classes, chunk)
        if (classes.take(places, mode="clip") != chunk).any():
            raise InputError("labels must be the same in each pass and equal to themselves; is one of them missing?")
        codes[begin : begin + len(chunk)] = places
    return classes, codes


def class_sizes(codes: Codes, n_classes: int) -> NDArray[np.intp]:
    """Return how many samples there are of each class, counting some at a time, since counting makes longer codes."""
    sizes = np.zeros(n_classes, dtype=np.intp)
    for begin in range(0, len(codes), _LABELS):
        sizes += np.bincount(codes[begin : begin + _LABELS], minlength=n_classes)
    return sizes


def small_type(n_classes: int) -> np.dtype:
    """Return the smallest signed type of codes 0 to n_classes - 1, and of their differences."""
    return np.min_scalar_type(-n_classes)


def _chunks(labels: Any) -> Iterator[tuple[int, NDArray[np.generic]]]:
    for begin in range(0, int(labels.shape[0]), _LABELS):
        chunk = read(labels, slice(begin, begin + _LABELS))
        if chunk.dtype.kind == "f" and not np.isfinite(chunk).all():
            raise InputError("labels must not be NaN or infinite; remove those samples or give them a class")
        yield begin, chunk
