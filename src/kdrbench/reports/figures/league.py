"""The figure of the league: mean ranks with critical differences, accuracy against time, and stability over folds."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.kernels.family import FloatArray
from kdrbench.league.ranks import bootstrap_mean_ranks, critical_difference, not_different
from kdrbench.league.rules import JUDGES
from kdrbench.reports.figures.chart import BLACK, COLOURS, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.records import read_arrays
from kdrbench.reports.tables.league_rows import League

if TYPE_CHECKING:
    from pathlib import Path

    from kdrbench.reports.figures.making import Source

# Between the lines that join methods, as a share of the largest rank.
_STEP = 0.05
# Of points that have no line: with the colours these tell 42 methods apart.
_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND, Symbol.PENTAGON, Symbol.STAR)


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has come to its end."""
    if not (source.runs["status"] == "converged").any():
        return None
    league = League(source.runs)
    panels = [_ranks(league, judge) for judge in JUDGES]
    panels += [_accuracy_against_time(league), _stability(league, source.stored[0])]
    return Chart(
        name=source.name,
        title=source.experiment["title"],
        caption=(
            f"{source.experiment['title']} Mean ranks over {counted(source.runs['dataset'].nunique(), 'data set')}, 1 "
            "is best, with 95 % bootstrap intervals; a line joins methods between which Nemenyi's test finds no "
            "difference. Below: mean k-NN accuracy against the median CPU time of a fit, and the median over folds of "
            "the largest principal angle between two projections of a linear method."
        ),
        panels=panels,
        columns=2,
    )


def _ranks(league: League, judge: str) -> Panel:
    """Return the critical-difference picture of a judge: methods by their mean rank."""
    ranks = league.ranks(judge)
    means, intervals = ranks.mean(axis=0), bootstrap_mean_ranks(ranks, np.random.default_rng(0))
    order = [int(place) for place in np.argsort(means, kind="stable")]
    names = [league.methods[place] for place in order]
    difference = critical_difference(len(means), len(ranks))
    series = [
        Series(
            "mean rank",
            names,
            [float(means[place]) for place in order],
            mark=Mark.POINTS,
            symbol=Symbol.DOT,
            words=[f"{means[place]:.2f}, {intervals[place][0]:.2f} to {intervals[place][1]:.2f}" for place in order],
            lower=[float(intervals[place][0]) for place in order],
            upper=[float(intervals[place][1]) for place in order],
        )
    ]
    for level, (first, last) in enumerate(not_different(means, difference)):
        joined = names[first : last + 1]
        heights = [-_STEP * len(means) * level] * len(joined)
        series.append(
            Series(f"group {level + 1}", joined, heights, Mark.LINE, colour=BLACK, group="joined by Nemenyi's test")
        )
    title = f"{JUDGES[judge]} (critical difference {difference:.2f})"
    return Panel(title, Axis("", Scale.NAMES), Axis("mean rank"), series)


def _accuracy_against_time(league: League) -> Panel:
    means = np.nan_to_num(league.scores["knn_accuracy"].means, nan=0.0).mean(axis=0)
    series = [
        Series(
            method,
            [league.median_s(method)],
            [float(means[place])],
            mark=Mark.POINTS,
            symbol=_SYMBOLS[place // len(COLOURS) % len(_SYMBOLS)],
            colour=place % len(COLOURS),
        )
        for place, method in enumerate(league.methods)
        if np.isfinite(league.median_s(method))
    ]
    return Panel("quality and cost", Axis("CPU time of a fit", Scale.LOG, "s"), Axis("mean k-NN accuracy"), series)


def _stability(league: League, findings: Path) -> Panel:
    """Return for each number of components the median angle of each linear method."""
    series = []
    counts = sorted(set(league.runs["n_components"]))
    for colour, count in enumerate(counts):
        angles = _angles(league.runs[league.runs["n_components"] == count], findings, count)
        if angles:
            order = sorted(angles, key=lambda method: angles[method])
            values = [angles[method] for method in order]
            series.append(Series(f"q = {count}", order, values, mark=Mark.POINTS, symbol=Symbol.DOT, colour=colour))
    return Panel(
        "stability", Axis("", Scale.NAMES), Axis("largest principal angle between folds", unit="degrees"), series
    )


def _angles(runs: pd.DataFrame, findings: Path, count: int) -> dict[str, float]:
    """Return by method the median over data sets and pairs of runs of the largest principal angle in degrees."""
    from kdrbench.league.judges import largest_angle

    runs = runs.reset_index(drop=True)
    found: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
    for place, projection in read_arrays(runs, findings, f"projection_{count}"):
        row = runs.iloc[place]
        found[str(row["method"]), str(row["dataset"])].append(projection)
    angles: dict[str, list[float]] = defaultdict(list)
    for (method, _), projections in found.items():
        pairs = [largest_angle(one, two) for one, two in combinations(projections, 2) if one.shape == two.shape]
        if pairs:
            angles[method].append(float(np.median(pairs)))
    return {method: float(np.median(values)) for method, values in angles.items()}
