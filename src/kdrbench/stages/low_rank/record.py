"""The row of a kernel learned by a method from a number of constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kdrbench.bench.record import Record


@dataclass(frozen=True, kw_only=True)
class LowRankRecord(Record):
    """One kernel learned from one draw of constraints, which is a run; ``None`` where it left no such number.

    ``outcome`` is how the method says that it ended (:class:`.LowRankStatus`), ``status`` is that in the words of the
    benchmark: ``stalled`` for a set recognised to have no solution. ``accuracy`` is that of 5-NN by one
    50/50 split, each half being tested once; ``nmi_one_start`` and ``nmi_ten_starts`` are those of kernel k-means from
    one start and of the best of ten. ``time_s`` and ``cpu_s`` count the method alone; ``compile_s`` is what its job
    had spent before on loading machine code, or making it, and ``compiled_sweeps`` says how many sweeps were machine
    code.
    """

    SCHEMA_VERSION: ClassVar[int] = 2
    CELL: ClassVar[tuple[str, ...]] = ("method",)
    KEYS: ClassVar[tuple[str, ...]] = ("n_constraints",)

    method: str
    n_constraints: int
    outcome: str = ""
    accuracy: float | None = None
    nmi_one_start: float | None = None
    nmi_ten_starts: float | None = None
    sweeps: int | None = None
    projections: int | None = None
    changes: int | None = None
    trace_evaluations: int | None = None
    compiled_sweeps: int | None = None
    dual_change: float | None = None
    kkt_residual: float | None = None
    largest_violation: float | None = None
    divergence: float | None = None
    duality_gap: float | None = None
    compile_s: float | None = None
    n_samples: int
    rank: int
