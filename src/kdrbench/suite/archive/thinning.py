"""Traces with fewer points that draw the same figures.

Figures show the lowest cost so far above the best known, (F - F*) / |F*|, against time or calls of oracles, all on
logarithmic axes. A panel is at most 770 x 616 pixels. It is divided into squares with sides of half a pixel over the
square root of two; of consecutive points in one square the first and the last are kept. Drawn steps between these stay
in the square, so no part of a curve is further than half a pixel from where all points would put it.

Gaps are taken above the run's own lowest cost: log(F - F*) differs less between two points for every lower F*, so the
bound holds whatever better solution is known later. Always kept, as they were measured, are the first, the last and the
best point, and the first within each accuracy that tables and profiles ask for. Of the others time is rounded down to
six digits, cost up to four digits of its gap, and stationarity to four: each is below a hundredth of a pixel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Pixels of the largest panel with curves, and the side of a square of which the diagonal is half a pixel.
WIDTH, HEIGHT, _SIDE = 770.0, 616.0, 0.5 / 2**0.5
# The accuracies to which reports ask for the time that a run needed.
ACCURACIES = (1e-2, 1e-4, 1e-6)
# Below these figures show rounding, or nothing.
_SMALLEST_GAP, _SMALLEST_TIME = 1e-12, 1e-9
_TIME_DIGITS, _GAP_DIGITS, _STATIONARITY_DIGITS = 6, 4, 4
# Of a unit of the last digit, so that what was rounded before is not moved by the rounding of a product; that has
# fewer than three digits left above this size.
_SLACK, _MOST_SCALED = 1e-3, 1e12


@dataclass(frozen=True)
class Trace:
    """The points of a run: seconds, cost, stationarity, and calls of oracles, NaN where they are not counted."""

    time: Array
    cost: Array
    stationarity: Array
    calls: Array

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.time)

    @property
    def lowest(self) -> float:
        """The lowest cost of all points."""
        return float(self.cost.min())

    def at(self, places: NDArray[np.bool_]) -> Trace:
        """Return some of the points."""
        return Trace(self.time[places], self.cost[places], self.stationarity[places], self.calls[places])

    def coordinates(self, lowest: float | None = None) -> Array:
        """Return log10 of time, gap above ``lowest`` (its own if not given) and calls, 3 x points."""
        lowest = self.lowest if lowest is None else lowest
        gap = (np.minimum.accumulate(self.cost) - lowest) / max(abs(lowest), np.finfo(float).tiny)
        calls = np.maximum(np.nan_to_num(self.calls, nan=1.0), 1.0)
        columns = [np.maximum(self.time, _SMALLEST_TIME), np.maximum(gap, _SMALLEST_GAP), calls]
        decades: Array = np.log10(np.array(columns, dtype=np.float64))
        return decades


@dataclass(frozen=True)
class Ranges:
    """The decades that time, gap and calls span in a panel."""

    decades: tuple[float, float, float]

    @classmethod
    def of(cls, traces: Iterable[Trace], lowest: Iterable[float]) -> Ranges:
        """Return those of all runs of a panel, each with the lowest cost known of its problem."""
        spans = [trace.coordinates(best)[:, trace.time > 0] for trace, best in zip(traces, lowest, strict=True)]
        spans = [span for span in spans if span.size]
        if not spans:
            return cls((0.0, 0.0, 0.0))
        least = np.min([span.min(axis=1) for span in spans], axis=0)
        most = np.max([span.max(axis=1) for span in spans], axis=0)
        decades = most - least
        return cls((float(decades[0]), float(decades[1]), float(decades[2])))

    @property
    def sides(self) -> Array:
        """Sides of a square in decades."""
        return np.asarray(np.array(self.decades) * _SIDE / np.array([WIDTH, HEIGHT, WIDTH]))


def thinned(trace: Trace, ranges: Ranges | None, lowest: float) -> Trace:
    """Return a trace with fewer points; ``ranges`` are those of its panel, ``None`` where no figure draws it.

    ``lowest`` is the best cost known of the run's problem. Thinned again, a trace stays as it is.
    """
    if not len(trace):
        return trace
    exact = _always_kept(trace, lowest)
    rounded = _rounded(trace, exact)
    drawn = exact if ranges is None else _ends_of_squares(rounded.coordinates(), ranges.sides)
    return rounded.at(exact | drawn)


def _always_kept(trace: Trace, lowest: float) -> NDArray[np.bool_]:
    kept = np.zeros(len(trace), dtype=bool)
    kept[[0, -1, int(trace.cost.argmin())]] = True
    # Curves begin where time does.
    for seen in (np.arange(len(trace)), np.flatnonzero(trace.time > 0)):
        kept[seen[:1]] = True
        for accuracy in ACCURACIES:
            kept[seen[trace.cost[seen] <= lowest + accuracy * abs(lowest)][:1]] = True
    return kept


def _ends_of_squares(coordinates: Array, sides: Array) -> NDArray[np.bool_]:
    """Return the first and the last of consecutive points in one square."""
    used = sides > 0
    squares = np.floor(coordinates[used] / sides[used, None])
    changes = np.any(np.diff(squares, axis=1) != 0, axis=0)
    return np.asarray(np.concatenate([[True], changes]) | np.concatenate([changes, [True]]))


def _rounded(trace: Trace, exact: NDArray[np.bool_]) -> Trace:
    """Return the trace with fewer digits, but for the ``exact`` points."""
    time = _to_digits(trace.time, trace.time, _TIME_DIGITS, np.floor)
    cost = _to_digits(trace.cost, trace.cost - trace.lowest, _GAP_DIGITS, np.ceil)
    stationarity = _to_digits(trace.stationarity, trace.stationarity, _STATIONARITY_DIGITS, np.floor)
    return Trace(
        np.where(exact, trace.time, time),
        np.where(exact, trace.cost, cost),
        np.where(exact, trace.stationarity, stationarity),
        trace.calls,
    )


def _to_digits(values: Array, sizes: Array, digits: int, rounding: np.ufunc) -> Array:
    """Return values rounded to ``digits`` of numbers of these sizes; the same ones if rounded before.

    Values are kept where the size is zero, or where double precision has too few digits to tell.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        decimals = digits - 1.0 - np.floor(np.log10(sizes))
        scaled = values * 10.0**decimals
        rounds = np.isfinite(scaled) & (np.abs(scaled) < _MOST_SCALED) & (decimals >= 0)
    result = values.copy()
    slack = _SLACK if rounding is np.floor else -_SLACK
    for place in np.flatnonzero(rounds):
        whole = float(rounding(scaled[place] + slack))
        result[place] = round(whole / 10.0 ** decimals[place], int(decimals[place]))
    return result
