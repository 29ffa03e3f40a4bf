"""The table and figure of an atlas: distinct optima, the best, how often one start finds it, and the sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kdrbench.errors import count_of, counted
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol
from kdrbench.suite.reports.making import sections_of_runs
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.published_numbers import (
    PublishedNumber,
    find_published,
    printed_table,
    published_name,
)
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.reports.tables.table import Entry, Group, Section, Table, entries
from kdrbench.suite.systems.atlas.optima import LEAST_SHARE, Charted, one_row_a_run, read_charts

if TYPE_CHECKING:
    from kdrbench.suite.reports.making import Page, Source

# Of the optima that are sought again this share should be found.
_GOAL = 0.95
# The method whose printed costs are compared with the best known.
PAPERS_METHOD = "ism"
CELL = ["dataset", "cells_of", "kernel"]


@dataclass(frozen=True, eq=False)
class AtlasCell:
    """The rows of one cell: a data set and a kernel of the experiment ``cells_of``."""

    dataset: str
    cells_of: str
    kernel: str
    rows: pd.DataFrame
    charted: list[Charted]

    @cached_property
    def n_problems(self) -> int:
        """Number of problems: folds, or one on all rows."""
        return int(self.rows["problem"].nunique())

    @cached_property
    def best_costs(self) -> pd.Series:
        """The best cost known of each problem that has one, by its hash."""
        return self.rows.groupby("problem", sort=False)["best_cost"].min().dropna()

    @cached_property
    def best_qualities(self) -> pd.Series:
        """What the best optimum of each problem is worth on test samples, or as a clustering; by the problem's hash."""
        lowest = self.rows.sort_values("best_cost", kind="stable").drop_duplicates("problem").set_index("problem")
        return lowest["best_quality"].dropna()

    @property
    def quality_word(self) -> str:
        """What qualities of the cell are."""
        return "accuracy" if self.rows["paradigm"].iloc[0] == "supervised" else "NMI"

    def fold_of(self, charted: Charted) -> int:
        """Return the number of a chart's problem in the experiment that it is of."""
        return int(self.rows.loc[self.rows["problem"] == charted.problem, "problem_run"].iloc[0])

    def of(self, method: str) -> pd.DataFrame:
        """Return the rows of a solver."""
        return self.rows[self.rows["method"] == method]

    def share_of_best(self) -> float:
        """Return the share of certified ends of random starts that are the best of their run; NaN without any."""
        at_best = sum(float(one.shares[0] @ self._n_ended(one)) for one in self.charted)
        n_certified = float(self.rows["n_certified"].sum())
        return at_best / n_certified if n_certified else float("nan")

    def _n_ended(self, charted: Charted) -> FloatArray:
        same = (self.rows["problem"] == charted.problem) & (self.rows["draw"] == charted.draw)
        return self.rows.loc[same, "n_ended"].to_numpy(dtype=float)

    def found_again(self) -> tuple[int, int]:
        """Return how many optima of each draw are found in the next one too, and of how many."""
        places = {(one.problem, one.draw): one for one in self.charted}
        pairs = [(one, places.get((one.problem, one.draw + 1))) for one in self.charted]
        counts = [one.found_again(other) for one, other in pairs if other is not None]
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

    @property
    def largest_range(self) -> float:
        """By how much the qualities of the papers' method's ends differ in one run at most; NaN where none is known."""
        rows = self.of(PAPERS_METHOD)
        return float((rows["highest_quality"] - rows["lowest_quality"]).max())

    def printed(self, config: Config) -> PublishedNumber | None:
        """Return the cost that the paper prints for ISM in this cell, if it prints a number."""
        table = printed_table(config["experiments"][self.cells_of])
        if table is None:
            return None
        names = {"dataset": self.dataset, "kernel": self.kernel, "method": PAPERS_METHOD}
        axes = {axis: published_name(axis, name) for axis, name in names.items()}
        found = find_published(**table, **axes, metric="cost")
        return found if found is not None and found.value is not None else None

    def printed_gap(self, config: Config) -> float:
        """Return how far the printed cost is above the mean of the best ones known, relative to it; NaN without one."""
        printed = self.printed(config)
        if printed is None or printed.value is None or self.best_costs.empty:
            return float("nan")
        mean = float(self.best_costs.mean())
        return (printed.value - mean) / abs(mean)


