"""The commands `kdrbench figures ...`, one a figure. Each writes .pdf and .png, and the chart's data as .json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.bench.parts_commands import combined

if TYPE_CHECKING:
    from kdrbench.reports.chart import Chart

_FILE = click.Path(path_type=Path)
_EXPERIMENT = click.argument("experiment")
_CONFIG = click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
_RUNS = click.option("--runs", type=_FILE, required=True, help="The merged table of runs.")
_TRACES = click.option("--traces", type=_FILE, required=True, help="Folder of traces.")
_FINDINGS = click.option("--findings", type=_FILE, required=True, help="Folder of what the runs found.")
_DATA = click.option("--data", type=_FILE, required=True, help="Folder of prepared data sets.")
_OUT = click.option("--out", type=_FILE, required=True, help="Path of the figure without extension.")


@click.group()
def figures() -> None:
    """Draw the figures that go beyond cost against time."""


@figures.command("cost-against-calls")
@combined(_EXPERIMENT, _CONFIG, _RUNS, _TRACES, _OUT)
def cost_against_calls(experiment: str, config: Path, runs: Path, traces: Path, out: Path) -> None:
    """Draw cost against oracle calls of EXPERIMENT."""
    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.cost_against_time import CALLS, cost_against_time
    from kdrbench.reports.summary import read_runs

    frozen = _read(config)
    definition = frozen["experiments"][experiment]
    chart = cost_against_time(read_runs(runs, experiment), traces, experiment, definition, CALLS, frozen["solvers"])
    write_chart(chart, out)


@figures.command("performance-profile")
@combined(_CONFIG, _RUNS, _TRACES, _OUT)
def performance_profile(config: Path, runs: Path, traces: Path, out: Path) -> None:
    """Draw the performance profile over all problems."""
    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.performance_profile import performance_profile
    from kdrbench.reports.summary import read_all_runs

    write_chart(performance_profile(read_all_runs(runs), traces, _read(config)["solvers"]), out)


@figures.command()
@combined(_EXPERIMENT, _CONFIG, _RUNS, _FINDINGS, _DATA, _OUT)
def loadings(experiment: str, config: Path, runs: Path, findings: Path, data: Path, out: Path) -> None:
    """Draw what the projections of EXPERIMENT say of the features, and how firm it is over folds."""
    from kdrbench.reports.loadings import loadings
    from kdrbench.reports.summary import read_runs

    definition = _definition(config, experiment)
    _write(loadings(read_runs(runs, experiment), findings, data, experiment, definition), experiment, out)


@figures.command()
@combined(_EXPERIMENT, _CONFIG, _RUNS, _FINDINGS, _DATA, _OUT)
def scatter(experiment: str, config: Path, runs: Path, findings: Path, data: Path, out: Path) -> None:
    """Draw the projected samples of EXPERIMENT in two dimensions."""
    from kdrbench.reports.scatter import scatter
    from kdrbench.reports.summary import read_runs

    frozen = _read(config)
    definition, seed = frozen["experiments"][experiment], frozen["seed"]
    _write(scatter(read_runs(runs, experiment), findings, data, experiment, definition, seed), experiment, out)


@figures.command()
@combined(_EXPERIMENT, _CONFIG, _RUNS, _FINDINGS, _DATA, _OUT)
def segmentation(experiment: str, config: Path, runs: Path, findings: Path, data: Path, out: Path) -> None:
    """Draw the pictures that alternative clustering makes in EXPERIMENT."""
    from kdrbench.reports.segmentation import segmentation
    from kdrbench.reports.summary import read_runs

    definition = _definition(config, experiment)
    _write(segmentation(read_runs(runs, experiment), findings, data, experiment, definition), experiment, out)


@figures.command()
@click.argument("name")
@click.option("--mirror", default="", help="Folder or http(s) URL asked before the canonical source.")
@click.option("--out", type=_FILE, required=True, help="The PNG file to write.")
def picture(name: str, mirror: str, out: Path) -> None:
    """Fetch and verify the image whose colours are the data set NAME."""
    from kdrbench.datasets.picture import picture_bytes
    from kdrbench.files import write_bytes

    write_bytes(out, picture_bytes(name, mirror=mirror or None))


def _definition(config: Path, experiment: str) -> dict[str, Any]:
    definition: dict[str, Any] = _read(config)["experiments"][experiment]
    return definition


def _read(config: Path) -> dict[str, Any]:
    import json

    frozen: dict[str, Any] = json.loads(config.read_text(encoding="utf-8"))
    return frozen


def _write(chart: Chart | None, experiment: str, out: Path) -> None:
    """Write a chart; one without panels, saying so, where the runs have left nothing to show."""
    from kdrbench.reports.chart import Chart
    from kdrbench.reports.chart_drawing import write_chart

    empty = f"No run of {experiment} has left what this figure shows."
    write_chart(chart or Chart(f"{out.name}", "", empty, []), out)
