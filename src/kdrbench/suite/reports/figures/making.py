"""From the name of a figure to its chart: which runs it shows, and who draws it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from kdrbench.errors import DamagedError, InputError, in_words, unknown_name
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.optima import BestKnown
from kdrbench.suite.reports.outputs import (
    DATA,
    FIGURE_1B,
    FINDINGS,
    KPCA_FIGURE,
    PROFILE,
    SCALING,
    TRACES,
    Report,
    figures_of,
    shown_data,
)
from kdrbench.suite.reports.records import ATLAS, LEAGUE, LOW_RANK, NOISE, Config, read_runs

# Where figures that show samples are kept below a folder of results, and the digits of their numbers.
_CHARTS, _DIGITS = "charts", 6
# The module of each kind of figure, whose ``chart_of`` makes its chart; of no other anything is loaded.
_MODULES = {
    "cost_against_time": "cost_against_time",
    "cost_against_calls": "cost_against_time",
    "loadings": "loadings",
    "scatter": "scatter",
    "segmentation": "segmentation",
    PROFILE: "performance_profile",
    SCALING: "scaling",
    FIGURE_1B: "scaling",
    KPCA_FIGURE: "kpca_figures",
    LOW_RANK: "low_rank",
    LEAGUE: "league",
    ATLAS: "atlas",
    NOISE: "noise",
}


@dataclass(frozen=True)
class Source:
    """What a figure is drawn from: the configuration, its runs, and the folder with traces, findings and data."""

    report: Report
    runs: pd.DataFrame
    config: Config
    store: Path

    @property
    def name(self) -> str:
        """The name of the experiment of a figure of one."""
        return self.report.experiments[0]

    @property
    def experiment(self) -> Config:
        """The experiment of a figure of one."""
        experiment: Config = self.config["experiments"][self.name]
        return experiment

    @property
    def traces(self) -> Path:
        """The folder of traces."""
        return self.store / TRACES

    @property
    def known(self) -> BestKnown:
        """The best solutions known of problems."""
        return BestKnown.of(self.store, self.config)

    @property
    def stored(self) -> tuple[Path, Path]:
        """The folders of findings and of prepared data."""
        return self.store / FINDINGS, self.store / DATA


def make_chart(name: str, config: Config, results: Path, store: Path) -> Chart:
    """Return a figure; one without panels, saying so, where the runs have left nothing to show.

    ``results`` is the folder of merged tables, ``store`` that of traces, findings and prepared data. A figure that
    shows samples of data that are not prepared is the one that is stored (:func:`charts_to_store`), if any is. Raises
    ``InputError`` for an unknown name.
    """
    reports = figures_of(config)
    if name not in reports:
        raise InputError(unknown_name("figure", name, sorted(reports)))
    report, stored = reports[name], _stored(name, store)
    if stored.is_file() and _lacks_data(config, report, store):
        return _read(stored)
    tables = [read_runs(results / "merged" / f"{experiment}.csv") for experiment in report.experiments]
    source = Source(report, pd.concat(tables, ignore_index=True), config, store)
    empty = f"No run of {', '.join(report.experiments)} has left what this figure shows."
    module = import_module(f"kdrbench.suite.reports.figures.{_MODULES[report.kind]}")
    return module.chart_of(source) or Chart(name, "", empty, [])


def charts_to_store(config: Config, results: Path, store: Path) -> tuple[dict[str, str], list[str]]:
    """Return as JSON the figures that show samples of data, and what is to be said of those that cannot be drawn.

    With them figures of a record are drawn without data. Their numbers have six digits, far less than a pixel.
    """
    charts, missing = {}, []
    for name, report in figures_of(config).items():
        merged = (results / "merged" / f"{experiment}.csv" for experiment in report.experiments)
        if not shown_data(config, report) or not all(path.is_file() for path in merged):
            continue
        if not can_be_drawn(report, config, store):
            missing.append(f"the figure {name} is not stored: data that it shows are not in {store / DATA}")
            continue
        text = make_chart(name, config, results, store).to_json()
        charts[name] = json.dumps(json.loads(text, parse_float=lambda word: float(f"{float(word):.{_DIGITS}g}")))
    return charts, missing


def can_be_drawn(report: Report, config: Config, store: Path) -> bool:
    """Return whether the data that a figure shows are prepared, or the figure is stored."""
    return _stored(report.name, store).is_file() or not _lacks_data(config, report, store)


def _stored(name: str, store: Path) -> Path:
    return store / _CHARTS / f"{name}.json"


def _lacks_data(config: Config, report: Report, store: Path) -> bool:
    """Return whether a figure shows data that are not prepared."""
    return not all((store / path).is_file() for path in shown_data(config, report))


def _read(path: Path) -> Chart:
    try:
        return Chart.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise DamagedError(f"{path} is no figure ({in_words(error)}); take the record again") from error