def cells_of_atlas(runs: pd.DataFrame, findings: Path) -> list[AtlasCell]:
    """Return the cells, those of a data set and a setting together, in the order in which rows name them first."""
    charted: dict[tuple[Any, ...], list[Charted]] = {}
    for key, one in _charted(one_row_a_run(runs), findings):
        charted.setdefault(key, []).append(one)
    cells = [
        AtlasCell(str(dataset), str(cells_of), str(kernel), rows, charted.get((dataset, cells_of, kernel), []))
        for (dataset, cells_of, kernel), rows in runs.groupby(CELL, sort=False)
    ]
    datasets, settings = (list(runs[name].unique()) for name in CELL[:2])
    return sorted(cells, key=lambda one: (datasets.index(one.dataset), settings.index(one.cells_of)))


def _charted(rows: pd.DataFrame, findings: Path) -> Iterator[tuple[tuple[Any, ...], Charted]]:
    for place, optima, columns in read_charts(rows, findings):
        row = rows.iloc[place]
        key = tuple(row[name] for name in CELL)
        costs, qualities, shares = columns[:, 0], columns[:, 1], columns[:, 2:]
        yield key, Charted(str(row["problem"]), int(row["draw"]), optima, costs, qualities, shares)


def sentences(cells: list[AtlasCell], config: Config) -> list[str]:
    """Return the answers to the three questions of an atlas, whatever they say, and if its optima are found again."""
    return [_one_start(cells), _printed_sentence(cells, config), _accuracy(cells), _again(cells)]


def _one_start(cells: list[AtlasCell]) -> str:
    rows = pd.concat([cell.of(PAPERS_METHOD) for cell in cells])
    ended = rows.dropna(subset=["share_near_best"])
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
    charted = [one for cell in cells for one in cell.charted]
    # Of several draws the first.
    several = {one.problem: one for one in reversed(charted) if len(one.costs) > 1}
    problems = {one.problem for one in charted}
    words = (
        f"Does lower cost mean better accuracy? {len(several)} of {counted(len(problems), 'problem')} "
        f"{'has' if len(problems) == 1 else 'have'} more than one certified optimum"
    )
    if several:
        leads = np.array([one.lead for one in several.values()])
        better, equal, worse = (count_of(int(found.sum())) for found in (leads > 0, leads == 0, leads < 0))
        words += (
            f"; there the one of lowest cost is more accurate than the others in {better}, as accurate as the best of "
            f"them in {equal} and less accurate in {worse}"
        )
    return f"{words}. {_ranked(cells)}"


def _ranked(cells: list[AtlasCell]) -> str:
    """Return in how many cells lower cost goes with higher quality over the ends of random starts, or with lower."""
    found = [one for cell in cells if (one := cell.correlation()) is not None]
    first = (
        f"Over ends of random starts of {method_label(PAPERS_METHOD)}, certified or not, cost and quality both differ"
    )
    if not found:
        return f"{first} in no cell."
    better, worse = count_of(sum(high < 0 for *_, high in found)), count_of(sum(low > 0 for _, low, _ in found))
    apart = np.nanmax([cell.largest_range for cell in cells])
    return (
        f"{first} in {len(found)} of {counted(len(cells), 'cell')}: lower cost is better in {better} and worse in "
        f"{worse} (95 % intervals of Kendall's tau); qualities of one draw are at most {apart:.3f} apart."
    )


def _again(cells: list[AtlasCell]) -> str:
    found, wanted = (sum(numbers) for numbers in zip(*(cell.found_again() for cell in cells), strict=True))
    if not wanted:
        return "Are the optima found again? There is no second draw of starts to seek them in."
    low, high = clopper_pearson(found, wanted)
    return (
        f"Are the optima found again? Of {wanted} that more than {100 * LEAST_SHARE:.0f} % of a solver's starts "
        f"reach, other seeds find {found}: {100 * found / wanted:.1f} % ({100 * low:.1f} to {100 * high:.1f}); the "
        f"goal is {100 * _GOAL:.0f} %."
    )


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


