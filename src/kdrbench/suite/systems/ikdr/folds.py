"""The samples of a run: folds of a partition, random subsets, or all rows, scaled by what the run may know."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import Dataset, Standardiser
from kdrbench.errors import InputError, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.engine.seeds import rng_of, seed_of

# What the labelling is called that is the data set's classes.
CLASSES = "classes"
_Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """Standardised training and test samples with their class codes; the test part may be empty.

    Where a data set has no classes, the codes are empty. ``labellings`` are other classes of the training samples.
    ``partition`` is the number of the partition that a fold is of. ``shown``, of semi-supervised runs, says whose
    training labels may be learned from; the others are for scoring.
    """

    train_features: FloatArray
    train_labels: NDArray[np.int64]
    test_features: FloatArray
    test_labels: NDArray[np.int64]
    n_constant_features: int
    labellings: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    partition: int = 0
    shown: NDArray[np.bool_] | None = None

    def labelling(self, name: str) -> NDArray[np.int64]:
        """Return the training samples' codes in a labelling, ``classes`` being one."""
        return self.train_labels if name == CLASSES else self.labellings[name]

    @property
    def partial_labels(self) -> NDArray[np.int64]:
        """The training samples' class codes, -1 where they are hidden."""
        return self.train_labels if self.shown is None else np.where(self.shown, self.train_labels, -1)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """The training samples by which clusters are judged: those of hidden labels, or all."""
        return np.ones(len(self.train_labels), dtype=bool) if self.shown is None else ~self.shown

    @property
    def scored_features(self) -> FloatArray:
        """The samples that a result is scored on: the test part, or the training part where there is none."""
        return self.test_features if len(self.test_labels) else self.train_features

    @property
    def scored_labels(self) -> NDArray[np.int64]:
        """Their class codes."""
        return self.test_labels if len(self.test_labels) else self.train_labels

    @property
    def columns(self) -> dict[str, int]:
        """Its partition and sizes, as columns of a record."""
        return {
            "partition": self.partition,
            "n_train": len(self.train_features),
            "n_test": len(self.test_labels) if self.shown is None else int(self.judged.sum()),
            "n_features": self.train_features.shape[1],
            "n_constant_features": self.n_constant_features,
        }


class Split(StrEnum):
    """What the runs of a cell are made on.

    ``folds``: the training parts of a cross validation, scored on the test parts; ``none``: all rows, once, without a
    test part; ``subsets``: repeated draws of some of the rows, without a test part either.
    """

    FOLDS = "folds"
    NONE = "none"
    SUBSETS = "subsets"


class Scaling(StrEnum):
    """By whose mean and spread test samples are standardised: those of the ``training`` samples, or their ``own``.

    With ``own`` each test sample depends on all others of its fold. That is a leak, which the papers' protocol has.
    """

    TRAINING = "training"
    OWN = "own"


@dataclass(frozen=True)
class Sampling:
    """How the runs of a cell get their samples.

    With the split ``folds``, run ``number`` is fold ``number % n_folds`` of partition ``number // n_folds``; each
    partition is another draw. With ``subsets`` it is one of ``n_folds`` draws of ``n_rows`` rows without replacement,
    which depends on the data set's name, its number and the seed alone. With ``none`` all rows are in each run: one, or
    a draw of the labels that are shown.
    """

    split: Split
    n_folds: int
    n_rows: int | None = None
    partitions: int = 1
    stratified: bool = True
    scaling: Scaling = Scaling.TRAINING

    def fold(self, dataset: Dataset, number: int, seed: int) -> Fold:
        """Return the samples of run ``number``.

        Partitions depend on the data set's name, the seed and their own number alone. They are ``stratified``, or
        shuffled without regard to classes; a test fold may lack a class.

        Raises ``InputError`` when a class has a single member (its fold would leave training without the class), or
        when shuffling leaves a training part without a class.
        """
        if self.split is Split.FOLDS:
            partition, place = divmod(number, self.n_folds)
            train, test = self._split(dataset, partition, place, seed)
            return replace(_parted(dataset, train, test, self.scaling), partition=partition)
        rows = np.arange(len(dataset.features))
        if self.n_rows is not None:
            rows = np.sort(rng_of("subset", dataset.name, number, seed).permutation(len(rows))[: self.n_rows])
        return _parted(dataset, rows, np.arange(0))

    def _split(self, dataset: Dataset, partition: int, place: int, seed: int) -> tuple[_Rows, _Rows]:
        from sklearn.model_selection import KFold, StratifiedKFold

        _check_counts(dataset)
        # Partition 0 has no word of its own: its draw is that of an experiment with one partition.
        state = seed_of("split", dataset.name, seed, *([partition] if partition else [])) % 2**32
        splitter = (StratifiedKFold if self.stratified else KFold)(self.n_folds, shuffle=True, random_state=state)
        with warnings.catch_warnings():
            # Some class has fewer members than there are folds: allowed here.
            warnings.simplefilter("ignore", UserWarning)
            train, test = list(splitter.split(dataset.features, dataset.labels))[place]
        missing = np.flatnonzero(np.bincount(dataset.labels[train], minlength=len(dataset.class_names)) == 0)
        if missing.size:
            raise InputError(
                f"data set {dataset.name!r}: without stratification fold {place} of partition {partition} leaves class "
                f"{dataset.class_names[missing[0]]!r} out of its training part; use stratified folds or another seed"
            )
        return train, test


def _check_counts(dataset: Dataset) -> None:
    counts = np.bincount(dataset.labels, minlength=len(dataset.class_names))
    if counts.min() < 2:
        lonely = dataset.class_names[int(counts.argmin())]
        raise InputError(
            f"data set {dataset.name!r}: class {lonely!r} has {counted(int(counts.min()), 'member')}; cross validation "
            "needs at least 2, so that each training fold holds each class; leave the class out"
        )


def _parted(dataset: Dataset, train: _Rows, test: _Rows, scaling: Scaling = Scaling.TRAINING) -> Fold:
    standardiser = Standardiser.fit(dataset.features[train])
    of_test = Standardiser.fit(dataset.features[test]) if scaling is Scaling.OWN else standardiser
    return Fold(
        train_features=standardiser.transform(dataset.features[train]),
        train_labels=dataset.labels[train] if dataset.class_names else dataset.labels,
        test_features=of_test.transform(dataset.features[test]),
        test_labels=dataset.labels[test],
        n_constant_features=int(standardiser.constant.sum()),
        labellings={labelling.name: labelling.codes[train] for labelling in dataset.labellings},
    )


def with_hidden_labels(fold: Fold, shown: float, rng: np.random.Generator) -> Fold:
    """Return the fold with ``shown`` labels of each class drawn from ``rng``: a number, or below one a share.

    Of a share at least one is shown. Raises ``InputError`` unless two classes and a hidden label are left.
    """
    mask = np.zeros(len(fold.train_labels), dtype=bool)
    classes = np.unique(fold.train_labels)
    for code in classes:
        members = np.flatnonzero(fold.train_labels == code)
        count = int(shown) if shown >= 1 else max(1, round(shown * len(members)))
        mask[rng.permutation(members)[:count]] = True
    if len(classes) < 2 or mask.all():
        raise InputError(
            f"shown is {shown}: of {len(mask)} samples in {len(classes)} classes {mask.sum()} labels are shown; two "
            "classes and a hidden label are needed"
        )
    return replace(fold, shown=mask)
