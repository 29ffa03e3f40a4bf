"""The figure of an atlas: how often one start finds the best, how far it ends above, and what optima are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdrbench.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.reports.tables.atlas_rows import AtlasCell, cells_of_atlas
from kdrbench.reports.tables.labels import dataset_label, kernel_label, method_label

if TYPE_CHECKING:
    from kdrbench.reports.figures.making import Source

# Gaps below this are rounding of the cost, or the tolerance of a converged solver; a logarithmic axis has no zero.
_SMALLEST = 1e-10


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has found an optimum."""
    cells = [cell for cell in cells_of_atlas(source.runs, source.stored[0]) if cell.charted]
    if not cells:
        return None
    solvers = source.experiment["solvers"]
    return Chart(
        name=source.name,
        title=source.experiment["title"],
        caption=(
            f"{source.experiment['title']} Left: the share of random starts that end within 0.1 % of the best cost "
            "known of their problem, each problem a point. Right: how far above the best a start ends in the median. "
            "Below: what each distinct certified optimum is worth (accuracy on the test fold, or NMI of clusters) "
            "against how far its cost is above the best of its problem; what is below 1e-10 is drawn there."
        ),
        panels=[
            _by_cell(cells, solvers, "share_near_best", "one start finds the best", Axis("share of random starts")),
            _by_cell(
                cells, solvers, "median_gap", "one start ends above", Axis("cost above best, relative", Scale.LOG)
            ),
            _worth(cells),
        ],
        columns=2,
    )


def _name(cell: AtlasCell) -> str:
    setting = "" if cell.rows["paradigm"].iloc[0] == "supervised" else ", clusters"
    return f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}{setting}"


def _by_cell(cells: list[AtlasCell], solvers: list[str], column: str, title: str, axis: Axis) -> Panel:
    series = []
    for colour, solver in enumerate(solvers):
        found = [(_name(cell), value) for cell in cells for value in cell.of(solver)[column].dropna()]
        values = [max(value, _SMALLEST) if axis.scale is Scale.LOG else value for _, value in found]
        names = [name for name, _ in found]
        symbol = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE)[colour % 3]
        series.append(Series(method_label(solver), names, values, Mark.POINTS, symbol, colour))
    return Panel(title, Axis("", Scale.NAMES), axis, series)


def _worth(cells: list[AtlasCell]) -> Panel:
    series = []
    for colour, cell in enumerate(cells):
        optima = [
            (max(gap, _SMALLEST), quality)
            for one in cell.charted
            if one.draw == 0
            for gap, quality in zip(one.gaps.tolist(), one.qualities.tolist(), strict=True)
        ]
        gaps, qualities = [gap for gap, _ in optima], [quality for _, quality in optima]
        series.append(Series(_name(cell), gaps, qualities, Mark.POINTS, Symbol.DOT, colour))
    return Panel("what optima are worth", Axis("cost above best, relative", Scale.LOG), Axis("accuracy or NMI"), series)