def page(source: Source) -> Page:
    """Return the table of an experiment, and the sections of its page."""
    name, config, experiment = source.name, source.config, source.experiment
    cells = cells_of_atlas(source.runs, source.stored[0])
    solvers = experiment["solvers"]
    columns = ["Problems", "Optima", "Share of best", "Best cost", "Quality at best"]
    columns += ["Printed", "Printed above"]
    groups = [Group("", len(columns)), Group("One start near the best", len(solvers)), Group("", 2)]
    table = Table(
        name,
        experiment["title"],
        [*_LABELS, *columns, *map(method_label, solvers), "Found again", "Tau"],
        [[_row(cell, solvers, config) for cell in cells]],
        [*sentences(cells, config), _NOTE],
        n_labels=len(_LABELS),
        groups=[groups],
    )
    return table, [
        Section("Problems with several optima", _several(cells, solvers)),
        Section("From one start", _starts(cells, solvers)),
        *sections_of_runs(source.runs),
    ]


def _labels(cell: AtlasCell) -> list[Entry]:
    return entries([dataset_label(cell.dataset), kernel_label(cell.kernel), cell.cells_of])


def _row(cell: AtlasCell, solvers: list[str], config: Config) -> list[Entry]:
    counts = [len(one.costs) for one in cell.charted]
    over = f"over {counted(len(cell.best_costs), 'problem')}"
    n_optima = " to ".join(map(str, sorted({min(counts), max(counts)}))) if counts else "none"
    found, wanted = cell.found_again()
    n_certified = int(cell.rows["n_certified"].sum())
    share = _percent(cell.share_of_best())
    return [
        *_labels(cell),
        Entry(str(cell.n_problems), float(cell.n_problems)),
        Entry(n_optima, float(max(counts, default=0)), detail=f"a problem, {over}"),
        replace(share, detail=f"of {counted(n_certified, 'certified end')} of random starts"),
        _mean(cell.best_costs, ".6g", f"mean of the lowest cost {over}"),
        _mean(cell.best_qualities, ".3f", f"mean {cell.quality_word} of the best optimum {over}"),
        *_printed(cell, config),
        *(_near(cell, solver) for solver in solvers),
        Entry(
            f"{found} of {wanted}" if wanted else "-",
            found / wanted if wanted else None,
            detail=f"optima that the next draw finds; 95 % {_interval(found, wanted)}" if wanted else "",
        ),
        _tau(cell),
    ]


def _mean(values: pd.Series, shown: str, detail: str) -> Entry:
    mean = float(values.mean()) if len(values) else math.nan
    return Entry("-" if math.isnan(mean) else format(mean, shown), mean, detail=detail)


def _printed(cell: AtlasCell, config: Config) -> list[Entry]:
    printed, gap = cell.printed(config), cell.printed_gap(config)
    return [
        Entry("-" if printed is None else printed.text, None if printed is None else printed.value),
        Entry("-" if math.isnan(gap) else f"{100 * gap:+.2f} %", gap, detail="(printed - best) / |best|, of the means"),
    ]


def _tau(cell: AtlasCell) -> Entry:
    found = cell.correlation()
    if found is None:
        return Entry("-", detail="no draw has ends that differ both in cost and in quality")
    value, low, high = found
    detail = f"Kendall's tau-b, mean of {counted(len(cell.ranked()), 'draw')} of starts, 95 % by bootstrap of ends"
    return Entry(f"{value:.2f} ({low:.2f} to {high:.2f})", value, detail=detail)


def _near(cell: AtlasCell, solver: str) -> Entry:
    """Return the share of starts that end near the best, as a cell that knows its runs."""
    starts = counted(int(cell.of(solver)["n_ended"].sum()), "random start")
    shown = _percent(_pooled(cell, solver, "share_near_best"))
    return replace(
        shown,
        detail=f"of {starts} that ended, at most 0.1 % above the best",
        axes=("", cell.dataset, cell.kernel, solver),
    )


def _several(cells: list[AtlasCell], solvers: list[str]) -> Table:
    """Return a row for each optimum of a problem with more than one, in each draw of starts."""
    shares = [f"Share of {method_label(one)}" for one in solvers]
    columns = ["Fold", "Draw", "Optimum", "Above best", *shares, "Quality"]
    rows = [
        [*_labels(cell), *_optimum(cell, one, place)]
        for cell in cells
        for one in cell.charted
        if len(one.costs) > 1
        for place in range(len(one.costs))
    ]
    note = (
        "Distinct certified optima by rising cost. Above: (cost - best) / |best|. Shares are of a draw's random starts "
        "that ended; those at no certified optimum are in none. Quality: accuracy on the test samples, or NMI of "
        "clusters and classes."
    )
    return Table("several", "Problems with several optima", [*_LABELS, *columns], [rows], [note], n_labels=3)


