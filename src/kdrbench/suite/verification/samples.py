"""The rows of a run, drawn and standardised once more as docs/experiments.md says."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from kdrbench.datasets import Dataset
from kdrbench.suite.verification.members import Array

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class RunSamples:
    """Standardised training and test rows, which rows of the data set they are, and which labels are judged."""

    train: Array
    test: Array
    train_rows: Rows
    test_rows: Rows
    judged: NDArray[np.bool_]
    n_constant_features: int = 0


def samples_of(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> RunSamples:
    """Return the rows of run ``run`` of a cell's definition."""
    train, test = _rows(definition, data, run, seed)
    scaler = standardiser_of(data.features[train])
    n_constant = int((~_varied(data.features[train])).sum())
    other = standardiser_of(data.features[test]) if len(test) and definition["scaling"] == "own" else scaler
    tested = other(data.features[test]) if len(test) else np.empty((0, data.features.shape[1]))
    judged = np.ones(len(train), dtype=bool)
    if definition.get("shown") is not None:
        judged = ~_shown(float(definition["shown"]), data, run, seed)
    return RunSamples(scaler(data.features[train]), tested, train, test, judged, n_constant)


def _rows(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> tuple[Rows, Rows]:
    every = np.arange(len(data.features))
    if definition["split"] == "folds":
        partition, place = divmod(run, int(definition["n_folds"]))
        axes = ("split", data.name, seed, *([partition] if partition else []))
        make = StratifiedKFold if definition["stratified"] else KFold
        folds = make(int(definition["n_folds"]), shuffle=True, random_state=seed_from(*axes) % 2**32)
        with warnings.catch_warnings():
            # Of classes that are smaller than the number of folds.
            warnings.simplefilter("ignore", UserWarning)
            train, test = list(folds.split(every, data.labels))[place]
        return train, test
    if definition["n_rows"] is not None:
        drawn = np.random.default_rng(seed_from("subset", data.name, run, seed)).permutation(len(every))
        return np.sort(drawn[: int(definition["n_rows"])]), every[:0]
    return every, every[:0]


def seed_from(*axes: object) -> int:
    """Return the first 64 bits of the SHA-256 of what decides a draw."""
    return int(hashlib.sha256(repr(axes).encode()).hexdigest()[:16], 16)


def standardiser_of(features: Array) -> Any:
    """Return what centres and divides by the population's standard deviation; constant features become zero."""
    scaler = StandardScaler().fit(features)
    varied = _varied(features)
    return lambda rows: scaler.transform(rows) * varied


def _varied(features: Array) -> NDArray[np.bool_]:
    """Return which features vary."""
    return np.asarray(features.std(axis=0) > 1e-12 * np.abs(features).max(axis=0))


def _shown(shown: float, data: Dataset, run: int, seed: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed_from("shown", data.name, run, seed))
    result = np.zeros(len(data.labels), dtype=bool)
    for code in np.unique(data.labels):
        members = np.flatnonzero(data.labels == code)
        count = int(shown) if shown >= 1 else max(1, round(shown * len(members)))
        result[rng.permutation(members)[:count]] = True
    return result
