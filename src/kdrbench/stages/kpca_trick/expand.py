"""From the section ``kpca`` of a configuration to jobs: every data set, its splits in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kdrbench.bench.experiment import Config
from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_config import value_for
from kdrbench.bench.parts_grid import PartsGrid
from kdrbench.bench.sources import sources_of
from kdrbench.datasets.registry import load_registry
from kdrbench.metric_learning import build_learner

# One job makes so many splits, of some seconds each: its imports take two, and 40 splits then keep four cores busy on
# each data set.
SPLITS_PER_JOB = 10


class MetricGrid(PartsGrid[MetricBatch]):
    """All batches of the section ``kpca`` of a checked configuration; none without the section."""

    def __init__(self, config: Config, environment: Path | None = None) -> None:
        nothing = {"datasets": [], "learners": [], "figures": [], "limits": {"time_s": 0.0, "memory_mib": 0}}
        super().__init__(config.get("kpca", nothing), environment)

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets to run, in the order of the tables."""
        return list(self.section["datasets"])

    @property
    def learners(self) -> list[str]:
        """Names of the learners, in the order of the tables."""
        return list(self.section["learners"])

    @property
    def figures(self) -> list[str]:
        """Names of the data sets that figures show."""
        return list(self.section["figures"])

    def batch(self, dataset: str, splits: str) -> MetricBatch:
        """Return the batch with these axes; ``KeyError`` if the configuration holds none."""
        return self._batches[f"{dataset}/{splits}"]

    def _expand(self) -> Iterator[MetricBatch]:
        if not self.section["datasets"]:
            return
        section = self.section
        learners = {type(build_learner(name)).__module__ for name in section["learners"]}
        sources = sources_of(["kdrbench.bench.metric_split", *learners])
        for dataset in section["datasets"]:
            for first in range(0, section["splits"], SPLITS_PER_JOB):
                yield MetricBatch(
                    dataset=dataset,
                    data_sha256=load_registry()[dataset].content_sha256,
                    learners=tuple(section["learners"]),
                    variants=tuple(section["variants"]),
                    candidates=dict(value_for(section["candidates"], dataset)),
                    n_train=value_for(section["training"], dataset),
                    n_folds=section["folds"],
                    test_selected=dataset in section["test_selected"],
                    splits=tuple(range(first, min(first + SPLITS_PER_JOB, section["splits"]))),
                    seed=section["seed"],
                    sources_sha256=sources.sha256,
                    packages=sources.packages_in(self._environment),
                )
