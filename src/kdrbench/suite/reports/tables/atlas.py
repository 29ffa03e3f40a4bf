"""The table of an atlas: the distinct optima of each cell, the best, and how often one start finds it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.reports.optima import Charted
from kdrbench.suite.reports.records import Config
from kdrbench.suite.reports.tables.atlas_rows import AtlasCell, cells_of_atlas, sentences
from kdrbench.suite.reports.tables.html import Section
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.numbers import duration
from kdrbench.suite.reports.tables.significance import clopper_pearson
from kdrbench.suite.reports.tables.table import Entry, Group, Table, entries

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


def atlas_page(name: str, runs: pd.DataFrame, config: Config, findings: Path) -> tuple[Table, list[Section]]:
    """Return the table of an experiment, and the sections of its page."""
    cells, experiment = cells_of_atlas(runs, findings), config["experiments"][name]
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
    ]


def _labels(cell: AtlasCell) -> list[Entry]:
    return entries([dataset_label(cell.dataset), kernel_label(cell.kernel), cell.cells_of])


def _row(cell: AtlasCell, solvers: list[str], config: Config) -> list[Entry]:
    counts = [len(one.costs) for one in cell.charted]
    over = f"over {counted(len(cell.best_costs), 'problem')}"
    found, wanted = cell.found_again()
    n_certified = int(cell.rows["n_certified"].sum())
    share = _percent(cell.share_of_best())
    return [
        *_labels(cell),
        Entry(str(cell.n_problems), float(cell.n_problems)),
        Entry("none" if not counts else _range(counts), float(max(counts, default=0)), detail=f"a problem, {over}"),
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
    columns = [
        "Fold",
        "Draw",
        "Optimum",
        "Above best",
        *(f"Share of {method_label(one)}" for one in solvers),
        "Quality",
    ]
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
    columns = [
        "Starts",
        "Lost",
        "Certified",
        "At the best",
        "Near",
        "Median above",
        "Largest above",
        "CPU time a start",
    ]
    columns += ["Papers' start above"]
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
    return [
        Entry(str(n_ended), float(n_ended)),
        Entry(str(n_starts - n_ended), float(n_starts - n_ended)),
        _percent(float(rows["n_certified"].sum()) / n_ended),
        Entry(_with_interval(at_best, n_ended), at_best),
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


def _with_interval(share: float, count: int) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} % ({_interval(round(share * count), count)})"


def _interval(count: int, n: int) -> str:
    low, high = clopper_pearson(count, n)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _range(counts: list[int]) -> str:
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(counts[0])


def _percent(share: float) -> Entry:
    return Entry("-" if math.isnan(share) else f"{100 * share:.1f} %", share)


def _above(gap: float) -> Entry:
    """Return a gap in %, 0 where it is rounding of the cost."""
    return Entry("-" if math.isnan(gap) else f"{100 * max(gap, 0.0):.2g} %" if gap > 1e-9 else "0", gap)
