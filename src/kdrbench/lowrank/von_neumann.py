"""Von Neumann's matrix divergence: D(X, Y) = tr(X log X - X log Y - X + Y).

In an orthonormal basis of the range of K0, log X = log X0 + sum mu_i A_i. The projection onto one constraint is an
eigenproblem of a diagonal plus a matrix of rank one (or two), log X + alpha A in the eigenbasis of X, and a Newton
iteration for alpha. The projection onto a trace, tr X = t, is X t / tr X: its dual moves by log(t / tr X).

The trace g(alpha) = tr(exp(diag(d) + alpha A) A) grows with alpha. With A = ww' its logarithm is convex, so that
Newton's iterates for log g = log b come from one side after the first step. The first iterate is that of the
Golden-Thompson inequality, tr exp(L + alpha A) <= tr(exp(L) exp(alpha A)): log(b / g(0)) / |w|^2. Indefinite A use
asinh(g / unit) for log g, and a bracket.

Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 5 and Algorithm 2, corrected:
what is decomposed is **log** Lambda plus the rank-one term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.divergence import compiled_sweep
from kdrbench.lowrank.reduced import ReducedProblem
from kdrbench.lowrank.result import Progress

# exp of more than this overflows when squared.
_LARGEST = 300.0
# Newton converges quadratically: what is below this leaves a relative error of the order of rounding.
_EXACT = 1e-9
_ROUNDING = 1e-13
_MOST = 100
_TINY = 1e-300
# Below this difference of logarithms the divided difference of exp is the derivative to double precision.
_CLOSE = 1e-7
# Machine code pays after this many projections, and at once from this rank on: it solves secular equations there.
_PAYS_AFTER, _PAYS_FROM_RANK = 3_000, 64


@dataclass(frozen=True, eq=False)
class Projection:
    """One constraint in the eigenbasis of X.

    ``logs``: d; ``rows``: its one or two w; ``signs``: theirs; ``bound``: b; ``dual``: mu, kept within ``lower`` and
    ``upper``; ``slack``: gamma, which makes the bound b exp(-mu / gamma).
    """

    logs: FloatArray
    rows: FloatArray
    signs: FloatArray
    bound: float
    dual: float
    lower: float
    upper: float
    slack: float


class Spectrum(NamedTuple):
    """``values``: r eigenvalues; ``turned``: w_k'q, p x r; ``basis``: the eigenvectors q as columns."""

    values: FloatArray
    turned: FloatArray
    basis: FloatArray


def spectrum_of(diagonal: FloatArray, rows: FloatArray, signs: FloatArray, alpha: float) -> Spectrum:
    """Decompose diag(``diagonal``) + ``alpha`` sum_k ``signs``_k w_k w_k', w the one or two ``rows`` of r entries."""
    matrix = (rows.T * (alpha * signs)) @ rows
    matrix[np.diag_indices_from(matrix)] += diagonal
    values, basis = np.linalg.eigh(matrix)
    return Spectrum(values, rows @ basis, basis)


def divided_differences(logs: FloatArray) -> FloatArray:
    """Return (exp(d_k) - exp(d_l)) / (d_k - d_l), r x r, with exp(d_k) where they coincide."""
    larger = np.maximum(logs[:, None], logs)
    gap = np.abs(logs[:, None] - logs)
    close = gap < _CLOSE
    safe = np.where(close, 1.0, gap)
    # exp(larger) (1 - exp(-gap)) / gap neither cancels nor overflows where exp itself does not.
    differences: FloatArray = np.exp(larger) * np.where(close, 1 - 0.5 * gap, -np.expm1(-safe) / safe)
    return differences


