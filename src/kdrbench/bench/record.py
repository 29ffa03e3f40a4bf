"""The row that every run leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kdrbench.bench.rows import append_rows, read_rows

Axes = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class RunRecord:
    """One run. Times in seconds, memory in MiB; ``None`` where a run left no such number.

    ``time_s`` and ``cpu_s`` count the solver or baseline alone (median of ``repeats`` solves or fits, with
    interquartile range); ``wall_s`` is the supervised process from fork to end. ``contaminated`` marks a run whose
    wall time exceeds its CPU time by more than a tenth: it shared its core. ``timed`` runs owned their cores, and a
    fixed piece of work was timed there before and after the batch (``calibration_before_s``, ``calibration_after_s``;
    the latter unknown for a batch that was interrupted). A run that was ``skipped`` because the grid's ``budget_s`` was
    used up has no numbers, nor a number of components where these follow a rule. A run killed at its time limit has
    ``time_s`` equal to the limit; one that ended without a result has the time of its last trace line.
    ``evaluation`` says how the problem was evaluated, and why. Clusterings have the number of their ``rounds``,
    ``iterations`` over all of them, no counts of calls, and say whether their degrees existed (``uses_degrees``).
    ``quality`` is what ``quality_metric`` says: accuracy on the ``n_test`` test samples, or, where there are none, the
    error on the training samples; of clusterings the NMI with the classes. Of alternative clusterings it is the NMI
    with the labelling they should find, and ``nmi_given`` that with the one they should differ from. ``cost`` to
    ``eigengap_needed`` belong to the last orthonormal projection the referee saw; the last three, of second order, are
    known of supervised runs in small tangent spaces. Of a baseline (``kernel``: ``none``) only the quality is known.
    """

    SCHEMA_VERSION: ClassVar[int] = 5

    schema_version: int
    experiment: str
    dataset: str
    kernel: str
    solver: str
    fold: int
    paradigm: str
    split: str
    seed: int
    status: str
    message: str
    time_s: float | None
    time_iqr_s: float | None
    repeats: int
    cpu_s: float | None
    wall_s: float
    memory_mib: float
    iterations: int | None
    value_calls: int | None
    gradient_calls: int | None
    hessian_vector_calls: int | None
    hessian_calls: int | None
    surrogate_calls: int | None
    evaluation: str | None
    rounds: int | None
    uses_degrees: bool | None
    cost: float | None
    quality_metric: str
    quality: float | None
    feasibility: float | None
    stationarity: float | None
    curvature: float | None
    eigengap: float | None
    eigengap_needed: float | None
    nmi_given: float | None
    n_train: int
    n_test: int
    n_features: int
    n_constant_features: int
    n_components: int | None
    time_limit_s: float
    memory_limit_mib: float
    budget_s: float | None
    timed: bool
    contaminated: bool | None
    calibration_before_s: float | None
    calibration_after_s: float | None
    cores: str
    load: float
    involuntary_switches: int
    trace_file: str
    started_at: str
    batch_sha256: str
    definition_sha256: str
    data_sha256: str
    solver_version: int
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
    def axes(self) -> Axes:
        """What names the run."""
        return self.experiment, self.dataset, self.kernel, self.solver, self.fold


def append_record(path: Path, record: RunRecord) -> None:
    """Append one line and flush it to disk before returning."""
    append_rows(path, [record])


def read_records(path: Path) -> list[RunRecord]:
    """Read a file of records; an unfinished last line (a writer that was killed) is left out."""
    return read_rows(path, RunRecord)
