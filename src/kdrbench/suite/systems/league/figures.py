"""The figure of the league: mean ranks with critical differences, quality against time, and stability over folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kdrbench.errors import counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.making import Source
from kdrbench.suite.systems.league.system import JUDGES
from kdrbench.suite.systems.league.table_rows import League, bootstrap_mean_ranks, not_different, title_of

# A colour for each kind of method, in the order of the palette, black for controls; a symbol for each method of a kind.
_KINDS = (
    ("kdr_gaussian", "kdr_polynomial", "kdr_combination", "kdr_linear"),
    ("kernel_discriminant", "gradient_kdr", "supervised_pca", "kernel_pca", "kpca_trick"),
    ("lda", "pls_da", "lfda", "dne"),
    ("nca", "lmnn", "supervised_umap"),
    ("sir", "save", "directional_regression"),
    ("pca",),
    ("random_axes", "shuffled_lda", "shuffled_kdr"),
)
_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND, Symbol.PENTAGON, Symbol.STAR)
STYLES: dict[str, tuple[int, Symbol]] = {
    method: (colour, symbol)
    for colour, methods in enumerate(_KINDS)
    for method, symbol in zip(methods, _SYMBOLS, strict=False)
}
_OTHERS = len(_KINDS)
# Between the lines that join methods, in ranks.
_STEP = 0.8
_JOINED, _DIFFERENCE = "no difference by Nemenyi's test", "critical difference"


def style_of(method: str, place: int) -> tuple[int, Symbol]:
    """Return colour and symbol of a method; one that is not known has those of its place beside others."""
    return STYLES.get(method, (_OTHERS + place, _SYMBOLS[place % len(_SYMBOLS)]))


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has come to its end."""
    if not (source.runs["status"] == "converged").any():
        return None
    league = League(source.runs, source.stored[0])
    # In the order of the legend: by kind.
    drawn = sorted(range(len(league.methods)), key=lambda place: list(STYLES).index(league.methods[place]))
    panels = [_ranks(league, drawn, judge) for judge in JUDGES] + [_cost(league, drawn, judge) for judge in JUDGES]
    panels += [_stability(league, drawn, count) for count in sorted(set(source.runs["n_components"]))]
    return Chart(
        name=source.name,
        title=source.experiment["title"],
        caption=(
            f"{source.experiment['title']} Mean ranks over {counted(source.runs['dataset'].nunique(), 'data set')}, 1 "
            "is best, with 95 % bootstrap intervals; a black line joins methods between which Nemenyi's test finds no "
            "difference. Below: mean scores over cells against the median CPU time of a fit; and, for linear methods, "
            "the largest principal angle between the projections of two folds, median and quartiles over data sets. "
            "Colours are kinds of methods, symbols tell those of a kind apart, and controls are black."
        ),
        panels=panels,
        columns=len(JUDGES),
    )


def _ranks(league: League, drawn: Sequence[int], judge: str) -> Panel:
    """Return the critical-difference picture of a judge (Demsar 2006, Figure 1): a row a method, by mean rank."""
    means, difference = league.mean_ranks(judge), league.difference(judge)
    intervals = bootstrap_mean_ranks(league.scores[judge].mean_ranks, np.random.default_rng(0))
    rows = _rows(range(len(means)), means)
    series: list[Series] = []
    for place in drawn:
        low, high = map(float, intervals[place])
        words = f"mean rank {means[place]:.2f}, {low:.2f} to {high:.2f}"
        series += _point(league, place, (low, float(means[place]), high), rows[place], words)
    series.append(Series(_DIFFERENCE, [1.0, 1.0 + difference], [1.0, 1.0], colour=BLACK, group=_JOINED))
    for level, (first, last) in enumerate(not_different(means, difference)):
        beside, ends = len(means) + 1 + _STEP * level, [-float(first), -float(last)]
        series.append(Series(f"group {level + 1}", [beside] * 2, ends, colour=BLACK, group=_JOINED))
    numbers = {str(rank): float(rank) for rank in (1, *range(5, len(means) + 1, 5))}
    names = {f"{_DIFFERENCE} {difference:.2f}": 1.0} | _names(league, rows)
    return Panel(f"rank by {JUDGES[judge]}", Axis("mean rank", ticks=numbers), Axis("", ticks=names), series)


def _cost(league: League, drawn: Sequence[int], judge: str) -> Panel:
    means = np.nan_to_num(league.scores[judge].means, nan=0.0).mean(axis=0)
    seconds = {place: league.median_s(league.methods[place]) for place in drawn}
    series = [
        _series(league, place, seconds[place], float(means[place])) for place in drawn if np.isfinite(seconds[place])
    ]
    return Panel("quality and cost", Axis("CPU time of a fit", Scale.LOG, "s"), Axis(f"mean {JUDGES[judge]}"), series)


def _stability(league: League, drawn: Sequence[int], count: int) -> Panel:
    """Return the angle between two folds' projections of each linear method, the most stable first."""
    angles = {
        place: np.quantile(league.angles[name, count], [0.25, 0.5, 0.75]).tolist()
        for place, name in enumerate(league.methods)
        if (name, count) in league.angles
    }
    rows = _rows(list(angles), [middle for _, middle, _ in angles.values()])
    series: list[Series] = []
    for place in (one for one in drawn if one in angles):
        low, middle, high = angles[place]
        series += _point(league, place, (low, middle, high), rows[place], f"{low:.1f} to {high:.1f} degrees")
    axis = Axis("largest principal angle between folds", unit="degrees")
    return Panel(f"stability, {counted(count, 'component')}", axis, Axis("", ticks=_names(league, rows)), series)


def _series(league: League, place: int, x: float, y: float, words: str | None = None) -> Series:
    method = league.methods[place]
    colour, symbol = STYLES[method]
    return Series(title_of(method), [x], [y], Mark.POINTS, symbol, colour, words=[words] if words else None)


def _point(
    league: League, place: int, interval: tuple[float, float, float], row: float, words: str
) -> tuple[Series, Series]:
    low, middle, high = interval
    point = _series(league, place, middle, row, words)
    return point, Series("interval", [low, high], [row, row], colour=point.colour, group=point.label)


def _names(league: League, rows: dict[int, float]) -> dict[str, float]:
    return {title_of(league.methods[place]): row for place, row in rows.items()}


def _rows(places: Sequence[int], values: Sequence[float] | FloatArray) -> dict[int, float]:
    return {places[number]: -float(row) for row, number in enumerate(np.argsort(values, kind="stable"))}
