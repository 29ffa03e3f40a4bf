"""Several starts, cheap first: successive halving with limited-memory steps.

Which maximum one start finds is a matter of luck for polynomial kernels on many features. So further starts are drawn
at random. Each takes three steps of plain ISM, and then ``_RUNGS[0]`` limited-memory steps. The half with the lower F
is dropped, the other half steps on to the next rung, until one is left. F never falls along one candidate,
and the highest is never dropped: the choice is at least as good as the first candidate.

The first two steps of plain ISM are those of the problem of a few samples, drawn for each start, where the problem
offers that. They cost little, and lead to other maxima, often higher ones: a power of the products lets a few samples
outweigh all others, which of the few lead depends on who is drawn.

Where one maximum is all there is, further starts are wasted. So at first only ``_ENOUGH`` candidates are made. If these
agree, no more are drawn. ``_ENOUGH`` is where the expected number of maxima, given that k starts found the same one,
(k - 1) / (k - 3), is below 1.5.

Sources: Boender, Rinnooy Kan, "Bayesian stopping rules for multistart global optimization methods", Mathematical
Programming 37, 1987; Jamieson, Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
AISTATS 2016 (successive halving).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import PassStoppedError, Problem, is_approximable, value_and_gradient_of
from kdrbench.solvers.geometry.stiefel import eigenvalues_settled, leading_eigenvectors, orthonormalised, subspace_turn
from kdrbench.solvers.geometry.tangents import IsmPreconditioner
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.monitor import Monitor

# Steps on the way to each rung: ten, and then as many as were taken before.
_RUNGS = (10, 10, 20, 40, 80)
_ENOUGH = 8
# Samples of which the first two steps of a random start are made.
_FEW_SAMPLES = 100
# Candidates agree where F differs by this share of it at most, and each is settled: F may yet rise by about the square
# of the stationarity, times |W'G| over the smallest curvature.
_SAME, _SETTLED = 1e-4, 1e-2
# Candidates that are this stationary wait: the finish is for the best alone.
_STATIONARY = 1e-5
# Iterates cycle where the subspace is back at an earlier one, of this many, to within this share of its last turn. No
# such iterate is stationary, so the finish brings more than the rest of the way into the cycle would.
_CYCLE, _LONGEST = 1e-2, 40


class Explored(NamedTuple):
    """The best W of an exploration, F there, the last surrogate, and how far surrogates have drifted.

    ``drift`` is the largest 1 - <Phi, Phi'> / (|Phi| |Phi'|) of the second surrogate and a later one.
    """

    point: FloatArray
    value: float
    surrogate: FloatArray
    drift: float


def explore(
    problem: Problem, start: FloatArray, monitor: Monitor, *, tolerance: float, max_steps: int
) -> Explored | None:
    """Iterate as plain ISM does until the eigenvalues settle to ``tolerance``, a cycle is found, or ``max_steps``.

    Iterates may be worse than the ones before them, so the best is kept. ``None`` if stopped before the first step.
    """
    best, best_value = start, problem.value(start)
    projection, earlier = start, [start]
    previous: FloatArray | None = None
    surrogate: FloatArray | None = None
    second, drift = None, 0.0
    for step in range(max_steps):
        if not monitor.keep_going(best):
            break
        surrogate = problem.surrogate(projection)
        eigenvalues, following = leading_eigenvectors(surrogate, start.shape[1])
        if step == 1:
            second = surrogate
        elif second is not None:
            drift = max(drift, _drift(second, surrogate))
        if (value := problem.value(following)) > best_value:
            best, best_value = following, value
        settled = previous is not None and eigenvalues_settled(eigenvalues, previous, tolerance)
        turn = subspace_turn(projection, following)
        if settled or any(subspace_turn(before, following) <= _CYCLE * turn for before in earlier):
            break
        earlier = [*earlier, projection][-_LONGEST:]
        projection, previous = following, eigenvalues
    return None if surrogate is None else Explored(best, best_value, surrogate, drift)


def _drift(first: FloatArray, other: FloatArray) -> float:
    sizes = float(np.linalg.norm(first)) * float(np.linalg.norm(other))
    return 1.0 - float(np.vdot(first, other)) / sizes if sizes else 0.0


class Choice(NamedTuple):
    """The best candidate, F there, and in words how it was found."""

    point: FloatArray
    value: float
    message: str


def chosen_start(
    problem: Problem, first: FloatArray, surrogate: FloatArray, count: int, rng: np.random.Generator, monitor: Monitor
) -> Choice:
    """Return the best of ``first``, near which Phi is ``surrogate``, and ``count`` - 1 random starts.

    F is not below that of ``first``. The monitor sees the best candidate so far whenever one begins or steps on.

    Raises ``PassStoppedError`` where the monitor ends the run.
    """
    candidates = [_candidate(problem, first, surrogate)]
    for number in range(1, count + 1):
        _advance(candidates[-1], _RUNGS[0], _best(candidates), monitor)
        if number in (_ENOUGH, count) and _agree(candidates):
            best = _best(candidates)
            return Choice(best.point, best.value, f"{number} starts lead to one optimum")
        if number < count:
            candidates.append(_random_candidate(problem, first.shape, rng))
    for n_steps in _RUNGS[1:]:
        candidates = sorted(candidates, key=lambda one: -one.value)[: (len(candidates) + 1) // 2]
        if len(candidates) == 1 or _agree(candidates):
            break
        for one in candidates:
            _advance(one, n_steps, _best(candidates), monitor)
    best = _best(candidates)
    return Choice(best.point, best.value, f"the best of {count} starts")


def _candidate(problem: Problem, point: FloatArray, surrogate: FloatArray) -> QuasiNewtonSearch:
    inverse = IsmPreconditioner(surrogate, point).solve_at
    return QuasiNewtonSearch(problem, point, *value_and_gradient_of(problem, point), preconditioner=inverse)


def _random_candidate(problem: Problem, shape: tuple[int, ...], rng: np.random.Generator) -> QuasiNewtonSearch:
    """Return a random start after two steps of plain ISM on some of the samples, and one on all."""
    point = orthonormalised(rng.standard_normal(shape))
    smaller = problem.subsampled(_FEW_SAMPLES, rng) if is_approximable(problem) else None
    for _ in range(2):
        point = leading_eigenvectors((smaller or problem).surrogate(point), shape[1])[1]
    surrogate = problem.surrogate(point)
    return _candidate(problem, leading_eigenvectors(surrogate, shape[1])[1], surrogate)


def _advance(candidate: QuasiNewtonSearch, n_steps: int, best: QuasiNewtonSearch, monitor: Monitor) -> None:
    """Take at most ``n_steps`` steps, unless the candidate waits for the finish or has none left; ``best`` is shown."""
    if not monitor.keep_going(best.point):
        raise PassStoppedError
    for _ in range(n_steps):
        if not monitor.progress(0.0):
            raise PassStoppedError
        if candidate.stationarity <= _STATIONARY or not candidate.step():
            break


def _best(candidates: Sequence[QuasiNewtonSearch]) -> QuasiNewtonSearch:
    return max(candidates, key=lambda one: one.value)


def _agree(candidates: Sequence[QuasiNewtonSearch]) -> bool:
    values = [one.value for one in candidates]
    settled = all(one.stationarity <= _SETTLED for one in candidates)
    return settled and max(values) - min(values) <= _SAME * abs(max(values))
