"""What the solvers need of a divergence: its dual function and derivatives, and one pass of exact projections.

Passes may be machine code. numba (the extra ``compiled``) is loaded at the first compiled sweep, which takes a few
tenths of a second, and compiles each loop once for all later processes. ``auto`` therefore leaves a solve to numpy
until its projections have cost about as much. It counts projections and not seconds, so that the same problem always
takes the same path.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress


class Divergence(Protocol):
    """A divergence on a :class:`ReducedProblem`. ``duals`` are m values, X(mu) the minimiser of the Lagrangian.

    A state is X in the form that the divergence works with; its ``root()`` is R with X = R R', r x r.
    """

    problem: ReducedProblem
    # Whether a sweep costs no more than a Newton step.
    cheap_sweeps: bool

    def at(self, duals: FloatArray) -> Any | None:
        """Return X(mu), or ``None`` where it does not exist or overflows."""
        ...

    def dual(self, duals: FloatArray, state: Any) -> float:
        """Return the dual objective."""
        ...

    def value(self, state: Any) -> float:
        """Return D(X, X0)."""
        ...

    def curvature(self, duals: FloatArray, state: Any, free: NDArray[np.bool_]) -> FloatArray:
        """Return minus the Hessian of the dual objective over the ``free`` duals."""
        ...

    def bounds(self, duals: FloatArray) -> FloatArray:
        """Return the bounds, moved by what the slack allows at these duals."""
        ...

    def slack_cost(self, duals: FloatArray) -> float:
        """Return what the moved bounds add to the primal objective."""
        ...

    def sweep(self, state: Any, duals: FloatArray, progress: Progress) -> bool:
        """Project onto each constraint in turn; ``state`` and ``duals`` change in place.

        Returns ``False``, midway, where X is so near to being singular or infinite that rounding prevents more.
        """
        ...


def values_of(problem: ReducedProblem, state: Any) -> FloatArray:
    """Return tr(X A_i), m values."""
    rows = problem.vectors @ state.root()
    return problem.sum_by_constraint(np.einsum("ij,ij->i", rows, rows))


def kkt_residual(divergence: Divergence, duals: FloatArray, values: FloatArray) -> tuple[float, float]:
    """Return the KKT residual and the largest relative violation, as :class:`LearnedKernel` defines them."""
    return residual_of(divergence.problem, duals, values - divergence.bounds(duals))


def residual_of(problem: ReducedProblem, duals: FloatArray, excess: FloatArray) -> tuple[float, float]:
    """Return the same from ``excess``, by how much each tr(X A_i) is above its bound."""
    if not len(problem):
        return 0.0, 0.0
    gap = excess / problem.scale
    relative = duals * problem.dual_unit
    # A step along the dual gradient that the allowed signs stop: zero only at an optimum.
    moved = np.minimum(np.maximum(relative - gap, problem.lower), problem.upper)
    missed = np.where(problem.lower == 0, -gap, np.where(problem.upper == 0, gap, np.abs(gap)))
    return float(np.abs(moved - relative).max()), max(0.0, float(missed.max()))


def compiled_sweep(divergence: str, requested: bool | str, pays: bool) -> Any | None:
    """Return the compiled sweep of a divergence if this sweep is to use it, else ``None``.

    ``requested``: ``True``, ``False``, or ``auto`` for where it ``pays``. Raises ``InputError`` when it is ``True`` and
    numba is missing.
    """
    if requested is False or (requested == "auto" and not pays):
        return None
    try:
        from kdrbench.lowrank import compiled
    except ImportError as error:
        if requested is True:
            raise InputError(
                f"compiled=True needs numba ({error}): pip install 'kdrbench[compiled]', or set compiled to "
                "'auto' or False for the same results from numpy"
            ) from error
        return None
    return getattr(compiled, f"{divergence}_sweep")
