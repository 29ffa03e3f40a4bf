"""Residuals of the constraints, and whether a pass of exact projections is machine code.

Passes may be machine code. numba (the extra ``compiled``) is loaded at the first compiled sweep, which takes a few
tenths of a second, and compiles each loop once for all later processes. ``auto`` therefore leaves a solve to numpy
until its projections have cost about as much. It counts projections and not seconds, so that the same problem always
takes the same path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress


def values_of(problem: ReducedProblem, root: FloatArray) -> FloatArray:
    """Return tr(X A_i), m values, for X = R R' with ``root`` R (r x r)."""
    rows = problem.vectors @ root
    return problem.sum_by_constraint(np.einsum("ij,ij->i", rows, rows))


def residual_of(problem: ReducedProblem, duals: FloatArray, excess: FloatArray) -> tuple[float, float]:
    """Return the KKT residual and the largest relative violation, as :class:`LearnedKernel` defines them.

    ``excess``: by how much each tr(X A_i) is above its bound.
    """
    if not len(problem):
        return 0.0, 0.0
    gap = excess / problem.scale
    relative = duals * problem.dual_unit
    # A step along the dual gradient that the allowed signs stop: zero only at an optimum.
    moved = np.minimum(np.maximum(relative - gap, problem.lower), problem.upper)
    missed = np.where(problem.lower == 0, -gap, np.where(problem.upper == 0, gap, np.abs(gap)))
    return float(np.abs(moved - relative).max()), max(0.0, float(missed.max()))


@dataclass(frozen=True)
class InnerLoop:
    """A compiled sweep: its ``name`` in :mod:`.compiled`, and where ``auto`` uses it.

    ``auto`` uses it after ``pays_after`` projections of a solve, at ranks up to ``largest_rank``.
    """

    name: str
    pays_after: int
    largest_rank: int

    def load(self, asked: bool | str, rank: int, progress: Progress) -> Any | None:
        """Return the compiled sweep if this sweep is to use it, else ``None``.

        ``asked``: ``True``, ``False`` or ``auto``. Raises ``InputError`` when it is ``True`` and numba is missing.
        """
        pays = rank <= self.largest_rank and progress.projections >= self.pays_after
        if asked is False or (asked == "auto" and not pays):
            return None
        try:
            from kdrbench.lowrank import compiled
        except ImportError as error:
            if asked is True:
                raise InputError(
                    f"compiled=True needs numba ({error}): pip install 'kdrbench[compiled]', or set compiled to "
                    "'auto' or False for the same results from numpy"
                ) from error
            return None
        return getattr(compiled, f"{self.name}_sweep")
