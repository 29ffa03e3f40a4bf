"""`kdrbench why`: which runs are out of date, and what has changed since they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import InputError, counted, unknown_name
from kdrbench.suite.commands.options import RECORD, configuration_name, present_grid, root_and_name

if TYPE_CHECKING:
    from kdrbench.suite.engine.grid import Grid
    from kdrbench.suite.engine.progress import BatchProgress


@click.command()
@click.argument("place", default="")
@click.option("--results", type=RECORD, default=Path("results"), show_default=True, help="Folder of all results.")
@configuration_name
def why(place: str, results: Path, name: str) -> None:
    """Say which runs of PLACE the workflow would make, and why: what has changed since they were made.

    PLACE is an experiment, experiment/data set/... of a cell, or a target of Snakemake; all experiments without it.
    """
    from kdrbench.suite.engine.progress import progress_of

    results, name = root_and_name(results, name)
    grid, _ = present_grid(results, name)
    chosen = _chosen(progress_of(grid, results), place, grid)
    lines = [line for cell in _cells(chosen) if (line := _in_words(cell))]
    click.echo("\n".join(lines or [f"{counted(sum(one.n_ended for one in chosen), 'run')} up to date, none to make"]))


def _chosen(progress: Sequence[BatchProgress], place: str, grid: Grid) -> list[BatchProgress]:
    from kdrbench.suite.reports.report_jobs import experiments_by_target

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


def _cells(progress: Sequence[BatchProgress]) -> Iterator[list[BatchProgress]]:
    for _, batches in groupby(progress, _cell):
        yield list(batches)


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
