"""The step alpha of one von Neumann projection: tr(exp(diag(d) + alpha A) A) = b, by a safeguarded Newton iteration.

The trace g grows with alpha. With A = ww' its logarithm is convex, so that Newton's iterates for log g = log b come
from one side after the first step. The first iterate is that of the Golden-Thompson inequality, tr exp(L + alpha A)
<= tr(exp(L) exp(alpha A)): log(b / g(0)) / |w|^2. Indefinite A use asinh(g / unit) for log g, and a bracket.

numpy decomposes diag(d) + alpha A by LAPACK. The loops for machine code (:mod:`.compiled`) find its eigenvalues in
O(r^2) operations: the roots of the secular equation f(lambda) = 1 + rho sum_j w_j^2 / (d_j - lambda) = 0, of which one
lies between each two neighbours of the diagonal, and one beyond the last. Each is kept as a distance from the nearer of
its two poles, so that no difference lambda - d_j cancels, and moves by rational interpolation with both poles inside a
bracket. Eigenvectors are those of a w that differs by rounding, whose eigenvalues are exactly those found. Constraints
of rank two are left to numpy: full eigenproblems cost as much in machine code.

Sources: Li, "Solving secular equations stably and efficiently", LAPACK Working Note 89, 1993 (its fixed weight method);
Gu, Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem", SIAM
J. Matrix Analysis and Applications 15, 1994 (eigenvectors).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.burg import loop_dot
from kdrbench.lowrank.constraints import IntArray
from kdrbench.lowrank.result import Progress

# exp of more than this overflows when squared.
LARGEST = 300.0

# Newton converges quadratically: what is below this leaves a relative error of the order of rounding.
_EXACT = 1e-9
_ROUNDING = 1e-13
_MOST = 100
_TINY = 1e-300
# Below this difference of logarithms the divided difference of exp is the derivative to double precision, or the mean
# of exp at both as near as a difference of them.
_CLOSE, _CLOSE_MEAN = 1e-7, 1e-5
_DEFLATED = 8 * float(np.finfo(np.float64).eps)


class Spectrum(NamedTuple):
    """``values``: r eigenvalues, ascending; ``basis``: eigenvectors q, r x r, as columns; ``turned``: w_k'q, p x r."""

    values: FloatArray
    basis: FloatArray
    turned: FloatArray


def spectrum_of(diagonal: FloatArray, rows: FloatArray, signs: FloatArray, alpha: float) -> Spectrum:
    """Decompose diag(``diagonal``) + ``alpha`` sum_k ``signs``_k w_k w_k', w the one or two ``rows`` of r entries.

    The secular equation of one row takes half of the time of LAPACK's eigenvectors at some hundred entries in numpy.
    """
    matrix = (rows.T * (alpha * signs)) @ rows
    matrix[np.diag_indices_from(matrix)] += diagonal
    values, basis = np.linalg.eigh(matrix)
    return Spectrum(values, basis, rows @ basis)


def divided_differences(logs: FloatArray) -> FloatArray:
    """Return (exp(d_k) - exp(d_l)) / (d_k - d_l), r x r, with exp(d_k) where they coincide."""
    larger = np.maximum(logs[:, None], logs)
    gap = np.abs(logs[:, None] - logs)
    close = gap < _CLOSE
    safe = np.where(close, 1.0, gap)
    # exp(larger) (1 - exp(-gap)) / gap neither cancels nor overflows where exp itself does not.
    return np.exp(larger) * np.where(close, 1 - 0.5 * gap, -np.expm1(-safe) / safe)


@dataclass(frozen=True, eq=False)
class Projection:
    """One constraint in the eigenbasis of X.

    ``logs``: d; ``rows``: its one or two w; ``signs``: theirs; ``dual``: mu, kept within ``lower`` and ``upper``;
    ``bound``: b; ``slack``: gamma, which makes the bound b exp(-mu / gamma).
    """

    logs: FloatArray
    rows: FloatArray
    signs: FloatArray
    dual: float
    bound: float
    lower: float
    upper: float
    slack: float


