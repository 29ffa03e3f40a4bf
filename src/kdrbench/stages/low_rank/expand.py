"""From the section ``lowrank`` of a configuration to jobs: every task and method, its runs in one job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kdrbench.bench.experiment import Config
from kdrbench.bench.lowrank_batch import LowrankBatch
from kdrbench.bench.parts_grid import PartsGrid
from kdrbench.bench.sources import sources_of
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, unknown_name

LOWRANK_RECORDS = "results/lowrank"
_ROOT = "kdrbench.bench.lowrank_task"
# Those of the divergences are imported by name, which is not followed.
_COMPILED = "kdrbench.lowrank.compiled"


class LowrankGrid(PartsGrid[LowrankBatch]):
    """All batches of the section ``lowrank`` of a checked configuration; none without the section."""

    def __init__(self, config: Config, environment: Path | None = None) -> None:
        super().__init__(config.get("lowrank", {"run": [], "limits": {"time_s": 0.0, "memory_mib": 0}}), environment)

    @property
    def tasks(self) -> dict[str, Config]:
        """Return the tasks to run, in their order."""
        return {name: self.section["tasks"][name] for name in self.section["run"]}

    def batch(self, task: str, method: str, runs: str) -> LowrankBatch:
        """Return the batch with these axes; ``KeyError`` if the configuration holds none."""
        return self._batches[f"{task}/{method}/{runs}"]

    def records(self) -> list[str]:
        """Return the files of records of all batches."""
        return [f"{LOWRANK_RECORDS}/{batch.path}.jsonl" for batch in self.batches()]

    @property
    def table(self) -> list[str]:
        """Return the table of all rows, or nothing where nothing is run."""
        return [f"{LOWRANK_RECORDS}.csv"] if self._batches else []

    def reports(self) -> list[str]:
        """Return tables, and figures of the tasks with several numbers of constraints."""
        if not self._batches:
            return []
        stems = ["reports/lowrank", "reports/lowrank_measured"]
        drawn = [name for name, task in self.tasks.items() if len(task["constraints"]) > 1]
        figures = [f"reports/figures/lowrank_{name}.{kind}" for name in drawn for kind in ("pdf", "png", "json")]
        return [f"{stem}.{kind}" for stem in stems for kind in ("tex", "html", "csv", "json")] + figures

    def _expand(self) -> Iterator[LowrankBatch]:
        section = self.section
        if not section["run"]:
            return
        for name, task in self.tasks.items():
            for method in task["methods"]:
                definition = section["methods"][method]
                compiled = [f"{_COMPILED}.{definition['divergence']}"] if "divergence" in definition else []
                sources = sources_of([_ROOT, *compiled])
                yield LowrankBatch(
                    task=name,
                    dataset=task["dataset"],
                    data_sha256=load_registry()[task["dataset"]].content_sha256,
                    method=method,
                    definition=dict(definition),
                    constraints=tuple(task["constraints"]),
                    runs=tuple(range(section["runs"])),
                    seed=section["seed"],
                    sources_sha256=sources.sha256,
                    packages=sources.packages_in(self._environment),
                )


def check_lowrank_config(section: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the section."""
    for name in section["run"]:
        if name not in section["tasks"]:
            raise ConfigError(f"config: lowrank.run: {unknown_name('task', name, sorted(section['tasks']))}")
    for name, method in section["methods"].items():
        if ("step" in method) == ("divergence" in method) or ("solver" in method) != ("divergence" in method):
            raise ConfigError(
                f"config: lowrank.methods.{name} must hold either divergence and solver, or the step of DefiniteBoost; "
                f"it holds {', '.join(method)}"
            )
    for name, task in section["tasks"].items():
        _check_task(f"config: lowrank.tasks.{name}", task, section)


def _check_task(place: str, task: Config, section: Config) -> None:
    registry = load_registry()
    if task["dataset"] not in registry:
        raise ConfigError(f"{place}.dataset: {unknown_name('data set', task['dataset'], sorted(registry))}")
    entry = registry[task["dataset"]]
    if not entry.classes:
        raise ConfigError(f"{place}.dataset: data set {entry.name!r} has no labels; constraints come from them")
    for method in task["methods"]:
        if method not in section["methods"]:
            raise ConfigError(f"{place}.methods: {unknown_name('method', method, sorted(section['methods']))}")
    pairs = entry.n_samples * (entry.n_samples - 1) // 2
    if max(task["constraints"]) > pairs:
        raise ConfigError(
            f"{place}.constraints asks for {max(task['constraints'])}; the {entry.n_samples} samples of {entry.name!r} "
            f"have {pairs} pairs, so it must be at most that"
        )
