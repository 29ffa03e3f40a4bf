"""`kdrbench status`, `why` and `forget`: progress of the workflow, reasons for runs out of date, runs to make again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from types import SimpleNamespace

import click

from kdrbench.errors import InputError, KdrbenchError, counted, unknown_name, visible
from kdrbench.status import Status
from kdrbench.suite.commands.compare import echo_answers, merged_answers
from kdrbench.suite.commands.options import (
    RECORD,
    Runs,
    all_results,
    configuration_name,
    frozen_configuration,
    grid_of,
    present_grid,
    results_folder,
    root_and_name,
    with_included,
)
from kdrbench.suite.commands.plan import work_in_words
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.progress import BatchProgress, Costs, progress_of
from kdrbench.suite.experiments.forgetting import forget_runs, restore_workspaces
from kdrbench.suite.experiments.results import frozen_that_run, read_frozen, runs_that, was_disturbed, was_stopped
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.reports.outputs import experiments_by_target, report_files, reports_of
from kdrbench.suite.reports.tables.cells import ENDINGS
from kdrbench.suite.reports.tables.numbers import duration, quantity
from kdrbench.suite.systems.ikdr.controls import losing_cells
from kdrbench.suite.systems.ikdr.scores import ending_of

# The most cells and answers that are shown one by one, and the cells that are named where there are more.
_MOST_CELLS, _MOST_ANSWERS, _SHOWN = 40, 10, 15
# Names that are listed where one is unknown, and letters of the message of a failed run.
_NEAREST, _LETTERS = 3, 160
# What a line says of an ending whose name alone would not be clear.
_WORDS = {"time_limit": "at the time limit", "memory_limit": "at the memory limit", "skipped": "left out"}


@click.command()
@click.argument("place", metavar="[RESULTS]", default="results")
@configuration_name
@click.option("--all", "whole", is_flag=True, help="List each cell and answer of a large configuration, too.")
def status(place: str, name: str, whole: bool) -> None:
    """Say how far the workflow has come: runs that ended, how, those under way; what loses to random.

    RESULTS is a folder or a packed record. Runs that are out of date are those that the configuration, as its files are
    now, asks for in another way. Then what the experiments whose tables are merged have answered, as the dashboard says
    it. Where data or plug-ins of the configuration are absent, that alone is shown. Without --all, more than 40 cells
    are summed up by experiment, with the cells that are unfinished, out of date or have failed, and more than 10
    answers are left to `kdrbench compare`.
    """
    named = f" --name {name}" if name else ""
    results, name = root_and_name(RECORD.convert(place, None, click.get_current_context()), name)
    frozen = frozen_configuration(results, name)
    try:
        grid = present_grid(results, frozen)
    except KdrbenchError as fault:
        if not any((frozen.parent / "merged").glob("*.csv")):
            raise
        click.echo(f"kdrbench: only answers are shown; which runs are to be made cannot be said: {fault}", err=True)
        progress = []
    else:
        progress = progress_of(grid, results)
        click.echo("\n".join(_lines(progress, grid, whole)))
    n_answers = len(list((frozen.parent / "merged").glob("*.csv")))
    if whole or n_answers <= _MOST_ANSWERS:
        echo_answers(_answers(Runs(read_frozen(frozen), frozen.parent, results)), matrices=False)
    else:
        click.echo(f"{n_answers} experiments have answers: `kdrbench compare {place}{named}`, or --all, prints them")
    if progress:
        # Last, where it is seen after a thousand lines of cells.
        click.echo(f"\n{summary_line(progress)}")


def _lines(progress: list[BatchProgress], grid: Grid, whole: bool) -> Iterator[str]:
    """Yield the lines on progress, and those on solvers that lose to a random projection."""
    rows = (SimpleNamespace(**row) for one in progress if one.batch.system == "ikdr" for row in one.ended)
    losing = losing_cells(rows, grid.config)
    whole = whole or len(set(map(_cell, progress))) <= _MOST_CELLS
    yield from progress_lines(progress) if whole else experiment_lines(progress)
    if losing:
        yield f"worse than a random projection: {counted(len(losing), 'cell')}"
        yield from _first([f"  {cell}" for cell in losing], len(losing) if whole else _SHOWN)


def _first(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and one that counts the others."""
    more = len(lines) - most
    return [*lines[:most], *[f"  ... and {counted(more, 'cell')} more; --all lists them"] * (more > 0)]


