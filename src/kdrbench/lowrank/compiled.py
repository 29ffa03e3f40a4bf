"""Sweeps in machine code, by numba: those of :mod:`.burg` as they are, and one of von Neumann projections.

The latter does what :mod:`kdrbench.lowrank.trace_step` does, with eigenvalues of diag(d) + rho ww' in O(r^2)
operations: the roots of the secular equation f(lambda) = 1 + rho sum_j w_j^2 / (d_j - lambda) = 0, of which one lies
between each two neighbours of the diagonal, and one beyond the last. Each is kept as a distance from the nearer of its
two poles, so that no difference lambda - d_j cancels, and moves by rational interpolation with both poles inside a
bracket. Eigenvectors are those of a w that differs by rounding, whose eigenvalues are exactly those found. Constraints
of rank two are left to numpy: full eigenproblems cost as much in machine code.

numba compiles at the first call and keeps the result on disk. It looks whether the file of the function kept has
changed, not those of the functions that it calls: functions that call each other must be in one file.

Sources: Li, "Solving secular equations stably and efficiently", LAPACK Working Note 89, 1993 (its fixed weight method);
Gu, Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem", SIAM
J. Matrix Analysis and Applications 15, 1994 (eigenvectors).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from kdrbench.kernels.family import FloatArray as Floats
from kdrbench.lowrank import burg
from kdrbench.lowrank.constraints import IntArray as Ints

# As in the modules named above.
_LARGEST = 300.0
_EXACT = 1e-9
_ROUNDING = 1e-13
_MOST = 100
_TINY = 1e-300
_CLOSE = 1e-5
_DEFLATED = 8 * float(np.finfo(np.float64).eps)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function, **options: Any) -> _Function:
    # Division by zero gives infinity, as in numpy, and does not keep loops from being vectorised.
    make: Any = partial(njit, error_model="numpy", **options)
    try:
        return cast(_Function, make(cache=True)(function))
    except RuntimeError:
        # No cache folder is writable: compile in each process.
        return cast(_Function, make(cache=False)(function))


# Sums in any order, so that they use vector registers; no other liberty is taken.
jit_sum = partial(_compiled, fastmath={"reassoc", "contract"})
jit = partial(_compiled)


def _with(function: Callable[..., Any], **called: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of :mod:`.burg` that calls these instead of those of numpy."""
    plain = cast(FunctionType, function)
    return jit(FunctionType(plain.__code__, {**plain.__globals__, **called}, plain.__name__))


_dot = jit_sum(burg.loop_dot)
_turned, _two_step = _with(burg.loop_turn, _dot=_dot), _with(burg.two_step, _dot=_dot)
_grow = _with(burg.grow, _add_product=jit(burg.loop_add_product))
burg_sweep = _with(burg.burg_sweep, _dot=_dot, _turn=_turned, two_step=_two_step, grow=_grow)


@jit_sum
def _secular_sums(weights: Floats, deltas: Floats, root: float) -> tuple[float, float]:
    """Return 1 + sum w / (delta - root) and its derivative."""
    value, slope = 0.0, 0.0
    for j in range(len(weights)):
        inverse = 1.0 / (deltas[j] - root)
        term = weights[j] * inverse
        value += term
        slope += term * inverse
    return 1.0 + value, slope


@jit
def _interpolated(c: float, a: float, b: float) -> float:
    root = math.sqrt(max(a * a - 4.0 * b * c, 0.0))
    return (a - root) / (2.0 * c) if a <= 0.0 else 2.0 * b / (a + root)


