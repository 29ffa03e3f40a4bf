"""The table and figure of an atlas: distinct optima, the best, how often one start finds it, and the sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kdrbench.errors import count_of, counted
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.making import Page, Source, sections_of_runs
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber, find_published, printed_table
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.reports.tables.table import Entry, Group, Section, Table, entries, measured
from kdrbench.suite.systems.atlas.optima import LEAST_SHARE, Charted, read_charts
from kdrbench.suite.systems.ikdr.tables import published_axes

# Of the optima that are sought again this share should be found.
_GOAL = 0.95
# The method whose printed costs are compared with the best known.
PAPERS_METHOD = "ism"
CELL = ["dataset", "cells_of", "kernel"]
_LABELS = ["Data", "Kernel", "Setting"]
_NOTE = (
    "Optima are the distinct certified ones of a problem (a fold, or all rows), by a largest principal angle of 1 "
    "degree; supervised ones are stationary without negative curvature, clusterings stationary. Share of best: of the "
    "certified ends of random starts. Costs are means over problems, and so is the quality of the best: accuracy on "
    "the test samples, or NMI of clusters and classes. Printed is ISM's cost in the paper. Near: within "
    "0.1 % of the best cost known. Found again: optima with more than 2 % of a draw's starts that the next draw finds. "
    "Tau: Kendall's correlation of cost and quality over the ends of ISM's random starts, certified or not, mean over "
    "problems and draws in which both differ, with a 95 % interval; negative where lower cost is better."
)
_SEVERAL = (
    "Distinct certified optima by rising cost. Above: (cost - best) / |best|. Shares are of a draw's random starts "
    "that ended; those at no certified optimum are in none. Quality: accuracy on the test samples, or NMI of "
    "clusters and classes."
)
# Gaps below this are rounding of the cost, or the tolerance of a converged solver; a logarithmic axis has no zero.
_SMALLEST = 1e-10
_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND)


@dataclass(frozen=True, eq=False)
class AtlasCell:
    """The rows of one cell, a data set and a kernel of the experiment ``cells_of``, and the charts of its runs."""

    dataset: str
    cells_of: str
    kernel: str
    rows: pd.DataFrame
    charted: list[Charted]

    @cached_property
    def best_costs(self) -> pd.Series:
        """The best cost known of each problem that has one, by its hash."""
        return self.rows.groupby("problem", sort=False)["best_cost"].min().dropna()

    @property
    def is_supervised(self) -> bool:
        """Whether qualities are accuracies; they are NMI of clusters and classes otherwise."""
        return bool(self.rows["paradigm"].iloc[0] == "supervised")

    def of(self, method: str) -> pd.DataFrame:
        """Return the rows of a solver."""
        return self.rows[self.rows["method"] == method]

    def share_of_best(self) -> float:
        """Return the share of certified ends of random starts that are the best of their run; NaN without any."""
        ended = self.rows.groupby(["problem", "draw"])["n_ended"]
        at_best = sum(chart.shares[0] @ ended.get_group((chart.problem, chart.draw)) for chart in self.charted)
        n_certified = float(self.rows["n_certified"].sum())
        return float(at_best) / n_certified if n_certified else math.nan

    def found_again(self) -> tuple[int, int]:
        """Return how many optima of each draw are found in the next one too, and of how many."""
        charts = {(chart.problem, chart.draw): chart for chart in self.charted}
        pairs = [(chart, charts.get((chart.problem, chart.draw + 1))) for chart in self.charted]
        counts = [chart.found_again(following) for chart, following in pairs if following is not None]
        return sum(found for found, _ in counts), sum(wanted for _, wanted in counts)

    def ranked(self) -> pd.DataFrame:
        """Return the runs of the papers' method whose ends differ in cost and quality: tau with its interval."""
        return self.of(PAPERS_METHOD)[["tau", "tau_low", "tau_high"]].dropna()

    def correlation(self) -> tuple[float, float, float] | None:
        """Return the mean over runs of Kendall's tau of cost and quality over ends, with its 95 % interval.

        Runs draw starts of their own, so squares of their half widths h add up: that of k runs is sqrt(sum h^2) / k.
        """
        runs = self.ranked()
        if runs.empty:
            return None
        mean, half = float(runs["tau"].mean()), float(np.linalg.norm(runs["tau_high"] - runs["tau_low"]))
        return mean, max(-1.0, mean - half / 2 / len(runs)), min(1.0, mean + half / 2 / len(runs))

    def printed(self, config: Config) -> PublishedNumber | None:
        """Return the cost that the paper prints for ISM in this cell, if it prints a number."""
        if (table := printed_table(config["experiments"][self.cells_of])) is None:
            return None
        axes = published_axes({"dataset": self.dataset, "kernel": self.kernel, "method": PAPERS_METHOD})
        found = find_published(**table, **axes, metric="cost")
        return found if found is not None and found.value is not None else None

    def printed_gap(self, config: Config) -> float:
        """Return how far the printed cost is above the mean of the best ones known, relative to it; NaN without one."""
        printed = self.printed(config)
        if printed is None or printed.value is None or self.best_costs.empty:
            return math.nan
        mean = float(self.best_costs.mean())
        return (printed.value - mean) / abs(mean)


