"""The row that every task, method, number of constraints and run of low-rank kernel learning leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class LowrankRecord:
    """One kernel learned from one draw of constraints; ``None`` where it left no such number.

    ``outcome`` is the method's own word (:class:`kdrbench.lowrank.LowRankStatus`), ``status`` the bench's: ``stalled``
    for a set recognised to have no solution. ``accuracy`` is that of 5-NN by one 50/50 split, each half
    being tested once; ``nmi_one_start`` and ``nmi_ten_starts`` are those of kernel k-means from one start and of the
    best of ten.
    ``time_s`` and ``cpu_s`` count the method alone; ``compile_s`` is what its job had spent before on loading machine
    code, or making it, and ``compiled_sweeps`` says how many sweeps were machine code. ``run_wall_s`` and
    ``memory_mib`` are those of the process that made all numbers of constraints of the run.
    """

    SCHEMA_VERSION: ClassVar[int] = 1

    schema_version: int
    task: str
    dataset: str
    method: str
    n_constraints: int
    run: int
    status: str
    outcome: str
    message: str
    accuracy: float | None
    nmi_one_start: float | None
    nmi_ten_starts: float | None
    sweeps: int | None
    projections: int | None
    changes: int | None
    trace_evaluations: int | None
    compiled_sweeps: int | None
    dual_change: float | None
    kkt_residual: float | None
    largest_violation: float | None
    divergence: float | None
    duality_gap: float | None
    time_s: float | None
    cpu_s: float | None
    compile_s: float
    n_samples: int
    rank: int
    seed: int
    run_wall_s: float
    memory_mib: float
    time_limit_s: float
    memory_limit_mib: float
    cores: str
    load: float
    started_at: str
    batch_sha256: str
    data_sha256: str
    numba_version: str
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
    def axes(self) -> tuple[str, str, int, int]:
        """What names the row."""
        return self.task, self.method, self.n_constraints, self.run

    @property
    def part(self) -> int:
        """The run, which is what a process of its own makes."""
        return self.run