def projection_step(projection: Projection, progress: Progress) -> tuple[float, Spectrum | None]:
    """Return the clipped step and the spectrum there; ``None`` for the spectrum where nothing moves.

    The levels that are compared are log g, or asinh(g / unit) where g can be negative: nearly linear in the step.
    """
    logs, rows, signs, slack = projection.logs, projection.rows, projection.signs, projection.slack
    definite, lengths = len(rows) == 1, np.exp(logs) @ (rows**2).T
    start, unit = float(lengths @ signs), float(lengths.sum())
    spectrum: Spectrum | None = None

    def target(alpha: float) -> float:
        if definite:
            return math.log(projection.bound) - (projection.dual + alpha) / slack
        return math.asinh(projection.bound / unit)

    def excess(alpha: float) -> tuple[float, float]:
        """Return level(g(alpha)) - level(target) and its derivative; the spectrum is kept."""
        nonlocal spectrum
        progress.trace_evaluations += 1
        spectrum = spectrum_of(logs, rows, signs, alpha)
        turned, values = spectrum.turned, spectrum.values
        shift = float(values.max())
        value = float(signs @ (turned**2 @ np.exp(values - shift)))
        if definite:
            # Far to the left the trace may underflow; its logarithm then says only on which side the root is.
            value = max(value, _TINY)
        products = (turned.T * signs) @ turned
        slope = float(np.sum(divided_differences(values - shift) * products**2))
        if definite:
            # Both carry the factor exp(shift), which may overflow; the logarithm does not.
            return math.log(value) + shift - target(alpha), slope / value + 1 / slack
        scaled = math.exp(min(shift, 700.0)) / unit
        level = value * scaled
        return math.asinh(level) - target(alpha), slope * scaled / math.hypot(1, level)

    gap = (math.log(start) if definite else math.asinh(start / unit)) - target(0.0)
    # The step has the sign of -gap; the allowed signs of the dual may end it early.
    limit = (projection.lower if gap > 0 else projection.upper) - projection.dual
    if abs(gap) <= _ROUNDING or limit == 0:
        return 0.0, None
    first = -gap / (float(np.sum(rows**2)) + 1 / slack)
    return _newton(excess, gap, first, limit), spectrum


def _evaluated(trace: Callable[[float], tuple[float, float]], alpha: float) -> tuple[float, float]:
    """Return by how much the level is beyond the target after the step ``alpha``, and the derivative of that."""
    return trace(alpha)


def _newton(trace: Any, gap: float, first: float, limit: float) -> float:
    """Return the step between 0 and ``limit`` after which the level is the target; it is the last one evaluated.

    ``gap``: by how much the level is beyond the target without a step; ``first``: the first iterate. Where the level
    has not come to the target at a finite ``limit``, that is the step. Text for numpy and for machine code alike.
    """
    inside, outside, last = 0.0, limit, False
    # The end of the allowed signs is tried first where there is one: the dual may stop there.
    alpha, at_limit = (first, False) if math.isinf(limit) else (limit, True)
    for _ in range(_MOST):
        excess, slope = _evaluated(trace, alpha)
        if last:
            break
        if at_limit:
            if excess * gap >= 0.0:
                break
            alpha, at_limit = first if abs(first) < abs(limit) else 0.5 * limit, False
            continue
        inside, outside = (alpha, outside) if excess * gap > 0.0 else (inside, alpha)
        new = alpha - excess / slope if slope > 0.0 else math.inf
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
    return alpha


# For machine code (:mod:`.compiled`): a sweep of such projections, by loops.


def _secular_sums(weights: FloatArray, deltas: FloatArray, root: float) -> tuple[float, float]:
    """Return 1 + sum w / (delta - root) and its derivative."""
    value, slope = 0.0, 0.0
    for j in range(len(weights)):
        inverse = 1.0 / (deltas[j] - root)
        term = weights[j] * inverse
        value += term
        slope += term * inverse
    return 1.0 + value, slope


def _interpolated(c: float, a: float, b: float) -> float:
    root = math.sqrt(max(a * a - 4.0 * b * c, 0.0))
    return (a - root) / (2.0 * c) if a <= 0.0 else 2.0 * b / (a + root)


def _secular_root(i: int, poles: FloatArray, weights: FloatArray, end: float, deltas: FloatArray) -> float:
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


def _separated(logs: FloatArray, columns: FloatArray, w: FloatArray) -> IntArray:
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


