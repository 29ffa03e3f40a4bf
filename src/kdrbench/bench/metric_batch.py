"""One job of the KPCA trick's tables: a data set and some of its random splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kdrbench.bench.parts_batch import PartsBatch

# The paper's three, and alignment of centred kernels, with the prefixes of their names.
VARIANTS = {"plain": "", "cross_validated": "k", "aligned": "ak", "centred": "cak"}


@dataclass(frozen=True)
class MetricBatch(PartsBatch):
    """Consecutive splits of a data set.

    Each split is ``n_train`` samples drawn at random to learn from, the others to test. ``candidates`` are the kernels
    that the variants choose from, ``n_folds`` those of the cross validation. With ``test_selected``, rows hold the test
    accuracy of every candidate.
    """

    learners: tuple[str, ...]
    variants: tuple[str, ...]
    candidates: dict[str, Any]
    n_train: int
    n_folds: int
    test_selected: bool
    splits: tuple[int, ...]

    @property
    def parts(self) -> tuple[int, ...]:
        """The splits."""
        return self.splits

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return f"{self.dataset}/{self.parts_label}"

    @property
    def methods(self) -> list[tuple[str, str]]:
        """Learner and variant of each row that a split leaves."""
        return [(learner, variant) for learner in self.learners for variant in self.variants]

    @property
    def axes(self) -> list[tuple[Any, ...]]:
        """Data set, split, learner and variant of each row."""
        return [(self.dataset, split, *method) for split in self.splits for method in self.methods]
