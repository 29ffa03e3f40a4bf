"""The row of a learner in a variant on a split of the KPCA trick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kdrbench.bench.record import Record


@dataclass(frozen=True, kw_only=True)
class KPCATrickRecord(Record):
    """One learner in one variant on one split, which is a run; ``None`` where it left no such number.

    ``tuning_*`` are the seconds that chose the kernel (by cross validation or alignment; zero for ``plain``),
    ``learning_*`` those of coordinates, learning and 1-NN with it; ``time_s`` and ``cpu_s`` are their sums. What
    methods share counts for each of them. ``status`` is ``converged`` for a method that came to its end, else what
    stopped it. ``kernel`` is in words, sigma as the paper scales it. ``test_selected`` holds the test accuracies of all
    candidates, as a list in JSON, or nothing.
    """

    SCHEMA_VERSION: ClassVar[int] = 2
    KEYS: ClassVar[tuple[str, ...]] = ("learner", "variant")

    learner: str
    variant: str
    accuracy: float | None = None
    tuning_cpu_s: float | None = None
    tuning_wall_s: float | None = None
    learning_cpu_s: float | None = None
    learning_wall_s: float | None = None
    kernel: str = ""
    n_coordinates: int | None = None
    test_selected: str = ""
    n_train: int
    n_test: int
    n_features: int
    n_folds: int
