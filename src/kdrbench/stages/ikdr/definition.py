"""What the configuration decides about the runs of a cell, and the data of each, fitted on its training part."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.bench.batch import Batch
from kdrbench.bench.seeds import rng_of, seed_of
from kdrbench.datasets import Dataset, Standardiser
from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels.family import FloatArray

# In place of a kernel's name, where a method has none.
NO_KERNEL = "none"
# The given labelling of data without one: what spectral clustering finds first.
CLUSTERS = "clusters"
# The q below which the spectrum of Phi_0 has its largest gap (ISM+, Eq. 50), one for each run.
EIGENGAP = "eigengap"
SUPERVISED, UNSUPERVISED = "supervised", "unsupervised"
SEMI_SUPERVISED, ALTERNATIVE = "semi_supervised", "alternative"
# What the labelling is called that is the data set's classes.
CLASSES = "classes"


class Split(StrEnum):
    """What the runs of a cell are made on.

    ``folds``: the training parts of a cross validation, scored on the test parts; ``none``: all rows, once, without a
    test part; ``subsets``: repeated draws of some of the rows, without a test part either.
    """

    FOLDS = "folds"
    NONE = "none"
    SUBSETS = "subsets"


@dataclass(frozen=True)
class Fold:
    """Standardised training and test samples with their class codes; the test part may be empty.

    Where a data set has no classes, the codes are empty. ``labellings`` are other classes of the training samples.
    ``shown``, of semi-supervised runs, says whose training labels may be learned from; the others are for scoring.
    """

    train_features: FloatArray
    train_labels: NDArray[np.int64]
    test_features: FloatArray
    test_labels: NDArray[np.int64]
    n_constant_features: int
    labellings: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    shown: NDArray[np.bool_] | None = None

    def labelling(self, name: str) -> NDArray[np.int64]:
        """Return the training samples' codes in a labelling, ``classes`` being one.

        Raises ``InputError`` naming those there are.
        """
        known = {CLASSES: self.train_labels, **self.labellings}
        if name not in known:
            raise InputError(unknown_name("labelling", name, sorted(known)))
        return known[name]

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
        """Its sizes, as columns of a record."""
        return {
            "n_train": len(self.train_labels),
            "n_test": len(self.test_labels) if self.shown is None else int(self.judged.sum()),
            "n_features": self.train_features.shape[1],
            "n_constant_features": self.n_constant_features,
        }


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
        train, test = next(islice(splitter.split(dataset.features, dataset.labels), number, None))
    return _parted(dataset, train, test)


def whole(dataset: Dataset) -> Fold:
    """Return all rows, in their order, without a test part."""
    return _parted(dataset, np.arange(len(dataset.features)), np.arange(0))


def make_subset(dataset: Dataset, number: int, n_rows: int, seed: int) -> Fold:
    """Return ``n_rows`` rows drawn without replacement, without a test part.

    The draw depends on the data set's name, its ``number`` and the seed alone.
    """
    rows = rng_of("subset", dataset.name, number, seed).permutation(len(dataset.features))[:n_rows]
    return _parted(dataset, np.sort(rows), np.arange(0))


def _parted(dataset: Dataset, train: NDArray[np.int64], test: NDArray[np.int64]) -> Fold:
    standardiser = Standardiser.fit(dataset.features[train])
    return Fold(
        train_features=standardiser.transform(dataset.features[train]),
        train_labels=dataset.labels[train] if dataset.class_names else dataset.labels,
        test_features=standardiser.transform(dataset.features[test]),
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


class Kind(StrEnum):
    """What is run: a solver of a kernel's problem, or a baseline, which has no kernel."""

    SOLVER = "solver"
    BASELINE = "baseline"


@dataclass(frozen=True)
class CellDefinition:
    """One cell: paradigm and its parameters, kernel and method with their options, q, the split and the start.

    With the split ``subsets`` a run is a draw of ``n_rows`` rows, with ``none`` it is all rows, once. A baseline has no
    kernel, no start and no evaluation. ``labellings`` name what is ``given`` to alternative clustering and what is
    ``sought``. ``shown`` is how many labels of each class a semi-supervised run is given, a number or a share: each run
    is a draw of them. ``n_components`` is q, or ``eigengap`` where each run has its own (:func:`.components_of`).
    """

    dataset: str
    seed: int
    threads: int
    kind: Kind
    paradigm: str
    parameters: Mapping[str, Any]
    labellings: Mapping[str, str]
    kernel: Mapping[str, Any]
    method: Mapping[str, Any]
    n_components: int | str
    split: Split
    n_folds: int
    n_rows: int | None
    start: str
    evaluation: Mapping[str, Any]
    shown: float | None = None

    @classmethod
    def of(cls, batch: Batch) -> CellDefinition:
        """Return the definition that a batch carries."""
        values = dict(batch.definition)
        values |= {"kind": Kind(values["kind"]), "split": Split(values["split"])}
        return cls(batch.dataset, batch.seed, batch.threads, **values)

    def fold(self, dataset: Dataset, number: int) -> Fold:
        """Return the samples of run ``number``."""
        samples = self._samples(dataset, number)
        if self.shown is None:
            return samples
        return with_hidden_labels(samples, self.shown, rng_of("shown", dataset.name, number, self.seed))

    def _samples(self, dataset: Dataset, number: int) -> Fold:
        if self.split is Split.FOLDS:
            return make_fold(dataset, number, self.n_folds, self.seed)
        if self.n_rows is not None:
            return make_subset(dataset, number, self.n_rows, self.seed)
        return whole(dataset)
