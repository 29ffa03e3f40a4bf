"""The figure of an atlas: how often one start finds the best, how far it ends above, and what optima are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.tables.atlas import AtlasCell, cells_of_atlas
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Source

# Gaps below this are rounding of the cost, or the tolerance of a converged solver; a logarithmic axis has no zero.
_SMALLEST = 1e-10
_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND)


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
            _worth(cells, len(solvers)),
        ],
        columns=2,
    )


def _name(cell: AtlasCell) -> str:
    setting = "" if cell.rows["paradigm"].iloc[0] == "supervised" else ", clusters"
    return f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}{setting}"


def _by_cell(cells: list[AtlasCell], solvers: list[str], column: str, title: str, axis: Axis) -> Panel:
    series = []
    # The first solver on top of the others, which often end where it does.
    for colour, solver in reversed([*enumerate(solvers)]):
        found = [(_name(cell), value) for cell in cells for value in cell.of(solver)[column].dropna()]
        values = [max(value, _SMALLEST) if axis.scale is Scale.LOG else value for _, value in found]
        names = [name for name, _ in found]
        symbol = _SYMBOLS[colour % len(_SYMBOLS)]
        series.append(Series(method_label(solver), names, values, Mark.POINTS, symbol, colour))
    return Panel(title, Axis("", Scale.NAMES), axis, series)


def _worth(cells: list[AtlasCell], n_solvers: int) -> Panel:
    """Return the optima of each data set, in colours that no solver has."""
    points: dict[str, list[tuple[float, float, str]]] = {}
    for cell in cells:
        for one in (charted for charted in cell.charted if charted.draw == 0):
            gaps, qualities = one.gaps.tolist(), one.qualities.tolist()
            points.setdefault(f"optima of {dataset_label(cell.dataset)}", []).extend(
                (max(gap, _SMALLEST), quality, _name(cell)) for gap, quality in zip(gaps, qualities, strict=True)
            )
    series = []
    for place, (name, optima) in enumerate(points.items()):
        gaps, qualities, words = (list(part) for part in zip(*optima, strict=True))
        symbol = _SYMBOLS[place % len(_SYMBOLS)]
        series.append(Series(name, gaps, qualities, Mark.POINTS, symbol, n_solvers + place, words=words))
    return Panel("what optima are worth", Axis("cost above best, relative", Scale.LOG), Axis("accuracy or NMI"), series)