def _optimum(cell: AtlasCell, one: Charted, place: int) -> list[Entry]:
    quality, numbers = float(one.qualities[place]), (cell.fold_of(one) + 1, one.draw + 1, place + 1)
    return [
        *(Entry(str(number), float(number)) for number in numbers),
        _above(float(one.gaps[place])),
        *(_percent(float(share)) for share in one.shares[place]),
        Entry("-" if math.isnan(quality) else f"{quality:.4f}", quality, detail=cell.quality_word),
    ]


def _starts(cells: list[AtlasCell], solvers: list[str]) -> Table:
    """Return a row for each cell and solver: what its single starts end at."""
    columns = ["Starts", "Lost", "Certified", "At the best", "Near", "Median above", "Largest above"]
    columns += ["CPU time a start", "Papers' start above"]
    rows = [[*_labels(cell), Entry(method_label(one)), *_of_solver(cell, one)] for cell in cells for one in solvers]
    note = (
        "Random starts of all problems and draws. Lost are those that failed, or that a limit left no time for. At the "
        "best: within 1 degree of the best projection, with a 95 % interval as if starts were independent. Above: "
        "(cost - best) / |best|; of the papers' start the largest over problems."
    )
    return Table("starts", "From one start", [*_LABELS, "Solver", *columns], [rows], [note], n_labels=4)


def _of_solver(cell: AtlasCell, solver: str) -> list[Entry]:
    rows = cell.of(solver)
    n_ended, n_starts = int(rows["n_ended"].sum()), int(rows["n_starts"].sum())
    if not n_ended:
        return [Entry("0", 0.0), Entry(str(n_starts), float(n_starts)), *entries("-" * 7)]
    at_best = _pooled(cell, solver, "share_at_best")
    interval = "" if math.isnan(at_best) else _interval(round(at_best * n_ended), n_ended)
    return [
        Entry(str(n_ended), float(n_ended)),
        Entry(str(n_starts - n_ended), float(n_starts - n_ended)),
        _percent(float(rows["n_certified"].sum()) / n_ended),
        Entry("-" if math.isnan(at_best) else f"{100 * at_best:.1f} % ({interval})", at_best),
        _percent(_pooled(cell, solver, "share_near_best")),
        _above(float(rows["median_gap"].median())),
        _above(float(rows["largest_gap"].max())),
        _cpu_of_start(rows),
        _above(float(rows["leading_gap"].max())),
    ]


def _pooled(cell: AtlasCell, solver: str, column: str) -> float:
    """Return a share of all random starts of a solver that ended beside a known optimum; NaN without any."""
    rows = cell.of(solver).dropna(subset=[column])
    n_ended = float(rows["n_ended"].sum())
    return float((rows[column] * rows["n_ended"]).sum()) / n_ended if n_ended else math.nan


def _cpu_of_start(rows: pd.DataFrame) -> Entry:
    """Return the CPU time of a start; runs that a limit stopped have none, and their starts do not count."""
    timed = rows.dropna(subset=["cpu_s"])
    if timed.empty:
        return Entry("-")
    # The papers' start is one more.
    n_starts = int(timed["n_ended"].sum()) + len(timed)
    seconds = float(timed["cpu_s"].sum()) / n_starts
    return Entry(duration(seconds), seconds, detail=f"mean over {counted(n_starts, 'start')}")


def _interval(count: int, n: int) -> str:
    low, high = clopper_pearson(count, n)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _percent(share: float) -> Entry:
    return Entry("-" if math.isnan(share) else f"{100 * share:.1f} %", share)


def _above(gap: float) -> Entry:
    """Return a gap in %, 0 where it is rounding of the cost."""
    return Entry("-" if math.isnan(gap) else f"{100 * max(gap, 0.0):.2g} %" if gap > 1e-9 else "0", gap)


# Gaps below this are rounding of the cost, or the tolerance of a converged solver; a logarithmic axis has no zero.
_SMALLEST = 1e-10
_OPTIMA_SYMBOLS = (Symbol.DOT, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND)


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
        symbol = _OPTIMA_SYMBOLS[colour % len(_OPTIMA_SYMBOLS)]
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
        symbol = _OPTIMA_SYMBOLS[place % len(_OPTIMA_SYMBOLS)]
        series.append(Series(name, gaps, qualities, Mark.POINTS, symbol, n_solvers + place, words=words))
    return Panel("what optima are worth", Axis("cost above best, relative", Scale.LOG), Axis("accuracy or NMI"), series)
