"""`kdrbench status`, `why` and `forget`: progress of the workflow, reasons for runs out of date, runs to make again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import click

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.suite.commands.answers import echo_answers, merged_answers
from kdrbench.suite.commands.options import (
    FILE,
    RECORD,
    Runs,
    configuration_name,
    frozen_configuration,
    grid_of,
    present_grid,
    root_and_name,
    with_included,
)
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.progress import BatchProgress, progress_of
from kdrbench.suite.experiments.forgetting import forget_runs, restore_workspaces
from kdrbench.suite.experiments.results import frozen_that_run, read_frozen, runs_that, was_disturbed, was_stopped
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.reports.outputs import experiment_outputs, experiments_by_target
from kdrbench.suite.reports.progress import losing_lines, progress_lines
from kdrbench.suite.systems.ikdr.controls import losing_cells


@click.command()
@click.option("--results", type=RECORD, default=Path("results"), show_default=True, help="Folder of all results.")
@configuration_name
def status(results: Path, name: str) -> None:
    """Say how far the workflow has come: runs that ended, how, those under way; what loses to random.

    Runs that are out of date are those that the configuration, as its files are now, asks for in another way.
    Then what the experiments whose tables are merged have answered, as the dashboard says it.
    """
    results, name = root_and_name(results, name)
    grid, frozen = present_grid(results, name)
    progress = progress_of(grid, results)
    rows = (SimpleNamespace(**row) for one in progress if one.batch.system == "ikdr" for row in one.ended)
    click.echo("\n".join([*progress_lines(progress), *losing_lines(losing_cells(rows, grid.config))]))
    echo_answers(_answers(Runs(read_frozen(frozen), frozen.parent, results)), matrices=False)


def _answers(runs: Runs) -> list[Answer]:
    """Return what merged tables answer, without the record that is included where it cannot be read."""
    if any((runs.merged / "merged").glob("*.csv")):
        try:
            with with_included(runs) as both:
                return merged_answers(both)
        except InputError as fault:
            click.echo(f"kdrbench: shown without the record that is included: {fault}", err=True)
    return merged_answers(runs)


@click.command()
@click.argument("place", default="")
@click.option("--results", type=RECORD, default=Path("results"), show_default=True, help="Folder of all results.")
@configuration_name
def why(place: str, results: Path, name: str) -> None:
    """Say which runs of PLACE the workflow would make, and why: what has changed since they were made.

    PLACE is an experiment, experiment/data set/... of a cell, or a target of Snakemake; all experiments without it.
    """
    results, name = root_and_name(results, name)
    grid, _ = present_grid(results, name)
    chosen = _chosen(progress_of(grid, results), place, grid)
    lines = [line for _, cell in groupby(chosen, _cell) if (line := _in_words(list(cell)))]
    click.echo("\n".join(lines or [f"{counted(sum(one.n_ended for one in chosen), 'run')} up to date, none to make"]))


def _chosen(progress: Sequence[BatchProgress], place: str, grid: Grid) -> list[BatchProgress]:

    targets = experiments_by_target(grid.config)
    names = targets.get(place)
    below = f"{place.rstrip('/')}/"
    chosen = [
        one
        for one in progress
        if not place or (one.batch.experiment in names if names is not None else f"{one.batch.path}/".startswith(below))
    ]
    if not chosen:
        raise InputError(unknown_name("experiment, cell or target", place, sorted({*targets, *map(_cell, progress)})))
    return chosen


def _cell(one: BatchProgress) -> str:
    return "/".join((one.batch.experiment, one.batch.dataset, *one.batch.cell))


def _in_words(batches: Sequence[BatchProgress]) -> str:
    """Return a line on a cell with runs to make; empty where there are none."""
    stale = sum(one.n_ended for one in batches if one.outdated)
    missing = sum(one.left for one in batches if not one.outdated)
    reasons = "; ".join(dict.fromkeys(why for one in batches for why in one.reasons))
    parts = [f"{counted(stale, 'run')} out of date: {reasons}"] * bool(stale)
    parts += [f"{counted(missing, 'run')} not made yet"] * bool(missing)
    return f"{_cell(batches[0])}: {'; '.join(parts)}" if parts else ""


@click.command()
@click.argument("place", default="")
@click.option("--results", type=FILE, default=Path("results"), show_default=True, help="Folder of all results.")
@configuration_name
@click.option(
    "--disturbed", "which", flag_value="disturbed", help="Only timed runs whose cores changed speed or were shared."
)
@click.option("--stopped", "which", flag_value="stopped", help="Only runs that ended at a limit of time or memory.")
def forget(place: str, results: Path, name: str, which: str | None) -> None:
    """Forget the runs of PLACE, an experiment or experiment/dataset/..., so that the workflow makes them again.

    The tables and figures of the experiment are removed with them. With --disturbed or --stopped PLACE may be left out:
    the runs are those of all merged tables.
    """
    if not place and not which:
        raise click.UsageError(
            "say which PLACE to forget: an experiment, experiment/dataset or a cell; or --disturbed or --stopped"
        )
    results, name = root_and_name(results, name)
    places = _merged_runs(which, results, name, Path(place)) if which else {place: None}
    for experiment in {Path(one).parts[0] for one in places if Path(one).parts}:
        for frozen, _ in frozen_that_run(results, experiment):
            restore_workspaces(results, grid_of(frozen), experiment)
    for one, runs in places.items():
        forget_runs(results, one, runs)
        for path in _reports_of(Path(one).parts[0], results):
            path.unlink(missing_ok=True)
        what = "the runs" if runs is None else counted(len(runs), "run")
        click.echo(f"the workflow will make {what} of {one} again")
    if not places:
        click.echo(f"no {'timed ' if which == 'disturbed' else ''}run was {which}")


def _reports_of(experiment: str, results: Path) -> Iterator[Path]:
    """Yield the files of the tables and figures of an experiment, of all configurations that were run."""
    for _, config in frozen_that_run(results, experiment):
        yield from (results.parent / path for path in experiment_outputs(config, experiment))


def _merged_runs(which: str, results: Path, name: str, below: Path) -> Mapping[str, set[int] | None]:
    """Return the disturbed or stopped runs by their cells ``below`` a place, of a configuration's merged tables."""
    chosen = {"disturbed": was_disturbed, "stopped": was_stopped}[which]
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    tables = {one: frozen.parent / "merged" / f"{one}.csv" for one in grid.config["run"]}
    kinds = {path: grid.system(one).record for one, path in tables.items() if path.is_file()}
    found = [runs_that(chosen, path, kind) for path, kind in kinds.items()]
    return {cell: runs for one in found for cell, runs in one.items() if Path(cell).is_relative_to(below)}
