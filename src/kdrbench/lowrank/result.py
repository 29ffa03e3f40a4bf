"""What is learned, and what is known of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, check_parameters


class LowRankStatus(StrEnum):
    """How learning ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    STALLED = "stalled"
    MAX_SWEEPS = "max_sweeps"


def _unwatched(sweeps: int, dual: float | None, measure: float) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Stopping:
    """When to stop: both tests must hold, or the sweeps be used up.

    ``tolerance``: |mu - mu_old|_1 / (|mu|_2 + |mu_old|_2) of the duals over one sweep (or Newton step) is below it;
    1e-3 is the paper's. ``kkt_tolerance``: the KKT residual of :class:`LearnedKernel` is below it; the first test alone
    also passes on sets of constraints without a solution. ``max_sweeps``: passes over all constraints, or Newton steps.
    ``watch`` is called at each with its number, the dual objective where it is known, and the KKT residual, or in the
    cyclic solver the change of the duals.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-3
    kkt_tolerance: Annotated[float, POSITIVE] = 1e-3
    max_sweeps: Annotated[int, COUNT] = 2000
    watch: Callable[[int, float | None, float], None] = _unwatched

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, eq=False)
class LearnedKernel:
    """The kernel K = G G' that is nearest to K0 = G0 G0' under the constraints, and the evidence.

    ``factor``: G, n x r. ``factor_map``: r0 x r with G = G0 ``factor_map``; rows of new samples are mapped by it too.
    ``duals``: m values mu_i, not positive for ``<=``, not negative for ``>=``; K0's divergence pulls against them:
    M^-1 = I - sum mu_i v_i v_i' (Burg, K = G0 M G0') or, on the range, log K = log K0 + sum mu_i A_i + nu I (von
    Neumann). ``trace_dual``: nu, the dual of a constraint on the trace, 0 without one.
    ``sweeps``: passes over all constraints, or Newton steps; ``compiled_sweeps``: passes in machine code, of which the
    first in a process also loads it, and the first ever compiles it; ``projections``: constraints visited;
    ``changes``: those among them that moved the kernel; ``trace_evaluations``: spectra of a diagonal plus a low-rank
    matrix, von Neumann only. ``dual_change``: see :class:`Stopping`.

    ``kkt_residual``: the largest of, over the constraints, the violation, or where the constraint holds the smaller of
    its slack and its dual; violations and slacks relative to |b| (where tr(KA) can have both signs, to
    |b| + tr(K0 |A|)), duals times the same (Burg) or times tr |A| on the range (von Neumann). It is taken at the
    kernel that the duals give, so that stationarity holds exactly. ``largest_violation``: relative in the same way.

    ``divergence``: D(K, K0). ``duality_gap``: D minus the dual objective at the same duals; with the kernel feasible it
    bounds how far D is from the least one. ``trace_bound``: any kernel in the range of K0 that meets the constraints
    has at least this many times the trace of K0's own factor, tr M / r; ``inf`` proves that there is none.
    ``conflicting``: for ``infeasible``, the numbers of the constraints that the bound rests on.
    """

    factor: FloatArray
    factor_map: FloatArray
    duals: FloatArray
    status: LowRankStatus
    message: str
    sweeps: int
    projections: int
    changes: int
    trace_evaluations: int
    dual_change: float
    kkt_residual: float
    largest_violation: float
    divergence: float
    duality_gap: float
    trace_bound: float = 0.0
    conflicting: tuple[int, ...] = ()
    compiled_sweeps: int = 0
    trace_dual: float = 0.0

    @property
    def kernel(self) -> FloatArray:
        """Return K = G G', n x n."""
        return self.factor @ self.factor.T


@dataclass
class Progress:
    """What a solver counts while it works, and where it has come to: the fields of :class:`LearnedKernel`."""

    sweeps: int = 0
    compiled_sweeps: int = 0
    projections: int = 0
    changes: int = 0
    trace_evaluations: int = 0
    dual_change: float = math.inf
    trace_bound: float = 0.0
    conflicting: tuple[int, ...] = ()

    def add_sweep(self, counts: list[int], *, compiled: bool) -> None:
        """Add one sweep's projections, changes and, where there are any, spectra."""
        self.compiled_sweeps += int(compiled)
        self.projections += counts[0]
        self.changes += counts[1]
        self.trace_evaluations += sum(counts[2:])
