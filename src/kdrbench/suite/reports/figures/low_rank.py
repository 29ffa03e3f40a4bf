"""The figures of low-rank kernel learning: quality and sweeps against the number of constraints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from kdrbench.errors import counted
from kdrbench.status import Status
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.figures.styles import Style, styles_of
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import low_rank_label

if TYPE_CHECKING:
    from kdrbench.suite.reports.figures.making import Source

# Titles of panels and of their vertical axes.
_PANELS = {
    "accuracy": ("5-NN, 50/50 two-fold", "accuracy"),
    "nmi_one_start": ("kernel k-means from one start", "NMI"),
    "nmi_ten_starts": ("kernel k-means, best of ten starts", "NMI"),
    "sweeps": ("sweeps, or Newton steps", "sweeps"),
}


def chart_of(source: Source) -> Chart:
    """Return the figure of an experiment."""
    methods = source.config.get("low_rank_methods", {})
    return low_rank_chart(source.name, source.runs, source.experiment, methods)


def low_rank_chart(name: str, runs: pd.DataFrame, experiment: Config, defined: Iterable[str] = ()) -> Chart:
    """Return an experiment's chart: median over runs with a band of the quartiles; sweeps on a logarithmic axis.

    ``defined`` are the methods that the configuration defines, in whose order the user's own have their styles.
    """
    styles = styles_of([*defined, *experiment["methods"]])
    shown = {method: styles[method] for method in experiment["methods"]}
    return Chart(
        name=name,
        title=experiment["title"],
        caption=(
            f"{experiment['title']}. Median of {counted(runs['run'].nunique(), 'draw')} of the constraints, "
            "band of the quartiles. Crosses: some runs did not meet their stopping rule."
        ),
        panels=[_panel(runs, shown, column) for column in _PANELS],
        columns=2,
    )


def _panel(rows: pd.DataFrame, styles: dict[str, Style], column: str) -> Panel:
    title, quantity = _PANELS[column]
    if column == "sweeps":
        # Without constraints there is none, which a logarithmic axis cannot show.
        rows = rows[rows["n_constraints"] > 0]
    series = [
        part
        for method, style in styles.items()
        for part in _series(rows[rows["method"] == method], method, style, column)
    ]
    scale = Scale.LOG if column == "sweeps" else Scale.LINEAR
    return Panel(title, Axis("constraints"), Axis(quantity, scale), series)


def _series(rows: pd.DataFrame, method: str, style: Style, column: str) -> list[Series]:
    groups = [(count, group) for count, group in rows.groupby("n_constraints") if group[column].notna().any()]
    if not groups:
        return []
    # Quartiles: a few draws without a solution would stretch a standard deviation beyond what can be.
    low, middle, high = ([float(group[column].quantile(q)) for _, group in groups] for q in (0.25, 0.5, 0.75))
    solved = [int((group["status"] == str(Status.CONVERGED)).sum()) for _, group in groups]
    line = Series(
        label=low_rank_label(method),
        x=[float(str(count)) for count, _ in groups],
        y=middle,
        symbol=style.symbol,
        colour=style.colour,
        line=style.line,
        lower=low,
        upper=high,
        words=[
            f"{met} of {counted(len(group), 'run')} met their rule"
            for met, (_, group) in zip(solved, groups, strict=True)
        ],
    )
    short = [place for place, (_, group) in enumerate(groups) if solved[place] < len(group)]
    crosses = replace(
        line,
        label=f"{line.label}: not all met their rule",
        x=[float(str(groups[place][0])) for place in short],
        y=[middle[place] for place in short],
        mark=Mark.POINTS,
        symbol=Symbol.CROSS,
        colour=BLACK,
        group=line.label,
        lower=None,
        upper=None,
        words=None,
    )
    return [line, crosses] if short else [line]
