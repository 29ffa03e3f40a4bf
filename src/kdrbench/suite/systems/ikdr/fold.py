"""The samples of one run: those that its method is given, and those by which its result is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels.family import FloatArray

# What the labelling is called that is the data set's classes.
CLASSES = "classes"


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

    @property
    def n_test(self) -> int:
        """Number of test samples."""
        return len(self.test_labels)

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
        """Its partition and sizes, as columns of a record."""
        return {
            "partition": self.partition,
            "n_train": len(self.train_features),
            "n_test": self.n_test if self.shown is None else int(self.judged.sum()),
            "n_features": self.train_features.shape[1],
            "n_constant_features": self.n_constant_features,
        }