def cells_of_atlas(runs: pd.DataFrame, findings: Path) -> list[AtlasCell]:
    """Return the cells, those of a data set and a setting together, in the order in which rows name them first."""
    charted: dict[tuple[Any, ...], list[Charted]] = {}
    for row, chart in read_charts(runs, findings):
        charted.setdefault(tuple(row[CELL]), []).append(chart)
    cells = [
        AtlasCell(str(dataset), str(cells_of), str(kernel), rows, charted.get((dataset, cells_of, kernel), []))
        for (dataset, cells_of, kernel), rows in runs.groupby(CELL, sort=False)
    ]
    datasets, settings = (list(runs[name].unique()) for name in CELL[:2])
    return sorted(cells, key=lambda cell: (datasets.index(cell.dataset), settings.index(cell.cells_of)))


def sentences(cells: list[AtlasCell], config: Config) -> list[str]:
    """Return the answers to the three questions of an atlas, whatever they say, and if its optima are found again."""
    return [one_start(cells), _printed_sentence(cells, config), f"{_accuracy(cells)} {_ranked(cells)}", _again(cells)]


def one_start(cells: list[AtlasCell]) -> str:
    """Return how often one start of ISM finds the best, in a sentence."""
    ended = pd.concat([cell.of(PAPERS_METHOD) for cell in cells]).dropna(subset=["share_near_best"])
    n_starts = int(ended["n_ended"].sum())
    if not n_starts:
        return (
            "How often does one start of ISM find the best? No start of ISM has come to an end beside a known optimum."
        )
    near, at = ((ended[name] * ended["n_ended"]).sum() / n_starts for name in ("share_near_best", "share_at_best"))
    leading = ended.drop_duplicates("problem")["leading_gap"]
    return (
        f"How often does one start of ISM find the best? Of {counted(n_starts, 'random start')} {100 * near:.1f} % end "
        f"within 0.1 % of the best cost known and {100 * at:.1f} % within 1 degree of its projection; in the median a "
        f"start ends {100 * ended['median_gap'].median():.2g} % above, at worst "
        f"{100 * ended['largest_gap'].max():.2g} %. From the papers' start it ends within 0.1 % on "
        f"{(leading <= 1e-3).sum()} of {counted(len(leading), 'problem')}."
    )


def _printed_sentence(cells: list[AtlasCell], config: Config) -> str:
    gaps = np.array([gap for cell in cells if np.isfinite(gap := cell.printed_gap(config))])
    if not gaps.size:
        return "How far below is the published optimum? No cost is printed for these cells."
    return (
        f"How far from the best is the published optimum? In {counted(len(gaps), 'cell')} with a printed cost of "
        f"ISM it is {100 * gaps.min():+.1f} % to {100 * gaps.max():+.1f} % above the best known, "
        f"{100 * np.median(gaps):+.1f} % in the median; where it is below, the paper's data or protocol are "
        "not those of the cell."
    )


def _accuracy(cells: list[AtlasCell]) -> str:
    charted = [chart for cell in cells for chart in cell.charted]
    # Of several draws the first.
    several = {chart.problem: chart for chart in reversed(charted) if len(chart.costs) > 1}
    n_problems = len({chart.problem for chart in charted})
    words = (
        f"Does lower cost mean better accuracy? {len(several)} of {counted(n_problems, 'problem')} "
        f"{'has' if n_problems == 1 else 'have'} more than one certified optimum"
    )
    if not several:
        return f"{words}."
    leads = np.array([chart.lead for chart in several.values()])
    better, equal, worse = (count_of(int(found.sum())) for found in (leads > 0, leads == 0, leads < 0))
    return (
        f"{words}; there the one of lowest cost is more accurate than the others in {better}, as accurate as the best "
        f"of them in {equal} and less accurate in {worse}."
    )


