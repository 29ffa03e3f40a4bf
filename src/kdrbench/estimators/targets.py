"""What y says of samples: class labels or continuous targets by its type, and labels that are unknown."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from kdrbench.errors import InputError, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf

AUTO, CLASSES, CONTINUOUS = "auto", "classes", "continuous"
TARGETS = OneOf((AUTO, CLASSES, CONTINUOUS))
# More whole numbers than these may be a target, and fewer samples of each on average are surely no class.
_MANY_VALUES, _FEW_SAMPLES = 20, 5


def plain_values(y: Any) -> NDArray[Any]:
    """Return y as an array of numpy, one column as one dimension: of a list, a frame, a nullable or categorical series.

    Entries that are missing (``None``, NaN, ``pandas.NA``) are NaN among numbers and ``None`` among others.
    """
    values: NDArray[Any] = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind != "O" or values.ndim > 2:
        return values
    missing = missing_entries(values)
    kinds = {type(value) for value in values[~missing]}
    if kinds and all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds):
        return np.array(np.where(missing, np.nan, values).tolist())
    values = values.copy()
    values[missing] = None
    return values


def missing_entries(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries are NaN, ``None`` or ``pandas.NA``."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)

    def is_missing(value: Any) -> bool:
        unequal = isinstance(value, float | np.floating) and value != value
        return value is None or unequal or type(value).__name__ in ("NAType", "NaTType")

    return np.array([is_missing(value) for value in values.ravel()], dtype=bool).reshape(values.shape)


def present_values(y: Any, *, may_be_unknown: bool = False) -> NDArray[Any]:
    """Return :func:`plain_values`; ``InputError`` that counts those that are missing.

    ``may_be_unknown``: class labels may be so by another paradigm of the same estimator, which the error then names.
    """
    values = plain_values(y)
    if (missing := missing_entries(values)).any():
        may_be_unknown = may_be_unknown and type_of(values[~missing]) == CLASSES
        advice = ", or learn from all with InterpretableKDR(paradigm='semi_supervised')" if may_be_unknown else ""
        raise InputError(
            f"Input y contains NaN or None: {counted(int(missing.sum()), 'missing value')}, the first in row "
            f"{int(np.argwhere(missing)[0, 0])}; leave those samples out{advice}"
        )
    return values


def is_continuous(y: NDArray[Any], target: str = AUTO) -> bool:
    """Return whether y (n entries or n x m) is a continuous target, and not class labels.

    ``auto`` follows scikit-learn's ``type_of_target``: real numbers that are no integers are a target, and text, truth
    values and integers are classes. But whole numbers of more than 20 different values are classes only if they are
    codes: 0, 1, ... or 1, 2, ... without a gap, each of two samples or more on average. The rule looks at no more than
    that, so that its answer hardly depends on how many samples there are. As it is a guess, there is a ``UserWarning``.

    Raises ``InputError`` for a ``continuous`` target that is not numbers.
    """
    is_number = y.dtype.kind in "iuf"
    if target == CONTINUOUS and not is_number and y.dtype.kind != "b":
        raise InputError(f"target='continuous' needs y to be numbers, got {y.dtype}; give numbers, or target='classes'")
    if target != AUTO:
        return target == CONTINUOUS
    if not is_number or y.size == 0 or not np.isfinite(y).all():
        return False
    if not np.equal(y, np.floor(y)).all():
        return True
    return any([_is_target_of_whole_numbers(column) for column in np.atleast_2d(y.T)])


def type_of(y: NDArray[Any]) -> str:
    """Return what y is by itself, ``classes`` or ``continuous``; a guess warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return CONTINUOUS if is_continuous(y) else CLASSES


def _is_target_of_whole_numbers(column: NDArray[Any]) -> bool:
    values = np.unique(column)
    is_target = not _may_be_classes(values, len(column))
    if len(values) > _MANY_VALUES:
        taken, other = (CONTINUOUS, CLASSES) if is_target else (CLASSES, CONTINUOUS)
        what = "a continuous target" if is_target else "class labels"
        remedy = f"say target={taken!r} or target={other!r}, or give text for classes"
        warnings.warn(f"{_described(column)} and is taken as {what}; {remedy}", UserWarning, 2)
    return is_target


def is_surely_continuous(column: NDArray[Any]) -> bool:
    """Return whether whole numbers are a target by their gaps and by the number of samples of each."""
    values = np.unique(column)
    return len(values) > _MANY_VALUES and _have_gaps(values) and len(column) < _FEW_SAMPLES * len(values)


def _may_be_classes(values: NDArray[Any], n_samples: int) -> bool:
    """Return whether different whole numbers, ascending, are few, or codes of classes."""
    if len(values) <= _MANY_VALUES:
        return True
    return values[0] in (0, 1) and not _have_gaps(values) and n_samples >= 2 * len(values)


