"""The figure of noise: accuracy on a method's own samples against others, and the p-values of its test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.figures.chart import BLACK, Axis, Chart, Line, Mark, Panel, Series
from kdrbench.suite.reports.figures.league import style_of
from kdrbench.suite.reports.tables.noise import called_real, title_of

if TYPE_CHECKING:
    from kdrbench.suite.reports.figures.making import Source

_EXPECTED = "expected of noise"


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has tested a projection."""
    known = source.runs.dropna(subset=["train_accuracy", "test_accuracy", "p_value"])
    if known.empty:
        return None
    methods = list(dict.fromkeys(known["method"].astype(str)))
    groups = {method: known[known["method"] == method] for method in methods}
    return Chart(
        name=source.name,
        title=source.experiment["title"],
        caption=(
            f"{source.experiment['title']} A point is one of {counted(int(known['run'].nunique()), 'draw')} of the "
            "labels. Left: accuracy of 5 nearest neighbours on the samples that a projection was learned from, and on "
            "others. Right: p-values of the test in ascending order, whose share at or below a value should be that "
            "value: the black line. Tests of hopeless draws stop early, and all of p = 1 are alike."
        ),
        panels=[_accuracies(groups), _p_values(groups)],
        columns=2,
    )


def _accuracies(groups: dict[str, pd.DataFrame]) -> Panel:
    series = []
    for place, (method, runs) in enumerate(groups.items()):
        colour, symbol = style_of(method, place)
        own, others = (runs[name].astype(float).tolist() for name in ("train_accuracy", "test_accuracy"))
        words = [f"draw {int(number)}" for number in runs["run"]]
        series.append(Series(title_of(method), own, others, Mark.POINTS, symbol, colour, words=words))
    return Panel("accuracy", Axis("on its own samples"), Axis("on other samples"), series)


def _p_values(groups: dict[str, pd.DataFrame]) -> Panel:
    """Return the share of draws at or below each p-value, by method, beside that of a test that keeps its level."""
    series = [Series(_EXPECTED, [0.0, 1.0], [0.0, 1.0], colour=BLACK, line=Line.DASHED)]
    for place, (method, runs) in enumerate(groups.items()):
        colour, symbol = style_of(method, place)
        values = np.sort(runs["p_value"].to_numpy(dtype=float))
        shares = [float((values <= value).mean()) for value in values]
        words = [f"called real: {called_real(runs)}"] * len(values)
        series.append(Series(title_of(method), values.tolist(), shares, Mark.POINTS, symbol, colour, words=words))
    return Panel("test", Axis("p-value"), Axis("share of draws at or below"), series)
