"""From a configuration to jobs: every run of every experiment, in batches, and cheap batches in bundles.

Starting a job takes a second or two, so cheap runs share one. Costly ones get a job each, so that they run side by side
and an interruption loses little. Where ``runs_per_job`` is ``auto``, the runs of a cell are made in, by what all of
them are estimated to take together,

    at most 10 s     one job of all such cells of the experiment
    at most 30 s     one job of all such cells of a data set that differ in the method alone
    at most 300 s    one job of the cell
    more             a job each

A wrong estimate costs time, never a result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kdrbench.datasets.own import registry_of
from kdrbench.errors import ConfigError, unknown_name
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.engine.identity import revision_words
from kdrbench.suite.engine.isolation.guardian import GRACE_S
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.system import Cell, Config, System

AUTO, CHEAP = "auto", "cheap"
# Seconds of a cell.
MOST_OF_AN_EXPERIMENT_S, MOST_OF_A_KERNEL_S, MOST_OF_A_CELL_S = 10.0, 30.0, 300.0
# The referee takes a tenth of a run's time.
_REFEREE = 1.1


class Grid:
    """All batches of a checked configuration; ``system_of`` returns the system of an experiment."""

    def __init__(self, config: Config, system_of: Callable[[Config], System]) -> None:
        self.config = config
        self._system_of = system_of
        self._registry = registry_of(config)
        self._revisions: dict[tuple[Any, ...], dict[str, str]] = {}
        self._run_s: dict[str, float] = {}
        self._batches: list[Batch] = []
        bundles: dict[str, list[Batch]] = {}
        for job, batch, run_s in self._expand():
            if batch.path in self._run_s:
                raise ConfigError(
                    f"config: experiments.{batch.experiment} makes {batch.path} twice; name its cells apart"
                )
            self._run_s[batch.path] = run_s
            self._batches.append(batch)
            bundles.setdefault(job, []).append(batch)
        self._bundles = {job: Bundle(job, tuple(batches)) for job, batches in bundles.items()}

    @property
    def name(self) -> str:
        """The configuration's name; empty for the one that is at the top of results and reports."""
        return str(self.config.get("name", ""))

    @property
    def experiments(self) -> list[str]:
        """Names of the experiments to run."""
        return list(self.config["run"])

    @property
    def systems(self) -> dict[str, list[str]]:
        """Names of the experiments to run, by system."""
        by_system: dict[str, list[str]] = {}
        for name in self.experiments:
            by_system.setdefault(self.config["experiments"][name]["system"], []).append(name)
        return by_system

    def system(self, experiment: str) -> System:
        """Return the system of an experiment."""
        return self._system_of(self.config["experiments"][experiment])

    @property
    def threads(self) -> int:
        """Cores and BLAS threads of a run."""
        return int(self.config["timing"]["threads"])

    @property
    def repeat_for_s(self) -> float:
        """For how long a short solve is repeated."""
        return float(self.config["timing"]["repeat_for_s"])

    def limits(self, experiment: str) -> Limits:
        """Return the limits of one run: the experiment's own, or those of the configuration."""
        limits = {**self.config["limits"], **self.config["experiments"][experiment].get("limits", {})}
        return Limits(float(limits["time_s"]), float(limits["memory_mib"]))

    def timed(self, experiment: str) -> bool:
        """Return whether the runs of an experiment own their cores."""
        strict = self.config["timing"].get("strict", True)
        return bool(strict and self.config["experiments"][experiment].get("timed", True))

    def runtime_min(self, bundle: Bundle) -> int:
        """Return the minutes that a cluster must grant a job: its runs at their limit, the referee, and ten more.

        One run counts twice, since a run that is killed from outside is made again. Of cells that share a job two runs
        may reach their limit; each cell counts for at most sixty times what it is estimated to take.
        """
        run_s = self.most_s(bundle.experiment)
        cells_s = [len(batch.runs) * run_s for batch in bundle.batches]
        if len(cells_s) > 1:
            most_s = [60 * max(1.0, len(batch.runs) * self.estimated_s(batch)) for batch in bundle.batches]
            cells_s = [run_s, *map(min, cells_s, most_s)]
        return math.ceil((run_s + sum(cells_s)) / 60) + 10

    def most_s(self, experiment: str) -> float:
        """Return the seconds of a run that reaches the time limit of the experiment, with its referee."""
        return _REFEREE * (self.limits(experiment).time_s + GRACE_S)

    def estimated_s(self, batch: Batch) -> float:
        """Return about how long a run of the batch takes: its system's estimate, at most the limit."""
        return min(self._run_s[batch.path], self.limits(batch.experiment).time_s)

    def to_json(self) -> str:
        """Return the configuration as one line of JSON."""
        return json.dumps(self.config, separators=(",", ":"))

    def data_definition(self, dataset: str) -> str:
        """Return the definition of a data set of the user's own as JSON; of a registered one there is none."""
        return json.dumps(self.config.get("datasets", {}).get(dataset, {}), sort_keys=True)

    def data_sha256(self, dataset: str) -> str:
        """Return the hash of a data set's values."""
        return self._registry[dataset].content_sha256

    def bundles(self, experiment: str | None = None) -> list[Bundle]:
        """Return what the jobs of one experiment make, or those of all."""
        return [bundle for bundle in self._bundles.values() if experiment in (None, bundle.experiment)]

    def bundle(self, path: str) -> Bundle:
        """Return what the job of this path makes; ``ConfigError`` if the configuration holds none."""
        if path not in self._bundles:
            jobs = [bundle.path for bundle in self.bundles(path.partition("/")[0])]
            raise ConfigError(f"{unknown_name('job', path, jobs)} Cheap cells share one, see docs/experiments.md")
        return self._bundles[path]

    def batches(self, experiment: str | None = None) -> list[Batch]:
        """Return the batches of one experiment, or of all, in the order of the configuration."""
        return [batch for batch in self._batches if experiment in (None, batch.experiment)]

    def expected(self, experiments: list[str]) -> dict[tuple[Any, ...], str]:
        """Return the axes of every row of these experiments, with the definition for which it is to be made."""
        batches = [batch for name in experiments for batch in self.batches(name)]
        return {axes: batch.definition_sha256 for batch in batches for axes in batch.axes}

    def experiment_paths(self, experiment: str, kind: str, results: Path = Path("results")) -> list[str]:
        """Return the files of all jobs of an experiment that are of a ``kind``: records, traces or findings."""
        files = [JobFiles.of(results, bundle.path) for bundle in self.bundles(experiment)]
        return [str(getattr(one, kind)) for one in files]

    def _expand(self) -> Iterator[tuple[str, Batch, float]]:
        for name in self.experiments:
            asked = self.config["experiments"][name].get("runs_per_job", AUTO)
            for cell in self.system(name).expand(name, self.config):
                size = runs_per_batch(asked, cell)
                for first in range(0, cell.n_runs, size):
                    batch = self._batch(name, cell, tuple(range(first, min(first + size, cell.n_runs))))
                    yield job_of(batch, asked, cell), batch, cell.run_s

    def _batch(self, name: str, cell: Cell, runs: tuple[int, ...]) -> Batch:
        return Batch(
            system=self.config["experiments"][name]["system"],
            experiment=name,
            dataset=cell.dataset,
            data_sha256=self.data_sha256(cell.dataset),
            cell=cell.names,
            definition=cell.definition,
            runs=runs,
            rows=cell.rows,
            seed=self.config["seed"],
            threads=self.threads,
            revisions=self._revisions_of(name, cell),
        )

    def _revisions_of(self, name: str, cell: Cell) -> dict[str, str]:
        """Return the revisions of a cell's components; a system of the user's own is one of them."""
        system = self.config["experiments"][name]["system"]
        plugins = {**cell.plugins, f"system/{system}": type(self.system(name)).__module__}
        key = cell.components, *plugins.items()
        if key not in self._revisions:
            self._revisions[key] = revision_words(cell.components, plugins)
        return self._revisions[key]


def runs_per_batch(asked: str | int, cell: Cell) -> int:
    """Return ``asked``, or the number of runs by the rule above where that is ``auto``."""
    if asked != AUTO:
        return int(asked)
    return cell.n_runs if cell.n_runs * cell.run_s <= MOST_OF_A_CELL_S else 1


def job_of(batch: Batch, asked: str | int, cell: Cell) -> str:
    """Return the path of the job that makes the batch; others may have the same.

    It depends on the batch's own cell alone, so that a cell that comes or goes moves no other into another job.
    """
    cell_s = cell.n_runs * cell.run_s
    if asked != AUTO or cell_s > MOST_OF_A_KERNEL_S:
        return batch.path
    names = (batch.dataset, *batch.cell[:-1]) if cell_s > MOST_OF_AN_EXPERIMENT_S else ()
    return "/".join((batch.experiment, *names, CHEAP))
