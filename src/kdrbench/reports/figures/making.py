"""From the name of a figure to its chart: which runs it shows, and who draws it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.datasets import load_prepared
from kdrbench.errors import InputError, unknown_name
from kdrbench.reports.figures.chart import Chart
from kdrbench.reports.figures.cost_against_time import CALLS, TIME, cost_against_time
from kdrbench.reports.figures.kpca_figures import Arrays, figure_2, figure_3, figure_4, figure_5
from kdrbench.reports.figures.loadings import loadings
from kdrbench.reports.figures.low_rank import low_rank_chart
from kdrbench.reports.figures.performance_profile import performance_profile
from kdrbench.reports.figures.scaling import scaling_chart
from kdrbench.reports.figures.scatter import scatter
from kdrbench.reports.figures.segmentation import segmentation
from kdrbench.reports.outputs import DATA, FINDINGS, KPCA_FIGURE, PROFILE, SCALING, TRACES, Report, figures_of
from kdrbench.reports.records import LOW_RANK, Config, read_runs
from kdrbench.reports.tables.size_series import size_series


@dataclass(frozen=True)
class Source:
    """What a figure is drawn from: the configuration, its runs, and the folder with traces, findings and data."""

    report: Report
    runs: pd.DataFrame
    config: Config
    store: Path

    @property
    def experiment(self) -> Config:
        """The experiment of a figure of one."""
        experiment: Config = self.config["experiments"][self.report.experiments[0]]
        return experiment

    @property
    def stored(self) -> tuple[Path, Path]:
        """The folders of findings and of prepared data."""
        return self.store / FINDINGS, self.store / DATA


def make_chart(name: str, config: Config, results: Path, store: Path) -> Chart:
    """Return a figure; one without panels, saying so, where the runs have left nothing to show.

    ``results`` is the folder of merged tables, ``store`` that of traces, findings and prepared data. Raises
    ``InputError`` for an unknown name.
    """
    reports = figures_of(config)
    if name not in reports:
        raise InputError(unknown_name("figure", name, sorted(reports)))
    report = reports[name]
    tables = [read_runs(results / "merged" / f"{experiment}.csv") for experiment in report.experiments]
    source = Source(report, pd.concat(tables, ignore_index=True), config, store)
    empty = f"No run of {', '.join(report.experiments)} has left what this figure shows."
    return _MAKERS[report.kind](source) or Chart(name, "", empty, [])


def _cost_against(source: Source) -> Chart:
    abscissa = CALLS if source.report.kind.endswith("calls") else TIME
    words = source.report.experiments[0], source.experiment, abscissa, source.config["solvers"]
    return cost_against_time(source.runs, source.store / TRACES, *words)


def _loadings(source: Source) -> Chart | None:
    return loadings(source.runs, *source.stored, source.report.experiments[0], source.experiment)


def _scatter(source: Source) -> Chart | None:
    name = source.report.experiments[0]
    return scatter(source.runs, *source.stored, name, source.experiment, source.config["seed"])


def _segmentation(source: Source) -> Chart | None:
    return segmentation(source.runs, *source.stored, source.report.experiments[0], source.experiment)


def _profile(source: Source) -> Chart:
    return performance_profile(source.runs, source.store / TRACES, source.config["solvers"])


def _scaling(source: Source) -> Chart:
    return scaling_chart(size_series(source.runs, source.config), source.config["solvers"])


def _low_rank(source: Source) -> Chart:
    methods = source.config.get("low_rank_methods", {})
    return low_rank_chart(source.report.name, source.runs, source.experiment, methods)


def _kpca_figure(source: Source) -> Chart:
    name, number, runs = source.report.name, int(source.experiment["figure"]), source.runs
    if number in (4, 5):
        return (figure_4 if number == 4 else figure_5)(name, runs)
    arrays = arrays_of(runs, source.stored[0])
    if number == 2:
        return figure_2(name, runs, arrays)
    datasets = map(str, runs["dataset"].unique())
    classes = {name: load_prepared(source.stored[1] / f"{name}.npz").class_names for name in datasets}
    return figure_3(name, runs, arrays, classes)


def arrays_of(runs: pd.DataFrame, findings: Path) -> dict[str, Arrays]:
    """Return by data set the arrays of its first run, by their names without cell and run."""
    arrays: dict[str, Arrays] = {}
    for dataset, group in runs.groupby("dataset", sort=False):
        first = str(int(group["run"].min()))
        of_set = arrays.setdefault(str(dataset), {})
        for trace_file in group["trace_file"].unique():
            with np.load((findings / str(trace_file)).with_suffix(".npz"), allow_pickle=False) as stored:
                for key in stored.files:
                    if (parts := re.fullmatch(rf"{re.escape(str(dataset))}/(?:.*/)?(\w+)_(\d+)", key)) and parts[
                        2
                    ] == first:
                        of_set[parts[1]] = stored[key]
    return arrays


_MAKERS: dict[str, Callable[[Source], Chart | None]] = {
    "cost_against_time": _cost_against,
    "cost_against_calls": _cost_against,
    "loadings": _loadings,
    "scatter": _scatter,
    "segmentation": _segmentation,
    PROFILE: _profile,
    SCALING: _scaling,
    KPCA_FIGURE: _kpca_figure,
    LOW_RANK: _low_rank,
}
