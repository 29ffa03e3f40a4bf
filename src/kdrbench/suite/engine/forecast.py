"""What a grid will take before anything runs: runs, core-seconds, disk, and what its limits cut.

Seconds come from the rows in the folder of results where there are some (:class:`.Costs`), else from the estimates by
which runs share jobs. Bytes of a run are a mean over the files of its experiment. The mean over those of all
experiments counts in it as a hundred runs, and in that the demo's: files of a few small runs say little of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kdrbench.datasets import registry_of
from kdrbench.errors import ConfigError, unknown_name
from kdrbench.status import Status
from kdrbench.suite.engine.batch import WORKSPACES
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.progress import BatchProgress, Costs, progress_of

# Of a run of the demo: its row, trace, findings and workspace.
_RUN_BYTES = 33_000
_KINDS = ("runs", "traces", "findings", WORKSPACES)
_PRIOR_RUNS = 100
_CUT = (Status.TIME_LIMIT, Status.MEMORY_LIMIT)


@dataclass(frozen=True)
class Forecast:
    """What an experiment will take. Times and bytes are those of the ``to_make`` of its ``runs``.

    ``core_s`` are core-seconds, ``most_core_s`` those if every run reached its time limit. ``measured`` runs are of a
    cell in which runs have ended, none cut short by a limit below today's; the seconds of the others are estimated.
    ``at_limit`` runs will reach the limit of time or memory: of a measured cell the share that did, else all where the
    estimate exceeds the time limit. ``over_budget`` runs come when the budget of all runs together is used up, in the
    order of the configuration.
    """

    experiment: str
    runs: int
    to_make: int
    measured: int
    core_s: float
    most_core_s: float
    at_limit: int
    over_budget: int
    disk_bytes: int


def forecast(grid: Grid, results: Path, experiments: Sequence[str] = ()) -> list[Forecast]:
    """Return what each of these experiments, or all of the grid, will take; nothing is locked, run or changed.

    Raises ``ConfigError`` for an experiment that is not in `run`.
    """
    for name in experiments:
        if name not in grid.experiments:
            raise ConfigError(unknown_name("experiment in `run`", name, grid.experiments))
    wanted = list(experiments) or grid.experiments
    progress = progress_of(grid, results)
    costs, ended = Costs(progress), {name: 0 for name in grid.experiments}
    for one in progress:
        ended[one.batch.experiment] += one.n_ended
    used = {name: _bytes_of(results, name) for name in grid.experiments}
    of_all = _per_run(sum(used.values()), sum(ended.values()), _RUN_BYTES)
    left_s = grid.budget_s
    forecasts = []
    for name in (name for name in grid.experiments if name in wanted):
        batches = [one for one in progress if one.batch.experiment == name]
        forecasts.append(_of(grid, batches, costs, _per_run(used[name], ended[name], of_all), left_s))
        left_s = None if left_s is None else left_s - forecasts[-1].core_s / grid.threads
    return forecasts


def data_bytes(grid: Grid, results: Path, experiments: Iterable[str]) -> int:
    """Return the bytes of the data sets of these experiments that are not prepared yet, eight for each number."""
    names = {batch.dataset for name in experiments for batch in grid.batches(name)}
    registry = registry_of(grid.config)
    entries = [registry[name] for name in sorted(names) if not (results / "data" / f"{name}.npz").exists()]
    return sum(8 * one.n_samples * (one.n_samples if one.kind == "kernel" else one.n_features) for one in entries)


def _of(
    grid: Grid, batches: Sequence[BatchProgress], costs: Costs, run_bytes: float, budget_s: float | None
) -> Forecast:
    name = batches[0].batch.experiment
    most_s, spent_s, over_budget = grid.most_s(name), 0.0, 0
    for one in batches:
        run_s = costs.run_s(one)
        if budget_s is not None:
            over_budget += one.left - min(one.left, max(0, int((budget_s - spent_s) / run_s)))
        spent_s += one.left * run_s
    to_make = sum(one.left for one in batches)
    return Forecast(
        experiment=name,
        runs=sum(len(one.batch.runs) for one in batches),
        to_make=to_make,
        measured=sum(one.left for one in batches if costs.is_measured(one)),
        core_s=costs.core_s_left(batches),
        most_core_s=to_make * most_s * grid.threads,
        at_limit=sum(_at_limit(grid, cell, costs) for cell in _cells(batches)),
        over_budget=over_budget,
        disk_bytes=round(to_make * run_bytes),
    )


def _cells(batches: Sequence[BatchProgress]) -> Iterable[list[BatchProgress]]:
    cells: dict[tuple[str, ...], list[BatchProgress]] = {}
    for one in batches:
        cells.setdefault((one.batch.dataset, *one.batch.cell), []).append(one)
    return cells.values()


def _at_limit(grid: Grid, cell: Sequence[BatchProgress], costs: Costs) -> int:
    """Return how many of a cell's runs to make will be cut."""
    left, first = sum(one.left for one in cell), cell[0]
    if not costs.is_measured(first):
        unlimited_s = grid.unlimited_s(first.batch) * costs.ratio(first)
        return left if unlimited_s > grid.limits(first.batch.experiment).time_s else 0
    ended = {record.run: record.status for one in cell for record in one.known}
    return round(left * sum(status in _CUT for status in ended.values()) / len(ended))


def _per_run(n_bytes: int, n_runs: int, otherwise: float) -> float:
    return (n_bytes + _PRIOR_RUNS * otherwise) / (n_runs + _PRIOR_RUNS)


def _bytes_of(results: Path, experiment: str) -> int:
    """Return the bytes on disk of an experiment's files, while other jobs may be at work on them."""
    total = 0
    for path in (path for kind in _KINDS for path in (results / kind / experiment).rglob("*")):
        try:
            total += 512 * path.stat().st_blocks if path.is_file() else 0
        except OSError:
            # Removed since it was listed.
            continue
    return total