def _ranked(cells: list[AtlasCell]) -> str:
    """Return in how many cells lower cost goes with higher quality over the ends of random starts, or with lower."""
    found = [correlation for cell in cells if (correlation := cell.correlation()) is not None]
    first = (
        f"Over ends of random starts of {method_label(PAPERS_METHOD)}, certified or not, cost and quality both differ"
    )
    if not found:
        return f"{first} in no cell."
    better, worse = count_of(sum(high < 0 for *_, high in found)), count_of(sum(low > 0 for _, low, _ in found))
    rows = pd.concat([cell.of(PAPERS_METHOD) for cell in cells])
    apart = (rows["highest_quality"] - rows["lowest_quality"]).max()
    return (
        f"{first} in {len(found)} of {counted(len(cells), 'cell')}: lower cost is better in {better} and worse in "
        f"{worse} (95 % intervals of Kendall's tau); qualities of one draw are at most {apart:.3f} apart."
    )


def _again(cells: list[AtlasCell]) -> str:
    found, wanted = (sum(numbers) for numbers in zip(*(cell.found_again() for cell in cells), strict=True))
    if not wanted:
        return "Are the optima found again? There is no second draw of starts to seek them in."
    return (
        f"Are the optima found again? Of {wanted} that more than {100 * LEAST_SHARE:.0f} % of a solver's starts "
        f"reach, other seeds find {found}: {100 * found / wanted:.1f} % ({_interval(found, wanted)}); the "
        f"goal is {100 * _GOAL:.0f} %."
    )


def page(source: Source) -> Page:
    """Return the table of an experiment, and the sections of its page."""
    config, experiment = source.config, source.experiment
    cells = cells_of_atlas(source.runs, source.stored[0])
    solvers = experiment["solvers"]
    columns = ["Problems", "Optima", "Share of best", "Best cost", "Quality at best", "Printed", "Printed above"]
    table = Table(
        source.name,
        experiment["title"],
        [*_LABELS, *columns, *map(method_label, solvers), "Found again", "Tau"],
        [[_row(cell, solvers, config) for cell in cells]],
        [*sentences(cells, config), _NOTE],
        n_labels=len(_LABELS),
        groups=[[Group("", len(columns)), Group("One start near the best", len(solvers)), Group("", 2)]],
    )
    several = Section("Problems with several optima", _several(cells, solvers))
    return table, [several, *sections_of_runs(source.runs)]


def _labels(cell: AtlasCell) -> list[Entry]:
    return entries([dataset_label(cell.dataset), kernel_label(cell.kernel), cell.cells_of])


def _row(cell: AtlasCell, solvers: list[str], config: Config) -> list[Entry]:
    counts, n_problems = [len(chart.costs) for chart in cell.charted], cell.rows["problem"].nunique()
    over = f"over {counted(len(cell.best_costs), 'problem')}"
    n_optima = " to ".join(map(str, sorted({min(counts), max(counts)}))) if counts else "none"
    n_certified = int(cell.rows["n_certified"].sum())
    lowest = cell.rows.sort_values("best_cost", kind="stable").drop_duplicates("problem")
    quality = "accuracy" if cell.is_supervised else "NMI"
    printed = cell.printed(config)
    return [
        *_labels(cell),
        Entry(str(n_problems), float(n_problems)),
        Entry(n_optima, float(max(counts, default=0)), detail=f"a problem, {over}"),
        _percent(cell.share_of_best(), f"of {counted(n_certified, 'certified end')} of random starts"),
        measured(float(cell.best_costs.mean()), "{:.6g}", f"mean of the lowest cost {over}"),
        measured(float(lowest["best_quality"].mean()), "{:.3f}", f"mean {quality} of the best optimum {over}"),
        Entry("-" if printed is None else printed.text, None if printed is None else printed.value),
        measured(cell.printed_gap(config), "{:+.2f} %", "(printed - best) / |best|, of the means", scale=100),
        *(_near(cell, solver) for solver in solvers),
        *_again_and_tau(cell),
    ]


def _near(cell: AtlasCell, solver: str) -> Entry:
    """Return the share of a solver's random starts that end near the best, as a cell that knows its runs."""
    rows = cell.of(solver)
    known = rows.dropna(subset=["share_near_best"])
    n_ended = float(known["n_ended"].sum())
    share = float((known["share_near_best"] * known["n_ended"]).sum()) / n_ended if n_ended else math.nan
    starts = counted(int(rows["n_ended"].sum()), "random start")
    shown = _percent(share, f"of {starts} that ended, at most 0.1 % above the best")
    return replace(shown, axes=("", cell.dataset, cell.kernel, solver))


