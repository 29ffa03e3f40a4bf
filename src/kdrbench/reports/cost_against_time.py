"""The figure: how far above the best cost each solver is, as its time passes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from kdrbench.bench.experiment import Config
from kdrbench.reports.layout import dataset_label, is_converged, kernel_label, method_label, solver_label
from kdrbench.reports.summary import COMPLETED
from kdrbench.solvers import Status

# Okabe and Ito's colours, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Gaps below this are rounding of the cost.
_SMALLEST_GAP = 1e-12


def draw_cost_against_time(runs: pd.DataFrame, traces: Path, experiment: Config) -> Figure:
    """Return one panel a data set and kernel: (cost - best) / |best| against solver seconds, both logarithmic.

    ``best`` is the lowest cost that any solver saw in the fold. Thin lines are folds, the thick line is their
    median at each time, dashed for a converged variant; a dot ends a run that came to its own end, a cross one that
    was stopped. Failed runs are left out. Seconds are those of the first, watched solve.
    """
    datasets, kernels = experiment["datasets"], experiment["kernels"]
    size = (4.6 * len(kernels), 3.4 * len(datasets))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(datasets), len(kernels), squeeze=False)
    for line, dataset in enumerate(datasets):
        for column, kernel in enumerate(kernels):
            chosen = runs[(runs["dataset"] == dataset) & (runs["kernel"] == kernel) & (runs["status"] != Status.FAILED)]
            axes = panels[line, column]
            _draw_panel(axes, chosen, traces, experiment["solvers"])
            axes.set_title(f"{dataset_label(dataset)}, {kernel_label(kernel)} kernel")
            if line == len(datasets) - 1:
                axes.set_xlabel("solver time")
            if column == 0:
                axes.set_ylabel("cost above best, relative")
    shown = {
        label: handle for axes in panels.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    names = [solver for solver in _by_method(experiment["solvers"]) if solver_label(solver) in shown]
    labels = [solver_label(solver) for solver in names]
    columns = len({method_label(solver) for solver in names})
    handles = [shown[label] for label in labels]
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, columns), frameon=False)
    return figure


def _by_method(solvers: list[str]) -> list[str]:
    """Return the solvers with the variants of a method side by side."""
    methods = list(dict.fromkeys(map(method_label, solvers)))
    return sorted(solvers, key=lambda solver: (methods.index(method_label(solver)), is_converged(solver)))


def render(figure: Figure, kind: str) -> bytes:
    """Return the figure as ``pdf`` or ``png`` bytes that are the same on every run."""
    buffer = io.BytesIO()
    metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
    with mpl.rc_context({"pdf.fonttype": 42}):
        figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
    return buffer.getvalue()


def _draw_panel(axes: Axes, runs: pd.DataFrame, traces: Path, solvers: list[str]) -> None:
    curves = {solver: _read_curves(runs[runs["solver"] == solver], traces) for solver in solvers}
    best: dict[int, float] = {}
    for by_fold in curves.values():
        for fold, curve in by_fold.items():
            best[fold] = min(best.get(fold, np.inf), float(curve[:, 1].min()))
    colours = dict(zip(dict.fromkeys(map(method_label, solvers)), _COLOURS * len(solvers), strict=False))
    for solver in solvers:
        colour, line = colours[method_label(solver)], "--" if is_converged(solver) else "-"
        gaps = {
            fold: np.column_stack([curve[:, 0], _gap(curve[:, 1], best[fold])])
            for fold, curve in curves[solver].items()
        }
        ended = runs[(runs["solver"] == solver)].set_index("fold")["status"].isin([*map(str, COMPLETED)])
        for fold, curve in gaps.items():
            axes.plot(curve[:, 0], curve[:, 1], color=colour, linewidth=0.6, alpha=0.25, drawstyle="steps-post")
            marker = "o" if ended[fold] else "x"
            axes.plot(*curve[-1], marker=marker, color=colour, markersize=4, alpha=0.6, linestyle="none")
        if gaps:
            times, median = _median_curve(list(gaps.values()))
            axes.plot(times, median, line, color=colour, lw=1.8, drawstyle="steps-post", label=solver_label(solver))
    axes.set_xscale("log")
    axes.set_yscale("log")
    _label_seconds(axes)
    axes.grid(alpha=0.25)


def _label_seconds(axes: Axes) -> None:
    """Label the time axis in seconds, milliseconds and so on, within decades too where there are few."""
    shortest, longest = axes.get_xlim()
    within = (1.0, 2.0, 5.0) if longest < 60 * shortest else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=within))
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _read_curves(runs: pd.DataFrame, traces: Path) -> dict[int, np.ndarray]:
    """Return (seconds, lowest cost so far) of each fold; seconds start at the first positive one."""
    curves: dict[int, list[tuple[float, float]]] = {}
    folds = set(runs["fold"])
    for name in runs["trace_file"].unique():
        for line in (traces / name).read_text(encoding="utf-8").splitlines():
            point = json.loads(line)
            if point["fold"] not in folds:
                continue
            curves.setdefault(point["fold"], []).append((point["time_s"], point["cost"]))
    result = {}
    for fold, points in curves.items():
        curve = np.array(points)
        curve[:, 1] = np.minimum.accumulate(curve[:, 1])
        result[fold] = curve[curve[:, 0] > 0]
    return result


def _gap(costs: np.ndarray, best: float) -> np.ndarray:
    return np.maximum((costs - best) / max(abs(best), np.finfo(float).tiny), _SMALLEST_GAP)


def _median_curve(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the median over folds of the step functions, where at least half of the folds have begun."""
    times = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    values = np.full((len(curves), times.size), np.nan)
    for line, curve in enumerate(curves):
        place = np.searchsorted(curve[:, 0], times, side="right") - 1
        values[line] = np.where(place >= 0, curve[np.maximum(place, 0), 1], np.nan)
    shown = np.isfinite(values).sum(axis=0) * 2 >= len(curves)
    return times[shown], np.nanmedian(values[:, shown], axis=0)
