"""`kdrbench forget`: runs that the workflow is to make again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import counted
from kdrbench.suite.commands.options import FILE, configuration_name, frozen_configuration, grid_of, root_and_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@click.command()
@click.argument("place", default="")
@click.option("--results", type=FILE, default=Path("results"), show_default=True, help="Folder of all results.")
@configuration_name
@click.option("--reports", type=FILE, default=None, help="Folder of all reports; beside RESULTS if not said.")
@click.option(
    "--disturbed", "which", flag_value="disturbed", help="Only timed runs whose cores changed speed or were shared."
)
@click.option("--stopped", "which", flag_value="stopped", help="Only runs that ended at a limit of time or memory.")
def forget(place: str, results: Path, name: str, reports: Path | None, which: str | None) -> None:
    """Forget the runs of PLACE, an experiment or experiment/dataset/..., so that the workflow makes them again.

    The tables and figures of the experiment are removed with them. With --disturbed or --stopped PLACE may be left out:
    the runs are those of all merged tables.
    """
    from kdrbench.suite.experiments.forgetting import forget_runs, restore_workspaces
    from kdrbench.suite.experiments.results import frozen_that_run

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
        for path in _reports_of(Path(one).parts[0], results, reports or results.parent / "reports"):
            path.unlink(missing_ok=True)
        what = "the runs" if runs is None else counted(len(runs), "run")
        click.echo(f"the workflow will make {what} of {one} again")
    if not places:
        click.echo(f"no {'timed ' if which == 'disturbed' else ''}run was {which}")


def _reports_of(experiment: str, results: Path, reports: Path) -> Iterator[Path]:
    """Yield the files of the tables and figures of an experiment, of all configurations that were run."""
    from kdrbench.suite.experiments.results import frozen_that_run
    from kdrbench.suite.reports.outputs import experiment_outputs

    for _, config in frozen_that_run(results, experiment):
        outputs = experiment_outputs(config, experiment, typeset=True)
        yield from (reports / Path(path).relative_to("reports") for path in outputs)


def _merged_runs(which: str, results: Path, name: str, below: Path) -> Mapping[str, set[int] | None]:
    """Return the disturbed or stopped runs by their cells ``below`` a place, of a configuration's merged tables."""
    from kdrbench.suite.experiments import merged_tables

    chosen = {"disturbed": merged_tables.was_disturbed, "stopped": merged_tables.was_stopped}[which]
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    tables = {one: frozen.parent / "merged" / f"{one}.csv" for one in grid.config["run"]}
    kinds = {path: grid.stage(one).record for one, path in tables.items() if path.is_file()}
    found = [merged_tables.runs_that(chosen, path, kind) for path, kind in kinds.items()]
    return {cell: runs for one in found for cell, runs in one.items() if Path(cell).is_relative_to(below)}
