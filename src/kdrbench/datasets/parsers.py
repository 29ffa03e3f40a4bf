"""From a source to arrays: one small function a format, named in the registry.

A parser of a bundled set takes nothing; one of a downloaded set takes the verified file's path.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kdrbench.errors import DataError
from kdrbench.kernels.family import FloatArray


class Parsed(NamedTuple):
    """Features (n x d), one label a sample (any type that sorts), and the names of the features."""

    features: FloatArray
    labels: Sequence[object]
    feature_names: Sequence[str]


def bundled_wine() -> Parsed:
    """Read scikit-learn's copy of UCI Wine."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return Parsed(bunch.data, [str(bunch.target_names[code]) for code in bunch.target], bunch.feature_names)


def bundled_wdbc() -> Parsed:
    """Read scikit-learn's copy of the diagnostic Wisconsin breast cancer set."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    labels = [str(bunch.target_names[code]) for code in bunch.target]
    return Parsed(bunch.data, labels, [str(name) for name in bunch.feature_names])


_WISCONSIN_FEATURES = (
    "clump thickness",
    "uniformity of cell size",
    "uniformity of cell shape",
    "marginal adhesion",
    "single epithelial cell size",
    "bare nuclei",
    "bland chromatin",
    "normal nucleoli",
    "mitoses",
)


def wisconsin_original(path: Path) -> Parsed:
    """Read the original Wisconsin breast cancer file: id, nine features, class 2 (benign) or 4 (malignant).

    Rows with a missing value ('?') are left out.
    """
    with path.open(encoding="ascii", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row and "?" not in row]
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 11 or row[10] not in {"2", "4"}]
    if wrong:
        raise DataError(f"{path}: complete row {wrong[0]} is not an id, 9 features and a class of 2 or 4")
    names = {"2": "benign", "4": "malignant"}
    features = np.array([[float(value) for value in row[1:10]] for row in rows])
    return Parsed(features, [names[row[10]] for row in rows], _WISCONSIN_FEATURES)
