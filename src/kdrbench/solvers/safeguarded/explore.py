"""Exploration: plain ISM from the start, of which the best iterate is kept."""

from __future__ import annotations

from typing import NamedTuple

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled, leading_eigenvectors, subspace_turn
from kdrbench.solvers.monitor import Monitor

# A turn of the subspace by less than this against the iterate before the last is a cycle of two.
_CYCLE = 1e-6


class Explored(NamedTuple):
    """The best W of an exploration, F there, and the last surrogate."""

    point: FloatArray
    value: float
    surrogate: FloatArray


def explore(
    problem: Problem, start: FloatArray, monitor: Monitor, *, tolerance: float, max_steps: int
) -> Explored | None:
    """Iterate as plain ISM does until the eigenvalues settle to ``tolerance``, a cycle is found, or ``max_steps``.

    Iterates may be worse than the ones before them, so the best is kept. ``None`` if stopped before the first step.
    """
    best, best_value = start, problem.value(start)
    before_last, projection = start, start
    previous: FloatArray | None = None
    surrogate: FloatArray | None = None
    for _ in range(max_steps):
        if not monitor.keep_going(best):
            break
        surrogate = problem.surrogate(projection)
        eigenvalues, following = leading_eigenvectors(surrogate, start.shape[1])
        if (value := problem.value(following)) > best_value:
            best, best_value = following, value
        settled = previous is not None and eigenvalues_settled(eigenvalues, previous, tolerance)
        if settled or subspace_turn(before_last, following) <= _CYCLE:
            break
        before_last, projection, previous = projection, following, eigenvalues
    return None if surrogate is None else Explored(best, best_value, surrogate)