@jit
def _secular_root(i: int, poles: Floats, weights: Floats, end: float, deltas: Floats) -> float:
    """Return eigenvalue ``i``; ``deltas`` becomes d_j - eigenvalue. ``end``, beyond the last, acts as a pole."""
    k = len(poles)
    following, ahead = (poles[i + 1], weights[i + 1]) if i < k - 1 else (end, 0.0)
    gap = following - poles[i]
    for j in range(k):
        deltas[j] = poles[j] - poles[i]
    middle, _ = _secular_sums(weights, deltas, 0.5 * gap)
    right = middle < 0.0 and i < k - 1
    origin = following if right else poles[i]
    for j in range(k):
        deltas[j] = poles[j] - origin
    weight, pole = (ahead, -gap) if right else (weights[i], gap)
    low, high = (-0.5 * gap, 0.0) if right else (0.5 * gap, gap) if middle < 0.0 else (0.0, 0.5 * gap)
    root = 0.5 * (low + high)
    for _ in range(_MOST):
        value, slope = _secular_sums(weights, deltas, root)
        low, high = (root, high) if value < 0.0 else (low, root)
        far, product = pole - root, root * (pole - root)
        constant = value - far * slope + weight * pole / root**2
        moved = root + _interpolated(constant, (far - root) * value + product * slope, -product * value)
        if moved == 0.0 or not (low <= moved <= high):
            # A root may be nearer to its pole than a step's rounding: solved for that distance itself.
            other = far * far * (slope - weight / root**2)
            moved = _interpolated(constant, constant * pole + weight + other, weight * pole)
            moved = moved if low < moved < high else 0.5 * (low + high)
        root, before = moved, root
        if abs(root - before) <= _EXACT * abs(root):
            break
    for j in range(k):
        deltas[j] -= root
    return float(origin + root)


@jit
def _separated(logs: Floats, columns: Floats, w: Floats) -> Ints:
    """Return the order in which ``logs`` ascend. Where they coincide, turn basis and w until only one is coupled."""
    rank = len(logs)
    order = np.empty(rank, dtype=np.int64)
    largest = np.abs(logs).max()
    for k in range(rank):
        # They nearly ascend already: each is moved up to its place.
        place = k
        while place > 0 and logs[order[place - 1]] > logs[k]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
    for k in range(rank - 1):
        i, j = order[k], order[k + 1]
        length = math.hypot(w[i], w[j])
        if logs[j] - logs[i] <= _DEFLATED * largest and w[i] != 0.0:
            cosine, sine = w[j] / length, w[i] / length
            w[i], w[j] = 0.0, length
            for column in range(rank):
                a, b = columns[i, column], columns[j, column]
                columns[i, column], columns[j, column] = cosine * a - sine * b, sine * a + cosine * b
    return order


@jit
def _secular(
    logs: Floats, w: Floats, order: Ints, rho: float, values: Floats, turned: Floats
) -> tuple[Ints, Floats, Floats]:
    """Decompose diag(logs) + rho ww': eigenvalues into ``values``, w'q into ``turned``.

    Returns the places of the entries that are coupled, their poles, and the differences d_j - eigenvalue_i (i rows).
    """
    rank, turn = len(logs), -1.0 if rho < 0.0 else 1.0
    kept, poles, squares = np.empty(rank, dtype=np.int64), np.empty(rank), np.empty(rank)
    strength = abs(rho) * math.sqrt(_dot(w, w))
    scale = max(np.abs(logs).max(), strength * np.abs(w).max())
    values[:], turned[:] = logs, w
    k = 0
    for i in range(rank):
        place = order[i] if rho > 0.0 else order[rank - 1 - i]
        if strength * abs(w[place]) > _DEFLATED * scale:
            kept[k], poles[k], squares[k] = place, turn * logs[place], w[place] ** 2
            k += 1
    poles, squares, weights, differences = poles[:k], squares[:k], abs(rho) * squares[:k], np.empty((k, k))
    beyond = 1.5 * weights.sum()
    for i in range(k):
        root = _secular_root(i, poles, weights, poles[k - 1] + beyond, differences[i])
        _, slope = _secular_sums(squares, differences[i], 0.0)
        values[kept[i]], turned[kept[i]] = turn * root, 1.0 / (abs(rho) * math.sqrt(slope))
    return kept[:k], poles, differences


@jit
def _turn(columns: Floats, w: Floats, kept: Ints, poles: Floats, differences: Floats) -> None:
    """Multiply the basis, whose columns are the rows of ``columns``, by the eigenvectors."""
    k = len(kept)
    weights, vectors, before = np.ones(k), np.empty((k, k)), np.empty((k, columns.shape[1]))
    for i in range(k):
        before[i] = columns[kept[i]]
        for j in range(k):
            weights[j] *= abs(differences[i, j] / (poles[j] - poles[i] if j != i else 1.0))
    for j in range(k):
        weights[j] = math.copysign(math.sqrt(weights[j]), w[kept[j]])
    for i in range(k):
        for j in range(k):
            vectors[i, j] = weights[j] / differences[i, j]
        vectors[i] /= math.sqrt(_dot(vectors[i], vectors[i]))
    after = np.dot(vectors, before)
    for i in range(k):
        columns[kept[i]] = after[i]


