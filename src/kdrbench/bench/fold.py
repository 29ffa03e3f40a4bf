"""The data of one fold, with everything that is fitted fitted on its training part."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.seeds import seed_of
from kdrbench.datasets import Dataset, Standardiser
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray


@dataclass(frozen=True)
class Fold:
    """Standardised training and test samples with their class codes."""

    train_features: FloatArray
    train_labels: NDArray[np.int64]
    test_features: FloatArray
    test_labels: NDArray[np.int64]
    n_constant_features: int


def make_fold(dataset: Dataset, number: int, n_folds: int, seed: int) -> Fold:
    """Return fold ``number`` of a stratified split that depends on the data set's name and the seed alone.

    Raises ``InputError`` when a class has a single member (its fold would leave training without the class),
    or when no class has as many members as there are folds. A test fold may lack a class.
    """
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(dataset.labels, minlength=len(dataset.class_names))
    if counts.min() < 2:
        lonely = dataset.class_names[int(counts.argmin())]
        raise InputError(
            f"data set {dataset.name!r}: class {lonely!r} has {counts.min()} member(s); cross validation needs at "
            "least 2, so that each training fold holds each class; leave the class out"
        )
    if counts.max() < n_folds:
        raise InputError(f"data set {dataset.name!r}: no class has {n_folds} members; use at most {counts.max()} folds")
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed_of("split", dataset.name, seed) % 2**32)
    with warnings.catch_warnings():
        # Some class has fewer members than there are folds: allowed here, see above.
        warnings.simplefilter("ignore", UserWarning)
        train, test = list(splitter.split(dataset.features, dataset.labels))[number]
    standardiser = Standardiser.fit(dataset.features[train])
    return Fold(
        train_features=standardiser.transform(dataset.features[train]),
        train_labels=dataset.labels[train],
        test_features=standardiser.transform(dataset.features[test]),
        test_labels=dataset.labels[test],
        n_constant_features=int(standardiser.constant.sum()),
    )