def _secular(logs: FloatArray, w: FloatArray, order: IntArray, rho: float, space: Any) -> int:
    """Decompose diag(logs) + rho ww' into the arrays of ``space``; return how many entries k are coupled.

    These are the eigenvalues, w'q, then the places of the coupled entries, their poles, and k x k differences
    d_j - eigenvalue_i (i rows), each array being filled from its beginning.
    """
    values, turned, kept, poles, differences = space
    rank, turn = len(logs), -1.0 if rho < 0.0 else 1.0
    squares = np.empty(rank)
    strength = abs(rho) * math.sqrt(loop_dot(w, w))
    scale = max(np.abs(logs).max(), strength * np.abs(w).max())
    values[:], turned[:] = logs, w
    k = 0
    for i in range(rank):
        place = order[i] if rho > 0.0 else order[rank - 1 - i]
        if strength * abs(w[place]) > _DEFLATED * scale:
            kept[k], poles[k], squares[k] = place, turn * logs[place], w[place] ** 2
            k += 1
    squares, weights = squares[:k], abs(rho) * squares[:k]
    beyond = 1.5 * weights.sum()
    for i in range(k):
        deltas = differences[i * k : (i + 1) * k]
        root = _secular_root(i, poles[:k], weights, poles[k - 1] + beyond, deltas)
        _, slope = _secular_sums(squares, deltas, 0.0)
        values[kept[i]], turned[kept[i]] = turn * root, 1.0 / (abs(rho) * math.sqrt(slope))
    return k


def _turn(columns: FloatArray, w: FloatArray, kept: IntArray, poles: FloatArray, differences: FloatArray) -> None:
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
        vectors[i] /= math.sqrt(loop_dot(vectors[i], vectors[i]))
    after = np.dot(vectors, before)
    for i in range(k):
        columns[kept[i]] = after[i]


def _level(values: FloatArray, turned: FloatArray) -> tuple[float, float]:
    """Return the logarithm of the trace sum turned^2 exp(values), and its derivative by divided differences of exp."""
    rank, shift = len(values), values.max()
    spectrum, squares = np.exp(values - shift), turned**2
    trace, slope = max(loop_dot(squares, spectrum), _TINY), 0.0
    for k in range(rank):
        inner = 0.0
        for j in range(k):
            gap = values[k] - values[j]
            mean = 0.5 * (spectrum[k] + spectrum[j])
            inner += squares[j] * ((spectrum[k] - spectrum[j]) / gap if abs(gap) > _CLOSE_MEAN else mean)
        slope += squares[k] * (2.0 * inner + squares[k] * spectrum[k])
    return math.log(trace) + shift, slope / trace


def loop_evaluated(trace: Any, alpha: float) -> tuple[float, float]:
    """Return the same as :func:`_evaluated`, for the work space that :func:`_project` makes."""
    logs, w, order, space, size, target, per_step, counts = trace
    counts[2] += 1
    size[0] = _secular(logs, w, order, alpha, space)
    level, slope = _level(space[0], space[1])
    return level - target + per_step * alpha, slope + per_step


def _project(
    logs: FloatArray, columns: FloatArray, w: FloatArray, target: float, per_step: float, limit: float, counts: IntArray
) -> float:
    """Move ``logs`` and ``columns`` by the step, and return it.

    Wanted is log trace = ``target`` - ``per_step`` alpha, for alpha between 0 and ``limit``.
    """
    rank = len(logs)
    order = _separated(logs, columns, w)
    values, turned, poles, differences = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(rank**2)
    kept, size = np.empty(rank, dtype=np.int64), np.zeros(1, dtype=np.int64)
    gap = _level(logs, w)[0] - target
    trace = (logs, w, order, (values, turned, kept, poles, differences), size, target, per_step, counts)
    alpha = _newton(trace, gap, -gap / (loop_dot(w, w) + per_step), limit)
    k = size[0]
    _turn(columns, w, kept[:k], poles[:k], differences[: k * k].reshape(k, k))
    logs[:] = values
    return float(alpha)


def von_neumann_sweep(
    logs: FloatArray,
    columns: FloatArray,
    vectors: FloatArray,
    limits: FloatArray,
    slack: float,
    duals: FloatArray,
    counts: IntArray,
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
            w[k] = loop_dot(columns[k], vectors[number])
        counts[0] += 1
        target = math.log(bound) - duals[number] / slack
        level, _ = _level(logs, w)
        # The step has the sign of target - level; the allowed signs of the dual may end it early.
        limit = (lower if level > target else upper) - duals[number]
        if limit == 0.0 or abs(level - target) <= _ROUNDING:
            continue
        counts[1] += 1
        duals[number] += _project(logs, columns, w, target, 1.0 / slack, limit, counts)
        if not logs.max() <= LARGEST:
            return False
    return True
