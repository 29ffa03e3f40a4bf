"""The row of a run of interpretable kernel dimension reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kdrbench.bench.record import Record


@dataclass(frozen=True, kw_only=True)
class IKDRRecord(Record):
    """One run of a solver or baseline; ``None`` where it left no such number.

    ``run`` is a fold, a subset, or 0 for all rows. ``time_s`` and ``cpu_s`` are the median of ``repeats`` solves or
    fits, ``time_iqr_s`` is its interquartile range. A run killed at its time limit has ``time_s`` equal to the limit;
    one that ended without a result has the time of its last trace line. ``evaluation`` says how the problem was
    evaluated, and why. Clusterings have the number of their ``rounds``, ``iterations`` over all of them, no counts of
    calls, and say whether their degrees existed (``uses_degrees``). ``quality`` is what ``quality_metric`` says:
    accuracy on the ``n_test`` test samples, or, where there are none, the error on the training samples; of clusterings
    the NMI with the classes. Of alternative clusterings it is the NMI with the labelling they should find, and
    ``nmi_given`` that with the one they should differ from. ``cost`` to ``eigengap_needed`` belong to the last
    orthonormal projection that the referee evaluated; the last three, of second order, are known of supervised runs in
    small tangent spaces. Of a baseline (``kernel``: ``none``) only the quality is known.
    """

    SCHEMA_VERSION: ClassVar[int] = 6
    CELL: ClassVar[tuple[str, ...]] = ("kernel", "method")

    kernel: str
    method: str
    paradigm: str
    split: str
    time_iqr_s: float | None = None
    repeats: int = 0
    iterations: int | None = None
    value_calls: int | None = None
    gradient_calls: int | None = None
    hessian_vector_calls: int | None = None
    hessian_calls: int | None = None
    surrogate_calls: int | None = None
    evaluation: str | None = None
    rounds: int | None = None
    uses_degrees: bool | None = None
    cost: float | None = None
    quality_metric: str
    quality: float | None = None
    feasibility: float | None = None
    stationarity: float | None = None
    curvature: float | None = None
    eigengap: float | None = None
    eigengap_needed: float | None = None
    nmi_given: float | None = None
    n_train: int
    n_test: int
    n_features: int
    n_constant_features: int
    n_components: int | None = None