def _have_gaps(values: NDArray[Any]) -> bool:
    return float(values[-1]) - float(values[0]) + 1.0 > len(values)


def _described(column: NDArray[Any]) -> str:
    return f"y has {len(np.unique(column))} different whole numbers of {len(column)} samples"


def varying_targets(y: NDArray[Any]) -> FloatArray:
    """Return continuous targets as float64; ``InputError`` where all samples have the same."""
    targets = np.asarray(y, dtype=np.float64)
    if (targets == targets[0]).all():
        value = ", ".join(f"{one:g}" for one in np.atleast_1d(targets[0]))
        raise InputError(f"y has the one value {value}; give at least 2 different ones")
    return targets


def check_classes_alone(labels: NDArray[Any], name: str) -> None:
    """Raise ``ValueError`` for labels that are no classes, and warn of whole numbers that seem to be a target.

    ``name`` is that of an estimator that learns from classes only.
    """
    check_labels(labels)
    if labels.ndim == 1 and labels.dtype.kind in "iuf" and not _may_be_classes(np.unique(labels), len(labels)):
        message = f"{_described(labels)}; {name} learns from classes only and takes each number for one"
        warnings.warn(message, UserWarning, 2)


def check_labels(labels: NDArray[Any], unless: str = "", n_samples: int | None = None) -> None:
    """Raise ``InputError`` for labels that are no classes: real numbers, dates, several types, text that never repeats.

    For continuous ones it says ``unless`` which parameter they are allowed. ``labels`` are those of ``n_samples``, by
    default one each. There is a ``UserWarning`` for text of more than 20 values of which most do not repeat.
    """
    count = len(labels) if n_samples is None else n_samples
    is_text = labels.dtype.kind == "U" or all(isinstance(one, str) for one in labels.ravel())
    if labels.dtype.kind in "OSVcmM" and not is_text:
        kinds = {str(labels.dtype)} if labels.dtype.kind != "O" else {type(one).__name__ for one in labels.ravel()}
        allowed, remedy = "of one type that sorts", "make them all text, or numbers"
        if len(kinds) == 1:
            allowed, remedy = "text or numbers", "give text, or numbers such as days since the first date"
        raise InputError(f"labels must be {allowed}, got {', '.join(sorted(kinds))}; {remedy}")
    try:
        with warnings.catch_warnings():
            # Of many classes, which is judged here.
            warnings.simplefilter("ignore", UserWarning)
            check_classification_targets(labels)
    except ValueError as error:
        exception = f", unless {unless}" if unless else ": give text or whole numbers"
        raise InputError(f"{str(error).partition('. ')[0]}; y is classes{exception}") from error
    n_classes = len(np.unique(labels)) if is_text and labels.ndim == 1 else 0
    if n_classes <= _MANY_VALUES or 2 * n_classes <= count:
        return
    if n_classes == count:
        raise InputError(f"each of the {count} labels in y is different text; give labels that repeat, or numbers")
    message = f"y has {n_classes} different labels of {count} samples; give labels that repeat, if these are no classes"
    warnings.warn(message, UserWarning, 2)


def coded_classes(labels: NDArray[Any], unless: str = "") -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes of n labels, and the place of each label among them.

    Raises ``ValueError`` as :func:`check_labels`, and for fewer than two classes.
    """
    check_labels(labels, unless)
    classes, codes = np.unique(labels, return_inverse=True)
    check_several(classes)
    return classes, codes


def check_several(classes: NDArray[Any]) -> None:
    """Raise ``InputError`` for fewer than two classes."""
    if len(classes) < 2:
        count = counted(len(classes), "class", "classes")
        raise InputError(f"labels must name at least 2 classes, got {count}: {classes.tolist()}")


def labels_with_unknown(y: Any, target: str) -> tuple[FloatArray | NDArray[Any], NDArray[Any] | None]:
    """Return expert scores (n x m, NaN where unknown) for the labels of some samples, and their classes.

    One column of text or whole numbers is class labels, of which -1, NaN and ``None`` mean unknown: scores are their
    one-hot columns. Other numbers are scores already and have no classes, and so are all by ``target="continuous"``.

    Raises ``InputError`` for fewer than two classes.
    """
    values = plain_values(y)
    missing = missing_entries(values)
    if values.ndim != 1 or target == CONTINUOUS or missing.all():
        return values, None
    known = ~missing
    if values.dtype.kind in "iuf":
        known &= values != -1
        if target == AUTO and is_continuous(values[known]):
            return values, None
    else:
        known &= [str(value) != "-1" for value in values]
    classes, codes = coded_classes(values[known])
    scores = np.full((len(values), len(classes)), np.nan)
    scores[known] = np.eye(len(classes))[codes]
    if values.dtype.kind == "f":
        classes = classes.astype(np.intp)
    return scores, classes
