"""The figure of the league: mean ranks with critical differences, quality against time, and stability over folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kdrbench.errors import counted
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.systems.league.rules import JUDGES
from kdrbench.suite.systems.league.scores import bootstrap_mean_ranks, not_different
from kdrbench.suite.systems.league.table_rows import League

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Source

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
    parts = _Parts(League(source.runs, source.stored[0]))
    panels = [*map(parts.ranks, JUDGES), *map(parts.cost, JUDGES)]
    panels += [parts.stability(count) for count in sorted(set(source.runs["n_components"]))]
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


@dataclass(frozen=True)
class _Parts:
    league: League

    @cached_property
    def drawn(self) -> list[int]:
        """The places of the methods in the order of the legend: by kind."""
        names, known = self.league.methods, list(STYLES)
        return sorted(range(len(names)), key=lambda place: known.index(names[place]))

    def points(self, place: int, x: list[float], y: list[float], words: list[str] | None = None) -> Series:
        """Return the point of a method, in the method's colour and symbol."""
        method = self.league.methods[place]
        colour, symbol = STYLES[method]
        return Series(self.league.title(method), x, y, Mark.POINTS, symbol, colour, words=words)

    def interval(self, place: int, low: float, high: float, row: float) -> Series:
        """Return the line of a method's interval, which belongs to its point."""
        title, colour = self.league.title(self.league.methods[place]), STYLES[self.league.methods[place]][0]
        return Series("interval", [low, high], [row, row], colour=colour, group=title)

    def ranks(self, judge: str) -> Panel:
        """Return the critical-difference picture of a judge (Demsar 2006, Figure 1): a row a method, by mean rank."""
        ranks = self.league.ranks(judge)
        means, intervals = ranks.mean(axis=0), bootstrap_mean_ranks(ranks, np.random.default_rng(0))
        rows, difference = _rows(means), self.league.difference(judge)
        series = []
        for place in self.drawn:
            (low, high), row = intervals[place], rows[place]
            words = [f"mean rank {means[place]:.2f}, {low:.2f} to {high:.2f}"]
            series.append(self.points(place, [float(means[place])], [row], words))
            series.append(self.interval(place, float(low), float(high), row))
        series.append(Series(_DIFFERENCE, [1.0, 1.0 + difference], [1.0, 1.0], colour=BLACK, group=_JOINED))
        for level, (first, last) in enumerate(not_different(means, difference)):
            beside = len(means) + 1 + _STEP * level
            series.append(
                Series(f"group {level + 1}", [beside] * 2, [-float(first), -float(last)], colour=BLACK, group=_JOINED)
            )
        numbers = {str(rank): float(rank) for rank in (1, *range(5, len(means) + 1, 5))}
        names = {f"{_DIFFERENCE} {difference:.2f}": 1.0} | self.names(rows)
        return Panel(f"rank by {JUDGES[judge]}", Axis("mean rank", ticks=numbers), Axis("", ticks=names), series)

    def names(self, rows: Mapping[int, float]) -> dict[str, float]:
        """Return the rows of a panel by the methods' names."""
        return {self.league.title(self.league.methods[place]): row for place, row in rows.items()}

    def cost(self, judge: str) -> Panel:
        """Return the mean score of each method against the seconds of its median fit."""
        means = np.nan_to_num(self.league.scores[judge].means, nan=0.0).mean(axis=0)
        seconds = {place: self.league.median_s(self.league.methods[place]) for place in self.drawn}
        series = [
            self.points(place, [seconds[place]], [float(means[place])])
            for place in self.drawn
            if np.isfinite(seconds[place])
        ]
        return Panel(
            "quality and cost", Axis("CPU time of a fit", Scale.LOG, "s"), Axis(f"mean {JUDGES[judge]}"), series
        )

    def stability(self, count: int) -> Panel:
        """Return the angle between two folds' projections of each linear method, the most stable first."""
        angles = {
            place: np.quantile(self.league.angles[name, count], [0.25, 0.5, 0.75]).tolist()
            for place, name in enumerate(self.league.methods)
            if (name, count) in self.league.angles
        }
        order = list(angles)
        ranked = _rows([angles[place][1] for place in order])
        rows = {order[number]: row for number, row in ranked.items()}
        series = []
        for place in (one for one in self.drawn if one in angles):
            low, middle, high = angles[place]
            series.append(self.points(place, [middle], [rows[place]], [f"{low:.1f} to {high:.1f} degrees"]))
            series.append(self.interval(place, low, high, rows[place]))
        title = f"stability, {counted(count, 'component')}"
        axis = Axis("largest principal angle between folds", unit="degrees")
        return Panel(title, axis, Axis("", ticks=self.names(rows)), series)


def _rows(values: Sequence[float] | Any) -> dict[int, float]:
    """Return the row of each place, downwards from 0 by ascending value."""
    return {int(place): -float(row) for row, place in enumerate(np.argsort(values, kind="stable"))}