def experiment_lines(progress: list[BatchProgress]) -> Iterator[str]:
    """Yield a line for each experiment, then those of cells that are unfinished, out of date or have failed runs."""
    experiments = [(name, list(batches)) for name, batches in groupby(progress, lambda one: one.batch.experiment)]
    width = max(len(name) for name, _ in experiments)
    for name, batches in experiments:
        stale = _n_ended(one for one in batches if one.outdated)
        words = "; ".join(filter(None, [_endings(batches), f"{stale} out of date" * bool(stale)]))
        yield f"{name:<{width}}  {_n_ended(batches):>5} of {_n_runs(batches):<5}  {words}".rstrip()
    notable = {_cell(one) for one in progress if one.begun or one.outdated or _failure([one])}
    if notable:
        yield "unfinished, out of date, or with failed runs:"
        lines = list(progress_lines([one for one in progress if _cell(one) in notable]))
        yield from _first([f"  {line}" for line in lines], _SHOWN)


def _answers(runs: Runs) -> list[Answer]:
    """Return what merged tables answer, without the record that is included where it cannot be read."""
    if any((runs.merged / "merged").glob("*.csv")):
        try:
            with with_included(runs) as both:
                return merged_answers(both)
        except InputError as fault:
            click.echo(f"kdrbench: shown without the record that is included: {fault}", err=True)
    return merged_answers(runs)


def progress_lines(progress: list[BatchProgress]) -> Iterator[str]:
    """Yield a line for each cell that has begun, and one that counts the others."""
    cells = [(cell, list(batches)) for cell, batches in groupby(progress, _cell)]
    width = max((len(cell) for cell, _ in cells), default=0)
    waiting = 0
    for cell, batches in cells:
        ended, total = _n_ended(batches), _n_runs(batches)
        if not ended and not any(state.begun for state in batches):
            waiting += 1
            continue
        stale = _n_ended(state for state in batches if state.outdated)
        outdated = [f"{stale} out of date: {_reasons(batches)}"] * bool(stale)
        words = "; ".join(filter(None, [_endings(batches), *_failure(batches), *outdated, *_running(batches)]))
        yield f"{cell:<{width}}  {ended:>4} of {total:<4}  {words}".rstrip()
    if waiting:
        yield f"not begun: {counted(waiting, 'cell')}"


def _cell(state: BatchProgress) -> str:
    return "/".join((state.batch.experiment, state.batch.dataset, *state.batch.cell))


def _n_ended(batches: Iterable[BatchProgress]) -> int:
    return sum(state.n_ended for state in batches)


def _n_runs(batches: Iterable[BatchProgress]) -> int:
    return sum(len(state.batch.runs) for state in batches)


def _reasons(batches: Iterable[BatchProgress]) -> str:
    return "; ".join(dict.fromkeys(why for state in batches for why in state.reasons))


def _endings(batches: list[BatchProgress]) -> str:
    """Return how many rows ended in which way, as all pages say it."""
    rows = [row for state in batches for row in state.ended]
    counts = Counter(ending_of(row["status"], row.get("optimality"), row.get("stationarity")) for row in rows)
    words = ", ".join(f"{counts[name]} {_WORDS.get(name, name.replace('_', ' '))}" for name in ENDINGS if counts[name])
    # A run of some systems leaves several rows, each of which has ended in its own way.
    return words if len(rows) == _n_ended(batches) else f"{counted(len(rows), 'row')}: {words}"


def _failure(batches: list[BatchProgress]) -> list[str]:
    """Return why the first of the failed runs failed."""
    failed = (row for state in batches for row in state.ended if row["status"] == Status.FAILED)
    return [f"run {row['run']} failed: {visible(row['message'][:_LETTERS])}" for row in islice(failed, 1)]


def _running(batches: list[BatchProgress]) -> Iterator[str]:
    for state in batches:
        if run := state.running:
            seen = "" if run.best_cost is None else f", lowest cost {quantity(run.best_cost)}"
            since = f"running for {duration(run.time_s)}" if run.time_s else "has begun"
            yield f"run {run.run} {since}{seen}"
        elif state.begun:
            yield f"{counted(state.left, 'run')} to make, but no process here works on them"


def summary_line(progress: list[BatchProgress]) -> str:
    """Return how many runs ended and how, how many are out of date, under way and to be made."""
    ended, left = _n_ended(progress), sum(state.left for state in progress)
    text = f"{ended} of {counted(_n_runs(progress), 'run')} ended"
    if counts := _endings(progress):
        text += f" ({counts})"
    if ended:
        text += f", {_n_ended(state for state in progress if state.outdated) or 'none'} of them out of date"
    if running := sum(state.running is not None for state in progress):
        text += f", {running} running"
    if left:
        work = work_in_words(Costs(progress).core_s_left(progress))
        text += f"; {counted(left, 'run')} to make, {work}"
    return text


