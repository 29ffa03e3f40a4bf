"""The step alpha of one von Neumann projection: tr(exp(diag(d) + alpha A) A) = b, by a safeguarded Newton iteration.

The trace g grows with alpha. With A = ww' its logarithm is convex, so that Newton's iterates for log g = log b come
from one side after the first step. The first iterate is that of the Golden-Thompson inequality, tr exp(L + alpha A)
<= tr(exp(L) exp(alpha A)): log(b / g(0)) / |w|^2. Indefinite A use asinh(g / unit) for log g, and a bracket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank.result import Progress

# Newton converges quadratically: what is below this leaves a relative error of the order of rounding.
_EXACT = 1e-9
_ROUNDING = 1e-13
_MOST = 100
_TINY = 1e-300
# Below this difference of logarithms the divided difference of exp is the derivative to double precision.
_CLOSE = 1e-7


class Spectrum(NamedTuple):
    """``values``: r eigenvalues, ascending; ``basis``: eigenvectors q, r x r, as columns; ``turned``: w_k'q, p x r."""

    values: FloatArray
    basis: FloatArray
    turned: FloatArray


def spectrum_of(diagonal: FloatArray, rows: FloatArray, signs: FloatArray, alpha: float) -> Spectrum:
    """Decompose diag(``diagonal``) + ``alpha`` sum_k ``signs``_k w_k w_k', w the one or two ``rows`` of r entries.

    The secular equation of one row takes half of the time of LAPACK's eigenvectors at some hundred entries in numpy;
    machine code (:mod:`.compiled`) solves it.
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
    differences: FloatArray = np.exp(larger) * np.where(close, 1 - 0.5 * gap, -np.expm1(-safe) / safe)
    return differences


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
