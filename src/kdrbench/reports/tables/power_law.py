"""Power laws: time = c size^a, fitted to what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kdrbench.reports.tables.significance import half_width

# Below this many samples a run is made of calls, not of sums over pairs.
MANY_SAMPLES = 1000.0
_FEWEST = 3


@dataclass(frozen=True)
class PowerLaw:
    """time = 2^``level`` size^``exponent``, over ``n_points`` of sizes ``smallest`` to ``largest``.

    ``low`` to ``high`` is the 95 % interval of the exponent.
    """

    exponent: float
    low: float
    high: float
    level: float
    smallest: float
    largest: float
    n_points: int

    def at(self, size: float) -> float:
        """Return the time of the law at a size."""
        return float(2.0 ** (self.level + self.exponent * math.log2(size)))


def fit_power_law(sizes: Sequence[float], times: Sequence[float]) -> PowerLaw | None:
    """Return the least-squares line through (log2 size, log2 time), with Student's t for its slope.

    ``None`` where fewer than three different sizes have a positive time: a line through two points has no interval.
    """
    points = [(size, time) for size, time in zip(sizes, times, strict=True) if size > 0 and time > 0]
    if len({size for size, _ in points}) < _FEWEST:
        return None
    x, y = np.log2(np.array(points)).T
    (var_x, covariance), (_, var_y) = np.cov(x, y, bias=True)
    slope = float(covariance / var_x)
    unexplained = max(0.0, 1.0 - covariance**2 / (var_x * var_y)) if var_y else 0.0
    half = half_width(len(x) - 2) * math.sqrt(unexplained * var_y / var_x / (len(x) - 2))
    level = float(y.mean() - slope * x.mean())
    chosen = [size for size, _ in points]
    return PowerLaw(slope, slope - half, slope + half, level, min(chosen), max(chosen), len(points))


def fit_large(sizes: Sequence[float], times: Sequence[float], least: float = MANY_SAMPLES) -> PowerLaw | None:
    """Fit as :func:`fit_power_law` from the size ``least`` on where there are three such sizes, else with all."""
    large = [(size, time) for size, time in zip(sizes, times, strict=True) if size >= least]
    fitted = fit_power_law([size for size, _ in large], [time for _, time in large])
    return fitted or fit_power_law(sizes, times)


def exponent_text(law: PowerLaw | None) -> str:
    """Return the exponent with two decimals, or a dash where there is no law."""
    return "-" if law is None else f"{law.exponent:.2f}"