@click.command()
@click.argument("place", default="")
@results_folder
@configuration_name
def why(place: str, results: Path, name: str) -> None:
    """Say which runs of PLACE the workflow would make, and why: what has changed since they were made.

    PLACE is an experiment, experiment/data set/... of a cell, or a target of Snakemake; all experiments without it.
    """
    results, name = root_and_name(results, name)
    grid = present_grid(results, frozen_configuration(results, name))
    chosen = _chosen(progress_of(grid, results), place, grid)
    lines = [line for _, cell in groupby(chosen, _cell) if (line := _in_words(list(cell)))]
    click.echo("\n".join(lines or [f"{counted(_n_ended(chosen), 'run')} up to date, none to make"]))


def _chosen(progress: Sequence[BatchProgress], place: str, grid: Grid) -> list[BatchProgress]:
    targets = experiments_by_target(grid.config)
    experiments = targets.get(place)
    below = f"{place.rstrip('/')}/"
    chosen = [
        one
        for one in progress
        if not place
        or (one.batch.experiment in experiments if experiments is not None else f"{one.batch.path}/".startswith(below))
    ]
    if not chosen:
        names = sorted({*targets, *map(_cell, progress)})
        unknown = unknown_name("experiment, cell or target", place, names, most=_NEAREST)
        raise InputError(
            f"{unknown} `kdrbench status --all` lists the cells, `kdrbench list experiments` the experiments"
        )
    return chosen


def _in_words(batches: Sequence[BatchProgress]) -> str:
    """Return a line on a cell with runs to make; empty where there are none."""
    stale = _n_ended(one for one in batches if one.outdated)
    missing = sum(one.left for one in batches if not one.outdated)
    parts = [f"{counted(stale, 'run')} out of date: {_reasons(batches)}"] * bool(stale)
    parts += [f"{counted(missing, 'run')} not made yet"] * bool(missing)
    return f"{_cell(batches[0])}: {'; '.join(parts)}" if parts else ""


@click.command()
@click.argument("place", default="")
@all_results
@configuration_name
@click.option("--disturbed", "which", flag_value="disturbed", help="Only timed runs on drifted or shared cores.")
@click.option("--stopped", "which", flag_value="stopped", help="Only runs that ended at a limit of time or memory.")
def forget(place: str, results: Path, name: str, which: str | None) -> None:
    """Forget the runs of PLACE, an experiment or experiment/dataset/..., so that the workflow makes them again.

    The tables and figures of the experiment are removed with them. With --disturbed or --stopped PLACE may be left out:
    the runs are those of all merged tables.
    """
    if not place and not which:
        raise click.UsageError("say which PLACE to forget: an experiment or experiment/dataset/..., or which runs")
    results, name = root_and_name(results, name)
    places = _merged_runs(which, results, name, Path(place)) if which else {place: None}
    experiments = {Path(one).parts[0] for one in places if Path(one).parts}
    defined = [(experiment, *one) for experiment in experiments for one in frozen_that_run(results, experiment)]
    for experiment, frozen, _ in defined:
        grid = grid_of(frozen)
        restore_workspaces(results, grid, grid.bundles(experiment))
    for one, runs in places.items():
        forget_runs(results, one, runs)
        what = "the runs" if runs is None else counted(len(runs), "run")
        click.echo(f"the workflow will make {what} of {one} again")
    for experiment, _, config in defined:
        for path in report_files(config, reports_of(config, experiment)):
            (results.parent / path).unlink(missing_ok=True)
    if not places:
        click.echo(f"no {'timed ' if which == 'disturbed' else ''}run was {which}")


def _merged_runs(which: str, results: Path, name: str, below: Path) -> Mapping[str, set[int] | None]:
    """Return the disturbed or stopped runs by their cells ``below`` a place, of a configuration's merged tables."""
    chosen = {"disturbed": was_disturbed, "stopped": was_stopped}[which]
    frozen = frozen_configuration(results, name)
    grid = grid_of(frozen)
    tables = {one: frozen.parent / "merged" / f"{one}.csv" for one in grid.config["run"]}
    kinds = {path: grid.system(one).record for one, path in tables.items() if path.is_file()}
    found = [runs_that(chosen, path, kind) for path, kind in kinds.items()]
    return {cell: runs for one in found for cell, runs in one.items() if Path(cell).is_relative_to(below)}
