"""From a configuration to jobs: every run of every experiment, batched by fold, and cheap batches bundled."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kdrbench.baselines import build_baseline
from kdrbench.bench.config import NO_KERNEL, check_config, method_of
from kdrbench.bench.experiment import (
    EIGENGAP,
    Config,
    labellings_of,
    parameters_of,
    rows_of,
    runs_of,
    split_of,
    time_limit_of,
)
from kdrbench.bench.job_size import AUTO, MOST_OF_A_KERNEL_S, job_of, runs_per_batch, seconds_of_a_run
from kdrbench.bench.monitor import REFEREE_SHARE
from kdrbench.bench.plan import Batch, Bundle, Kind
from kdrbench.bench.sources import Sources, sources_of
from kdrbench.bench.supervisor import GRACE_S
from kdrbench.bench.terms import Terms
from kdrbench.datasets.own import registry_of
from kdrbench.errors import ConfigError, unknown_name
from kdrbench.kernels.registry import own_modules
from kdrbench.solvers.registry import build_solver

# What makes the job of a solver, by paradigm.
_JOBS = {
    "supervised": "kdrbench.bench.solver_job",
    "unsupervised": "kdrbench.bench.clustering_job",
    "alternative": "kdrbench.bench.clustering_job",
}


class Grid:
    """All batches of a checked configuration.

    ``environment`` is the conda environment that batches run in, if they do not run in this one: its file then stands
    for the versions of packages.
    """

    def __init__(self, config: Config, environment: Path | None = None) -> None:
        check_config(config)
        self.config = config
        self._registry = registry_of(config)
        self._environment = environment
        self._known_sources: dict[tuple[str, ...], Sources] = {}
        self._reckoned_s: dict[str, float] = {}
        expanded = list(self._expand())
        self._batches = [batch for _, batch in expanded]
        jobs: dict[str, list[Batch]] = {}
        for job, batch in expanded:
            jobs.setdefault(job, []).append(batch)
        self._bundles = {job: Bundle(job, tuple(batches)) for job, batches in jobs.items()}

    @property
    def threads(self) -> int:
        """Cores and BLAS threads of a run."""
        return int(self.config["timing"]["threads"])

    @property
    def repeat_for_s(self) -> str:
        """For how long a short solve is repeated; text like the limits."""
        return f"{self.config['timing']['repeat_for_s']:g}"

    def time_limit_s(self, experiment: str) -> str:
        """Return the wall-clock limit of a run; text, since Snakemake's resources are whole numbers or text."""
        return f"{time_limit_of(self.config, experiment):g}"

    @property
    def memory_limit_mib(self) -> int:
        """Memory limit of a run."""
        return int(self.config["limits"]["memory_mib"])

    def terms(self, experiment: str) -> Terms:
        """Return what is asked of the runs of an experiment beside their results."""
        timed = self.config["timing"].get("strict", True) and self.config["experiments"][experiment].get("timed", True)
        return Terms(timed, self.config["limits"].get("budget_s"))

    def runtime_min(self, bundle: Bundle) -> int:
        """Return the minutes a cluster must grant a job: its runs at their limit, the referee, and ten more.

        One run is counted twice, for one that somebody kills is run again. Of cells that share a job two runs may reach
        their limit; all others are reckoned at sixty times what such a cell may be reckoned to take.
        """
        a_run_s = (1.0 + REFEREE_SHARE) * (time_limit_of(self.config, bundle.experiment) + GRACE_S)
        cells_s = [len(batch.folds) * a_run_s for batch in bundle.batches]
        if len(cells_s) > 1:
            cells_s = [a_run_s, *(min(cell_s, 60 * MOST_OF_A_KERNEL_S) for cell_s in cells_s)]
        return math.ceil((a_run_s + sum(cells_s)) / 60) + 10

    def reckoned_s(self, batch: Batch) -> float:
        """Return about how long a run of the batch takes: as :mod:`.job_size` reckons, and at most its limit."""
        return min(self._reckoned_s[batch.path], time_limit_of(self.config, batch.experiment))

    def to_json(self) -> str:
        """Return the configuration as one line of JSON."""
        return json.dumps(self.config, separators=(",", ":"))

    def data_definition(self, dataset: str) -> str:
        """Return the definition of a data set of the user's own as JSON; of a registered one there is none."""
        return json.dumps(self.config.get("datasets", {}).get(dataset, {}), sort_keys=True)

    def data_sha256(self, dataset: str) -> str:
        """Return the hash of a data set's values."""
        return self._registry[dataset].content_sha256

    @property
    def experiments(self) -> list[str]:
        """Names of the experiments to run."""
        return list(self.config["run"])

    def bundles(self, experiment: str | None = None) -> list[Bundle]:
        """Return what the jobs of one experiment make, or those of all."""
        return [bundle for bundle in self._bundles.values() if experiment in (None, bundle.experiment)]

    def bundle(self, experiment: str, dataset: str, cells: str) -> Bundle:
        """Return what the job makes whose path is of these parts; ``ConfigError`` if the configuration holds none."""
        path = "/".join((experiment, dataset, cells))
        if path not in self._bundles:
            known = [bundle.path for bundle in self.bundles(experiment) if bundle.dataset == dataset]
            raise ConfigError(f"{unknown_name('job', path, known)} Cheap cells share one, see docs/experiments.md")
        return self._bundles[path]

    def batches(self, experiment: str | None = None) -> list[Batch]:
        """Return the batches of one experiment, or of all, in the order of the configuration."""
        return [batch for batch in self._batches if experiment in (None, batch.experiment)]

    def _expand(self) -> Iterator[tuple[str, Batch]]:
        """Yield each batch with the path of its job."""
        for name in self.experiments:
            experiment = self.config["experiments"][name]
            for dataset in experiment["datasets"]:
                for kernel in experiment["kernels"]:
                    for solver in experiment["solvers"]:
                        yield from self._batches_of(name, dataset, self._solver_part(experiment, kernel, solver))
                for baseline in experiment.get("baselines", []):
                    yield from self._batches_of(name, dataset, self._baseline_part(baseline))

    def _solver_part(self, experiment: Config, kernel: str, solver: str) -> dict[str, Any]:
        definition = self.config["solvers"][solver]
        method = method_of(definition)
        found = build_solver(method)
        return {
            "kind": Kind.SOLVER,
            "kernel": kernel,
            "kernel_definition": dict(self.config["kernels"][kernel]),
            "solver": solver,
            "solver_definition": method,
            "solver_version": getattr(found, "version", 1),
            "start": definition.get("start", experiment["start"]),
            "evaluation": dict(experiment.get("evaluation", {})),
            **self._sources(
                type(found).__module__,
                _JOBS[experiment["paradigm"]],
                "kdrbench.bench.outcome",
                *own_modules(self.config["kernels"][kernel]),
            ),
        }

    def _baseline_part(self, baseline: str) -> dict[str, Any]:
        definition = dict(self.config["baselines"][baseline])
        found = build_baseline(definition)
        return {
            "kind": Kind.BASELINE,
            "kernel": NO_KERNEL,
            "kernel_definition": {},
            "solver": baseline,
            "solver_definition": definition,
            "solver_version": getattr(found, "version", 1),
            "start": "",
            "evaluation": {},
            **self._sources(type(found).__module__, "kdrbench.bench.baseline_job", "kdrbench.bench.outcome"),
        }

    def _sources(self, *modules: str) -> dict[str, Any]:
        """Return what the results of a method depend on in code."""
        if modules not in self._known_sources:
            self._known_sources[modules] = sources_of(modules)
        sources = self._known_sources[modules]
        return {"sources_sha256": sources.sha256, "packages": sources.packages_in(self._environment)}

    def _batches_of(self, name: str, dataset: str, part: dict[str, Any]) -> Iterator[tuple[str, Batch]]:
        experiment, config, entry = self.config["experiments"][name], self.config, self._registry[dataset]
        n_folds, n_rows, q = runs_of(experiment), rows_of(experiment, dataset), experiment["components"][dataset]
        # A rule finds q in the data, which are not read here: no more than this.
        reckoned = entry.n_features if q == EIGENGAP else q
        asked, paradigm = experiment.get("folds_per_job", AUTO), experiment["paradigm"]
        a_run_s = seconds_of_a_run(n_rows or entry.n_samples, entry.n_features, reckoned, part, paradigm)
        size = runs_per_batch(asked, n_folds, a_run_s)
        for first in range(0, n_folds, size):
            batch = Batch(
                experiment=name,
                paradigm=paradigm,
                parameters=parameters_of(experiment, entry),
                labellings=labellings_of(experiment, dataset),
                dataset=dataset,
                data_sha256=entry.content_sha256,
                n_components=q,
                split=split_of(experiment),
                n_folds=n_folds,
                n_rows=n_rows,
                folds=tuple(range(first, min(first + size, n_folds))),
                seed=config["seed"],
                threads=self.threads,
                **part,
            )
            self._reckoned_s[batch.path] = a_run_s
            yield job_of(batch, asked, a_run_s), batch