@jit_sum
def _level(values: Floats, turned: Floats) -> tuple[float, float]:
    """Return the logarithm of the trace sum turned^2 exp(values), and its derivative by divided differences of exp."""
    rank, shift = len(values), values.max()
    spectrum, squares = np.exp(values - shift), turned**2
    trace, slope = max(_dot(squares, spectrum), _TINY), 0.0
    for k in range(rank):
        inner = 0.0
        for j in range(k):
            gap = values[k] - values[j]
            mean = 0.5 * (spectrum[k] + spectrum[j])
            inner += squares[j] * ((spectrum[k] - spectrum[j]) / gap if abs(gap) > _CLOSE else mean)
        slope += squares[k] * (2.0 * inner + squares[k] * spectrum[k])
    return math.log(trace) + shift, slope / trace


@jit
def _project(
    logs: Floats, columns: Floats, w: Floats, target: float, per_step: float, limit: float, counts: Ints
) -> float:
    """Move ``logs`` and ``columns`` by the step, and return it.

    Wanted is log trace = ``target`` - ``per_step`` alpha, for alpha between 0 and ``limit``.
    """
    rank = len(logs)
    order = _separated(logs, columns, w)
    values, turned = np.empty(rank), np.empty(rank)
    gap = _level(logs, w)[0] - target
    first = -gap / (_dot(w, w) + per_step)
    inside, outside, last = 0.0, limit, False
    # The end of the allowed signs is tried first where there is one: the dual may stop there.
    alpha, at_limit = (first, False) if math.isinf(limit) else (limit, True)
    for _ in range(_MOST):
        counts[2] += 1
        kept, poles, differences = _secular(logs, w, order, alpha, values, turned)
        if last:
            break
        level, slope = _level(values, turned)
        excess = level - target + per_step * alpha
        if at_limit:
            if excess * gap >= 0.0:
                break
            alpha, at_limit = first if abs(first) < abs(limit) else 0.5 * limit, False
            continue
        inside, outside = (alpha, outside) if excess * gap > 0.0 else (inside, alpha)
        new = alpha - excess / (slope + per_step)
        bracketed = min(inside, outside) < new < max(inside, outside)
        if abs(excess) <= _ROUNDING or abs(outside - inside) <= _ROUNDING * abs(alpha):
            break
        if abs(excess) <= _EXACT:
            # One more step is exact to rounding, unless rounding is all that is left.
            alpha, last = new if bracketed else alpha, True
        elif bracketed:
            alpha = new
        else:
            # With no end in sight the step is doubled, else the bracket halved.
            alpha = 2.0 * alpha if math.isinf(outside) else 0.5 * (inside + outside)
    _turn(columns, w, kept, poles, differences)
    logs[:] = values
    return float(alpha)


@jit
def von_neumann_sweep(
    logs: Floats, columns: Floats, vectors: Floats, limits: Floats, slack: float, duals: Floats, counts: Ints
) -> bool:
    """Project onto each constraint in turn; all are of rank one, X = U exp(diag(logs)) U', ``columns`` = U'.

    ``limits``: the bound, and the least and largest dual, of each constraint. ``logs``, ``columns`` and ``duals``
    change in place; ``counts``: projections, changes and spectra are added. Returns ``False``, midway, where X grows
    beyond what can be represented.
    """
    w = np.empty(len(logs))
    for number in range(len(limits)):
        bound, lower, upper = limits[number]
        for k in range(len(logs)):
            w[k] = _dot(columns[k], vectors[number])
        counts[0] += 1
        target = math.log(bound) - duals[number] / slack
        level, _ = _level(logs, w)
        # The step has the sign of target - level; the allowed signs of the dual may end it early.
        limit = (lower if level > target else upper) - duals[number]
        if limit == 0.0 or abs(level - target) <= _ROUNDING:
            continue
        counts[1] += 1
        duals[number] += _project(logs, columns, w, target, 1.0 / slack, limit, counts)
        if not logs.max() <= _LARGEST:
            return False
    return True