class _Trace:
    """g on a scale on which it is nearly linear, with its derivative."""

    def __init__(self, projection: Projection, progress: Progress) -> None:
        self._projection, self._progress = projection, progress
        lengths = np.exp(projection.logs) @ (projection.rows**2).T
        self._start = float(lengths @ projection.signs)
        self.definite = len(projection.rows) == 1
        self._unit = float(lengths.sum())
        self.spectrum: Spectrum | None = None

    def gap_at_start(self) -> float:
        """Return level(g(0)) - level(target), levels being log g, or asinh(g / unit) where g can be negative."""
        level = math.log(self._start) if self.definite else math.asinh(self._start / self._unit)
        return level - self._target(0.0)

    def _target(self, alpha: float) -> float:
        """Return the level of the bound when the dual has moved by ``alpha``."""
        projection = self._projection
        if self.definite:
            return math.log(projection.bound) - (projection.dual + alpha) / projection.slack
        return math.asinh(projection.bound / self._unit)

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return level(g(alpha)) - level(target) and its derivative; the spectrum is kept."""
        projection = self._projection
        self._progress.trace_evaluations += 1
        self.spectrum = spectrum_of(projection.logs, projection.rows, projection.signs, alpha)
        turned, values = self.spectrum.turned, self.spectrum.values
        shift = float(values.max())
        value = float(projection.signs @ (turned**2 @ np.exp(values - shift)))
        if self.definite:
            # Far to the left the trace may underflow; its logarithm then says only on which side the root is.
            value = max(value, _TINY)
        products = (turned.T * projection.signs) @ turned
        slope = float(np.sum(divided_differences(values - shift) * products**2))
        if self.definite:
            # Both carry the factor exp(shift), which may overflow; the logarithm does not.
            gap = math.log(value) + shift - self._target(alpha)
            return gap, slope / value + 1 / projection.slack
        scaled = math.exp(min(shift, 700.0)) / self._unit
        level = value * scaled
        return math.asinh(level) - self._target(alpha), slope * scaled / math.hypot(1, level)


def projection_step(projection: Projection, progress: Progress) -> tuple[float, Spectrum | None]:
    """Return the clipped step and the spectrum there; ``None`` for the spectrum where nothing moves."""
    trace = _Trace(projection, progress)
    gap = trace.gap_at_start()
    if abs(gap) <= _ROUNDING:
        return 0.0, None
    # The step has the sign of -gap; the allowed signs of the dual may end it early.
    limit = (projection.lower if gap > 0 else projection.upper) - projection.dual
    if limit == 0:
        return 0.0, None
    if projection.dual != 0 and projection.dual + limit == 0:
        reached, _ = trace(limit)
        if reached * gap >= 0:
            return limit, trace.spectrum
    return _newton(trace, gap, limit, float(np.sum(projection.rows**2)) + 1 / projection.slack)


def _newton(trace: _Trace, gap: float, limit: float, square: float) -> tuple[float, Spectrum | None]:
    """Return the root strictly between 0 and ``limit``, and the spectrum there."""
    inside, outside = 0.0, limit
    alpha = -gap / square
    if abs(alpha) >= abs(limit):
        alpha = 0.5 * limit
    for _ in range(_MOST):
        excess, slope = trace(alpha)
        if excess * gap > 0:
            inside = alpha
        else:
            outside = alpha
        step = -excess / slope if slope > 0 else math.inf
        new = alpha + step
        bracketed = min(inside, outside) < new < max(inside, outside)
        if abs(excess) <= _ROUNDING or abs(outside - inside) <= _ROUNDING * abs(alpha):
            break
        if abs(excess) <= _EXACT:
            # One more step is exact to rounding, unless rounding is all that is left.
            alpha = new if bracketed else alpha
            trace(alpha)
            break
        if not bracketed:
            # With no end in sight the step is doubled, else the bracket halved.
            new = 2 * alpha if math.isinf(outside) else 0.5 * (inside + outside)
        alpha = new
    return alpha, trace.spectrum


@dataclass
class VonNeumannState:
    """X = U exp(diag(d)) U': ``basis`` U, r x r orthogonal; ``logs`` d."""

    basis: FloatArray
    logs: FloatArray

    def root(self) -> FloatArray:
        """Return U exp(diag(d) / 2)."""
        scaled: FloatArray = self.basis * np.exp(0.5 * self.logs)
        return scaled


