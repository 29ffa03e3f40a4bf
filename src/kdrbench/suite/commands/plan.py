"""`kdrbench plan`: what a configuration will take, before anything runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.solvers.registry import check_meanings
from kdrbench.suite.archive import PAPERS
from kdrbench.suite.commands.options import CHECKOUT, FILE, aligned, as_json, read_configs, results_folder
from kdrbench.suite.engine.progress import Forecast, forecast
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.reports.outputs import experiments_by_target
from kdrbench.suite.reports.tables.numbers import duration

_BASE = Path("config.yaml")
_HEAD = ("experiment", "runs", "to make", "core-hours", "at most")
_HOUR_S, _FEW_HOURS = 3600.0, 0.01


@click.command()
@click.argument("targets", nargs=-1)
@click.option("--config", "configs", type=FILE, multiple=True, help="Laid over config.yaml; may be repeated.")
@results_folder
@as_json
def plan(targets: tuple[str, ...], configs: tuple[Path, ...], results: Path, as_json: bool) -> None:
    """Say what TARGETS, or all in `run`, will take: runs and core-hours.

    TARGETS are those of Snakemake, papers' tables and figures or experiments, with all experiments that they wait for.
    Experiments that the configuration defines need not be in `run`.

    Nothing is run or written. Costs are those of the rows in RESULTS, or estimated where there are none.
    """
    bases = (_BASE, CHECKOUT / _BASE)
    below = next(((base,) for base in bases if base.is_file()), () if configs else (_BASE,))
    config = _with_named(read_configs((*below, *configs)), targets)
    grid = load_grid(config)
    check_meanings(config.get("solvers", {}))
    forecasts = forecast(grid, results, _experiments_of(grid.config, targets))
    if as_json:
        click.echo(json.dumps({"experiments": [asdict(one) for one in forecasts]}))
        return
    rows = [_HEAD, *(_row(one.experiment, [one]) for one in forecasts), _row("all", forecasts)]
    click.echo("\n".join([*aligned(rows, 1), "", *_notes(forecasts)]))


def _experiments_of(config: Config, targets: Sequence[str]) -> list[str]:
    """Return the experiments that Snakemake runs for these targets; ``InputError`` for a name that is none."""
    known = experiments_by_target(config)
    if unknown := [name for name in targets if name not in known]:
        raise InputError(unknown_name("experiment or target", unknown[0], sorted({*config["experiments"], *known})))
    return list(dict.fromkeys(experiment for name in targets for experiment in known[name]))


def _with_named(config: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the configuration with named experiments in ``run`` too; faults of either are left to its checks."""
    run, defined = config.get("run"), config.get("experiments")
    if not isinstance(run, list) or not isinstance(defined, dict):
        return config
    return {**config, "run": [*run, *(name for name in names if name in defined and name not in run)]}


def _row(name: str, parts: Sequence[Forecast]) -> tuple[str, ...]:
    hours, most = (sum(times) / _HOUR_S for times in ([p.core_s for p in parts], [p.most_core_s for p in parts]))
    counts = [sum(one.runs for one in parts), sum(one.to_make for one in parts)]
    return (name, *map(str, counts), _short(hours), _short(most))


def _notes(forecasts: Sequence[Forecast]) -> Iterator[str]:
    to_make, measured = sum(one.to_make for one in forecasts), sum(one.measured for one in forecasts)
    yield f"In all {work_in_words(sum(one.core_s for one in forecasts))}, beside reports."
    yield f"Costs of {measured} of {counted(to_make, 'run')} are measured in their cells, the others estimated."
    if not measured and PAPERS.is_dir():
        yield f"--results {PAPERS} takes those that the record of the papers has measured."
    yield "At most: if every run reached its time limit."


def work_in_words(core_s: float) -> str:
    """Return core-seconds as core-hours, and as the time that the cores of this process take for them."""
    cores = len(os.sched_getaffinity(0))
    hours = core_s / _HOUR_S
    # An estimate says nothing of parts of a second.
    on_cores = f"{duration(max(1.0, core_s / cores))} on {counted(cores, 'core')}"
    if hours < _FEW_HOURS:
        return f"less than {_FEW_HOURS} core-hours ({on_cores})"
    return f"about {_short(hours)} core-hours ({on_cores})"


def _short(number: float) -> str:
    """Return a number of at least 0 in two digits, or without decimals."""
    return f"{number:.0f}" if number >= 10 or not number else f"{number:.2g}" if number >= 0.01 else "<0.01"
