"""From the section ``kpca`` of a configuration to jobs: every data set, its splits in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from kdrbench.bench.experiment import Config
from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.metric_config import value_for
from kdrbench.bench.sources import sources_of
from kdrbench.bench.supervisor import GRACE_S
from kdrbench.datasets.registry import load_registry
from kdrbench.metric_learning import build_learner

# One job makes so many splits, of some seconds each: its imports take two, and 40 splits then keep four cores busy on
# each data set.
SPLITS_PER_JOB = 10


class MetricGrid:
    """All batches of the section ``kpca`` of a checked configuration; none without the section."""

    def __init__(self, config: Config, environment: Path | None = None) -> None:
        self._environment = environment
        self.section: Config | None = config.get("kpca")
        self._batches = {batch.path: batch for batch in self._expand()}

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets to run, in the order of the tables."""
        return list(self.section["datasets"]) if self.section else []

    @property
    def learners(self) -> list[str]:
        """Names of the learners, in the order of the tables."""
        return list(self.section["learners"]) if self.section else []

    @property
    def figures(self) -> list[str]:
        """Names of the data sets that figures show."""
        return list(self.section["figures"]) if self.section else []

    @property
    def time_limit_s(self) -> str:
        """Wall-clock limit of a split; text, since Snakemake's resources are whole numbers or text."""
        return f"{self.section['limits']['time_s']:g}" if self.section else "0"

    @property
    def memory_limit_mib(self) -> int:
        """Memory limit of a split."""
        return int(self.section["limits"]["memory_mib"]) if self.section else 0

    def runtime_min(self, batch: MetricBatch) -> int:
        """Return the minutes a cluster must grant a batch: its splits at their limit, and ten more."""
        return math.ceil(len(batch.splits) * (float(self.time_limit_s) + GRACE_S) / 60) + 10

    def batches(self, dataset: str | None = None) -> list[MetricBatch]:
        """Return the batches of one data set, or of all."""
        return [batch for batch in self._batches.values() if dataset in (None, batch.dataset)]

    def batch(self, dataset: str, splits: str) -> MetricBatch:
        """Return the batch with these axes; ``KeyError`` if the configuration holds none."""
        return self._batches[f"{dataset}/{splits}"]

    def _expand(self) -> Iterator[MetricBatch]:
        if not self.section or not self.section["datasets"]:
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