class VonNeumann:
    """Von Neumann's divergence on a reduced problem; see :class:`kdrbench.lowrank.divergence.Divergence`."""

    orthonormal = True
    cheap_sweeps = False

    def __init__(self, problem: ReducedProblem, compiled: bool | str = "auto") -> None:
        # Steps of rank two take full eigenproblems, which machine code does not make quicker.
        single = int(problem.starts[problem.n_given]) == problem.n_given
        self.problem, self._compiled = problem, compiled if single else False
        self._logs = np.log(problem.spectrum)

    def at(self, duals: FloatArray) -> VonNeumannState | None:
        """Return X(mu) = exp(log X0 + sum mu_i A_i), or ``None`` where that overflows."""
        logarithm = np.diag(self._logs) + self.problem.combination(duals)
        if not np.isfinite(logarithm).all():
            return None
        logs, basis = np.linalg.eigh(logarithm)
        return None if logs[-1] > _LARGEST else VonNeumannState(basis, logs)

    def dual(self, duals: FloatArray, state: VonNeumannState) -> float:
        """Return tr X0 - tr X(mu) + sum mu_i b_i, with slack gamma sum b_i (1 - exp(-mu_i / gamma))."""
        problem = self.problem
        traces = float(problem.spectrum.sum() - np.sum(state.root() ** 2))
        if problem.slack == math.inf:
            return traces + float(duals @ problem.bounds)
        return traces - float(problem.slack * problem.bounds @ np.expm1(-duals / problem.slack))

    def value(self, state: VonNeumannState) -> float:
        """Return tr(X log X - X log X0 - X + X0)."""
        spectrum = np.exp(state.logs)
        against = np.sum((state.basis**2 * spectrum) * self._logs[:, None])
        return float(spectrum @ state.logs - against - spectrum.sum() + self.problem.spectrum.sum())

    def curvature(self, duals: FloatArray, state: VonNeumannState, free: NDArray[np.bool_]) -> FloatArray:
        """Return sum_kl c_kl (q_k' A_i q_l)(q_k' A_j q_l), c the divided differences of exp at the eigenvalues."""
        problem = self.problem
        rows = problem.vectors @ state.basis
        products = problem.signs[:, None, None] * rows[:, :, None] * rows[:, None, :]
        summed = np.add.reduceat(products, problem.starts[:-1], axis=0)[free]
        scaled = (summed * np.sqrt(divided_differences(state.logs))).reshape(len(summed), -1)
        curvature: FloatArray = scaled @ scaled.T
        if problem.slack != math.inf:
            curvature = curvature + np.diag(self.bounds(duals)[free] / problem.slack)
        return curvature

    def bounds(self, duals: FloatArray) -> FloatArray:
        """Return b exp(-mu / gamma)."""
        moved: FloatArray = self.problem.bounds * np.exp(-duals / self.problem.slack)
        return moved

    def slack_cost(self, duals: FloatArray) -> float:
        """Return gamma sum (xi log(xi / b) - xi + b), xi being the moved bounds."""
        problem = self.problem
        if problem.slack == math.inf:
            return 0.0
        moved = self.bounds(duals)
        return float(problem.slack * np.sum(-moved * duals / problem.slack - moved + problem.bounds))

    def sweep(self, state: VonNeumannState, duals: FloatArray, progress: Progress) -> bool:
        """Project onto each constraint in turn, in machine code or in numpy; onto a trace last."""
        done = self._sweep_given(state, duals, progress)
        if done and self.problem.traced:
            step = math.log(self.problem.bounds[-1]) - float(np.logaddexp.reduce(state.logs))
            state.logs = state.logs + step
            duals[-1] += step
            progress.projections += 1
            progress.changes += int(step != 0)
        return done

    def _sweep_given(self, current: VonNeumannState, duals: FloatArray, progress: Progress) -> bool:
        pays = progress.projections >= _PAYS_AFTER or self.problem.rank >= _PAYS_FROM_RANK
        compiled = compiled_sweep("von_neumann", self._compiled, pays)
        if compiled is None:
            return self._sweep(current, duals, progress)
        problem, counts, given = self.problem, np.zeros(3, dtype=np.int64), self.problem.n_given
        columns = np.ascontiguousarray(current.basis.T)
        done: bool = compiled(
            current.logs,
            columns,
            problem.vectors[:given],
            np.column_stack([problem.bounds, problem.lower, problem.upper])[:given],
            problem.slack,
            duals[:given],
            counts,
        )
        current.basis = columns.T
        progress.add_sweep(counts.tolist(), compiled=True)
        return done

    def _sweep(self, current: VonNeumannState, duals: FloatArray, progress: Progress) -> bool:
        problem = self.problem
        starts = problem.starts[: problem.n_given + 1].tolist()
        for number, begin in enumerate(starts[:-1]):
            end = starts[number + 1]
            projection = Projection(
                current.logs,
                problem.vectors[begin:end] @ current.basis,
                problem.signs[begin:end],
                float(problem.bounds[number]),
                float(duals[number]),
                float(problem.lower[number]),
                float(problem.upper[number]),
                problem.slack,
            )
            step, spectrum = projection_step(projection, progress)
            progress.projections += 1
            if spectrum is not None:
                progress.changes += 1
                duals[number] += step
                current.logs, current.basis = spectrum.values, current.basis @ spectrum.basis
                if not current.logs.max() <= _LARGEST:
                    return False
        return True
