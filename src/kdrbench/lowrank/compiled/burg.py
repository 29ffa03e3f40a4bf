"""A sweep of Burg projections: what :meth:`kdrbench.lowrank.burg.Burg.sweep` does, in machine code."""

from __future__ import annotations

import math

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.compiled.jit import jit, jit_sum
from kdrbench.lowrank.constraints import IntArray


@jit_sum
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@jit
def _turned(columns: FloatArray, vector: FloatArray, w: FloatArray) -> None:
    """Write B'u into ``w``."""
    for k in range(len(w)):
        w[k] = _dot(columns[k], vector)


@jit
def _grow(columns: FloatArray, w: FloatArray, moved: FloatArray, along: float) -> bool:
    """Make B B' the inverse of (B B')^-1 - along u u', w = B'u; ``moved`` is work space."""
    square = _dot(w, w)
    rest = 1.0 - along * square
    if not rest > 0.0:
        return False
    beta = along / rest
    share = beta / (1.0 + math.sqrt(1.0 + beta * square))
    rank = len(w)
    for i in range(rank):
        moved[i] = 0.0
    for k in range(rank):
        for i in range(rank):
            moved[i] += columns[k, i] * w[k]
    for k in range(rank):
        scaled = share * w[k]
        for i in range(rank):
            columns[k, i] += scaled * moved[i]
    return True


@jit
def _two_step(first: FloatArray, second: FloatArray, sign: float, other_sign: float, bound: float) -> float:
    a, b, mixed = _dot(first, first), _dot(second, second), _dot(first, second)
    trace = sign * a + other_sign * b
    determinant = sign * other_sign * max(0.0, a * b - mixed**2)
    linear = 2.0 * determinant - bound * trace
    root = math.sqrt(max(0.0, 4.0 * determinant**2 + bound**2 * (trace**2 - 4.0 * determinant)))
    if linear <= 0.0:
        return 2.0 * (bound - trace) / (root - linear)
    return -(linear + root) / (2.0 * bound * determinant)


@jit
def burg_sweep(
    columns: FloatArray,
    vectors: FloatArray,
    signs: FloatArray,
    starts: IntArray,
    bounds: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    slack: float,
    duals: FloatArray,
    counts: IntArray,
) -> bool:
    """Project onto each constraint in turn; ``columns``: row k is column k of B.

    ``columns`` and ``duals`` change in place; ``counts``: projections and changes are added. Returns ``False``, midway,
    where rounding prevents more.
    """
    rank = len(columns)
    w, other, moved = np.empty(rank), np.empty(rank), np.empty(rank)
    give = slack / (1.0 + slack) if slack != math.inf else 1.0
    for number in range(len(bounds)):
        begin, dual, bound = starts[number], duals[number], bounds[number]
        single = starts[number + 1] - begin == 1
        _turned(columns, vectors[begin], w)
        if single:
            square = _dot(w, w)
            if not square > 0.0:
                return False
            exact = give * (1.0 / square - 1.0 / bound - dual / slack)
        else:
            _turned(columns, vectors[begin + 1], other)
            exact = _two_step(w, other, signs[begin], signs[begin + 1], bound)
        step = min(max(dual + exact, lower[number]), upper[number]) - dual
        counts[0] += 1
        if step == 0.0:
            continue
        counts[1] += 1
        duals[number] = min(max(dual + exact, lower[number]), upper[number])
        if single:
            if not _grow(columns, w, moved, step):
                return False
            continue
        # What makes X smaller comes first, so that X stays positive definite in between.
        place = begin if step * signs[begin] <= step * signs[begin + 1] else begin + 1
        for row in (place, 2 * begin + 1 - place):
            _turned(columns, vectors[row], w)
            if not _grow(columns, w, moved, step * signs[row]):
                return False
    return True
