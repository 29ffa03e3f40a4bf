"""A portfolio of starts: many on a few of the samples, the best of them on more, and the best of these on all.

Where K_ij is a power of x_i'WW'x_j a few samples of large norm outweigh all others, and each choice of whom to follow
has a maximum of its own. So which maximum one start finds is a matter of luck. The samples of largest norm have nearly
the maxima of all, and a start on them costs little. Of other kernels equal shares of all classes stand for all.

1. On the fewest of ``_SAMPLES`` each random start takes ``_EXPLORING`` steps of plain ISM, and then steps of
   limited-memory BFGS. If the first ``_ENOUGH`` agree no more are drawn: the expected number of maxima, given that k
   starts found the same one, (k - 1) / (k - 3), is then below 1.5.
2. The quarter with the highest F on the next number of samples, at least ``_FINALISTS``, goes on there by a step of
   ISM and further steps of BFGS. Numbers of which there are not twice as many samples are left out.
3. On all samples the finalists do the same beside the first candidate, and the highest F is chosen. F never falls along
   a candidate, so the choice is at least as good as the first.

Sources: Boender, Rinnooy Kan, "Bayesian stopping rules for multistart global optimization methods", Mathematical
Programming 37, 1987; Jamieson, Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
AISTATS 2016 (successive halving); the rest is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.problems import PassStoppedError, Problem
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, orthonormalised
from kdrbench.solvers.limited_memory import QuasiNewtonSearch
from kdrbench.solvers.monitor import Monitor
from kdrbench.solvers.newton import quasi_newton_from

# Measured on MNIST, cubic kernel, q = 10: with 250 or 400 samples the best maxima are mostly missed, with 500 found.
# The last number bounds what is held of samples that are streamed.
_SAMPLES, _SHARE, _FINALISTS = (500, 2000, 8000), 4, 2
# Steps of ISM of a random start: with two instead of five, F ends 6 % lower there.
_EXPLORING = 5
# Steps of BFGS on few samples, on more, and on all.
_FIRST_STEPS, _STEPS, _LAST_STEPS = 10, 20, 10
_ENOUGH = 8
# Candidates agree where F differs by this share of it at most, and each is settled: F may yet rise by about the square
# of the stationarity, times |W'G| over the smallest curvature.
_SAME, _SETTLED = 1e-4, 1e-2
# Candidates that are this stationary wait: the finish is for the best alone.
_STATIONARY = 1e-5


def chosen_start(
    problem: Problem, first: FloatArray, surrogate: FloatArray, count: int, rng: np.random.Generator, monitor: Monitor
) -> tuple[FloatArray, float, str]:
    """Return the best of ``first``, near which Phi is ``surrogate``, and ``count`` - 1 random starts, F, and how found.

    F is not below that of ``first``. The monitor sees the best candidate so far whenever one begins or steps on.

    Raises ``PassStoppedError`` where the monitor ends the run.
    """
    smaller = [problem.leading(n_samples) for n_samples in _SAMPLES]
    levels = [level for level in smaller if level] or [problem]
    points, agreed = _drawn(levels[0], first, count - 1, rng, monitor)
    n_starts = len(points) + 1
    for level in levels[1:]:
        candidates = [_after_ism(level, point, 1) for point in _better(level, points)]
        for candidate in candidates:
            _advance(candidate, _STEPS, first, monitor)
        points = [candidate.point for candidate in candidates]
    finalists = [quasi_newton_from(problem, first, surrogate)]
    finalists += [_after_ism(problem, point, 1) for point in _better(problem, points)]
    for finalist in finalists:
        _advance(finalist, _LAST_STEPS, _best(finalists).point, monitor)
    one_optimum = agreed and _agree(finalists)
    message = f"{n_starts} starts lead to one optimum" if one_optimum else f"the best of {n_starts} starts"
    return _best(finalists).point, _best(finalists).value, message


def _drawn(
    problem: Problem, first: FloatArray, count: int, rng: np.random.Generator, monitor: Monitor
) -> tuple[list[FloatArray], bool]:
    """Return where ``count`` random starts lead, or fewer that agree, and whether they do; ``first`` is shown."""
    reduced = problem.in_row_space(first)
    inside = problem if reduced is None else reduced[0]
    candidates: list[QuasiNewtonSearch] = []
    for number in range(1, count + 1):
        start = orthonormalised(rng.standard_normal((inside.n_features, first.shape[1])))
        candidates.append(_after_ism(inside, start, _EXPLORING))
        _advance(candidates[-1], _FIRST_STEPS, first, monitor)
        if number == _ENOUGH - 1 and _agree(candidates):
            break
    points = [candidate.point for candidate in candidates]
    return (points if reduced is None else [reduced[1].lift(point) for point in points]), _agree(candidates)


def _better(problem: Problem, points: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the quarter of the points at which F is highest, at least the finalists, and none that are the same."""
    values = [problem.value(point) for point in points]
    kept: list[int] = []
    for place in np.argsort(values)[::-1]:
        if not kept or values[kept[-1]] - values[place] > _SAME * abs(values[kept[0]]):
            kept.append(int(place))
    return [points[place] for place in kept[: max(_FINALISTS, len(points) // _SHARE)]]


def _after_ism(problem: Problem, point: FloatArray, n_steps: int) -> QuasiNewtonSearch:
    """Return a candidate after steps of plain ISM."""
    for _ in range(n_steps):
        surrogate = problem.surrogate(point)
        point = leading_eigenvectors(surrogate, point.shape[1])[1]
    return quasi_newton_from(problem, point, surrogate)


def _advance(candidate: QuasiNewtonSearch, n_steps: int, shown: FloatArray, monitor: Monitor) -> None:
    """Take at most ``n_steps`` steps, unless the candidate waits for the finish or has none left."""
    if not monitor.keep_going(shown):
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
