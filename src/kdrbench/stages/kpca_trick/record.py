"""The row that every learner, variant and split of the KPCA trick leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class MetricRecord:
    """One learner in one variant on one split; ``None`` where it left no such number.

    ``tuning_*`` are the seconds that chose the kernel (by cross validation or alignment; none for ``plain``),
    ``learning_*`` those of coordinates, learning and 1-NN with it. What methods share counts for each of them.
    ``split_wall_s`` and ``memory_mib`` are those of the process that made all methods of the split. ``status`` is
    ``converged`` for a method that came to its end, else what stopped it. ``kernel`` is in words, sigma as the paper
    scales it. ``test_selected`` holds the test accuracies of all candidates, as a list in JSON, or nothing.
    """

    SCHEMA_VERSION: ClassVar[int] = 1

    schema_version: int
    dataset: str
    split: int
    learner: str
    variant: str
    status: str
    message: str
    accuracy: float | None
    tuning_cpu_s: float | None
    tuning_wall_s: float | None
    learning_cpu_s: float | None
    learning_wall_s: float | None
    kernel: str
    n_coordinates: int
    test_selected: str
    n_train: int
    n_test: int
    n_features: int
    n_folds: int
    seed: int
    split_wall_s: float
    memory_mib: float
    time_limit_s: float
    memory_limit_mib: float
    cores: str
    load: float
    started_at: str
    batch_sha256: str
    data_sha256: str
    kdrbench_version: str
    python_version: str
    numpy_version: str
    scipy_version: str
    scikit_learn_version: str
    pymanopt_version: str
    blas: str
    blas_threads: int
    processor: str
    machine: str
    git_commit: str
    git_dirty: bool | None
    lock_sha256: str

    @property
    def axes(self) -> tuple[str, int, str, str]:
        """What names the row."""
        return self.dataset, self.split, self.learner, self.variant

    @property
    def part(self) -> int:
        """The split, which is what a process of its own makes."""
        return self.split