def _again_and_tau(cell: AtlasCell) -> list[Entry]:
    again, tau = Entry("-"), Entry("-", detail="no draw has ends that differ both in cost and in quality")
    found, wanted = cell.found_again()
    if wanted:
        detail = f"optima that the next draw finds; 95 % {_interval(found, wanted)}"
        again = Entry(f"{found} of {wanted}", found / wanted, detail=detail)
    if correlation := cell.correlation():
        value, low, high = correlation
        detail = f"Kendall's tau-b, mean of {counted(len(cell.ranked()), 'draw')} of starts, 95 % by bootstrap of ends"
        tau = Entry(f"{value:.2f} ({low:.2f} to {high:.2f})", value, detail=detail)
    return [again, tau]


def _several(cells: list[AtlasCell], solvers: list[str]) -> Table:
    rows = [
        [*_labels(cell), *_optimum(cell, chart, place)]
        for cell in cells
        for chart in cell.charted
        if len(chart.costs) > 1
        for place in range(len(chart.costs))
    ]
    shares = [f"Share of {method_label(solver)}" for solver in solvers]
    columns = [*_LABELS, "Fold", "Draw", "Optimum", "Above best", *shares, "Quality"]
    return Table("several", "Problems with several optima", columns, [rows], [_SEVERAL], n_labels=len(_LABELS))


def _optimum(cell: AtlasCell, chart: Charted, place: int) -> list[Entry]:
    fold = int(cell.rows.loc[cell.rows["problem"] == chart.problem, "problem_run"].iloc[0])
    gap = float(chart.gaps[place])
    return [
        *(Entry(str(number), float(number)) for number in (fold + 1, chart.draw + 1, place + 1)),
        # Below that it is rounding of the cost.
        Entry(f"{100 * gap:.2g} %" if gap > 1e-9 else "0", gap),
        *(_percent(float(share)) for share in chart.shares[place]),
        measured(float(chart.qualities[place]), "{:.4f}", "accuracy" if cell.is_supervised else "NMI"),
    ]


def _percent(share: float, detail: str = "") -> Entry:
    return measured(share, "{:.1f} %", detail, scale=100)


def _interval(count: int, n: int) -> str:
    low, high = clopper_pearson(count, n)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def chart_of(source: Source) -> Chart | None:
    """Return the figure of an experiment; ``None`` where no run has found an optimum."""
    cells = [cell for cell in cells_of_atlas(source.runs, source.stored[0]) if cell.charted]
    if not cells:
        return None
    solvers = source.experiment["solvers"]
    share, above = Axis("share of random starts"), Axis("cost above best, relative", Scale.LOG)
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
            _by_cell(cells, solvers, "share_near_best", "one start finds the best", share),
            _by_cell(cells, solvers, "median_gap", "one start ends above", above),
            _worth(cells, len(solvers), above),
        ],
        columns=2,
    )


def _name(cell: AtlasCell) -> str:
    return f"{dataset_label(cell.dataset)}, {kernel_label(cell.kernel)}{'' if cell.is_supervised else ', clusters'}"


def _by_cell(cells: list[AtlasCell], solvers: list[str], column: str, title: str, axis: Axis) -> Panel:
    series = []
    # The first solver on top of the others, which often end where it does.
    for colour, solver in reversed([*enumerate(solvers)]):
        points = [(_name(cell), value) for cell in cells for value in cell.of(solver)[column].dropna()]
        names = [name for name, _ in points]
        values = [max(value, _SMALLEST) if axis.scale is Scale.LOG else value for _, value in points]
        symbol = _SYMBOLS[colour % len(_SYMBOLS)]
        series.append(Series(method_label(solver), names, values, Mark.POINTS, symbol, colour))
    return Panel(title, Axis("", Scale.NAMES), axis, series)


def _worth(cells: list[AtlasCell], n_solvers: int, axis: Axis) -> Panel:
    points: dict[str, list[tuple[float, float, str]]] = {}
    for cell in cells:
        for chart in (chart for chart in cell.charted if chart.draw == 0):
            points.setdefault(f"optima of {dataset_label(cell.dataset)}", []).extend(
                (max(gap, _SMALLEST), quality, _name(cell))
                for gap, quality in zip(chart.gaps.tolist(), chart.qualities.tolist(), strict=True)
            )
    series = []
    for place, (name, optima) in enumerate(points.items()):
        gaps, qualities, words = (list(part) for part in zip(*optima, strict=True))
        symbol = _SYMBOLS[place % len(_SYMBOLS)]
        series.append(Series(name, gaps, qualities, Mark.POINTS, symbol, n_solvers + place, words=words))
    return Panel("what optima are worth", axis, Axis("accuracy or NMI"), series)
