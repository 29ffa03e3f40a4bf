"""How the runs of an experiment get their samples: what the configuration says, and the faults a schema cannot find."""

from __future__ import annotations

from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import ConfigError
from kdrbench.suite.engine.system import Config
from kdrbench.suite.systems.ikdr.definition import SEMI_SUPERVISED, SUPERVISED
from kdrbench.suite.systems.ikdr.folds import Sampling, Scaling, Split

# What says how a partition is drawn.
_OF_FOLDS = ("partitions", "stratified", "scaling")


def split_of(experiment: Config) -> Split:
    """Return what the experiment's runs are made on."""
    return Split(experiment.get("split", Split.FOLDS))


def runs_of(experiment: Config) -> int:
    """Return how many runs a cell has: folds of its partitions, subsets, draws of shown labels, or one on all rows."""
    return int(experiment.get("folds", 1)) * int(experiment.get("partitions", 1))


def is_redrawn(experiment: Config) -> bool:
    """Return whether the folds are drawn several times: to see how far means move, not to compare methods again."""
    return int(experiment.get("partitions", 1)) > 1


def sampling_of(experiment: Config, dataset: str) -> Sampling:
    """Return how the runs of a data set get their samples."""
    split = split_of(experiment)
    return Sampling(
        split,
        n_folds=int(experiment.get("folds", 1)),
        n_rows=experiment["rows"][dataset] if split is Split.SUBSETS else None,
        partitions=int(experiment.get("partitions", 1)),
        stratified=bool(experiment.get("stratified", True)),
        scaling=Scaling(experiment.get("scaling", Scaling.TRAINING)),
    )


def check_split(place: str, experiment: Config) -> None:
    """Check the split, and that what belongs to some splits only is set where it means something."""
    split, folds = split_of(experiment), experiment.get("folds")
    if split is Split.FOLDS and experiment["paradigm"] != SUPERVISED:
        raise ConfigError(
            f"config: {place}.split is 'folds'; clusters of training rows say nothing of test rows, so "
            f"{experiment['paradigm']} experiments need split: none (all rows, once) or subsets"
        )
    if split is Split.NONE and folds not in (None, 1) and experiment["paradigm"] != SEMI_SUPERVISED:
        raise ConfigError(f"config: {place}.folds is {folds}; with split: none all rows are used once, so leave it out")
    if split is not Split.NONE and folds is None:
        raise ConfigError(f"config: the key 'folds' is missing in {place}; split: {split} needs it")
    if split is Split.FOLDS and folds is not None and folds < 2:
        raise ConfigError(f"config: {place}.folds is {folds}; it must be at least 2")
    if split is not Split.SUBSETS and "rows" in experiment:
        raise ConfigError(f"config: {place}.rows is set with split: {split}; only split: subsets draws rows")
    for key in _OF_FOLDS:
        if split is not Split.FOLDS and key in experiment:
            raise ConfigError(f"config: {place}.{key} is set with split: {split}; only split: folds makes partitions")


def check_samples(place: str, experiment: Config, entry: DatasetEntry) -> None:
    """Check that a data set has the samples that folds or subsets need, and labels that stay hidden."""
    dataset, split = entry.name, split_of(experiment)
    if experiment.get("shown", 0) >= max(entry.class_counts, default=0) > 0:
        raise ConfigError(
            f"config: {place}.shown is {experiment['shown']}; the largest class of data set {dataset!r} has "
            f"{max(entry.class_counts)} samples, so no label would be hidden: it must be below that, or a share below 1"
        )
    if split is Split.FOLDS and experiment["folds"] > max(entry.class_counts):
        raise ConfigError(
            f"config: {place}.folds is {experiment['folds']}; the largest class of data set {dataset!r} has "
            f"{max(entry.class_counts)} samples, so it must be at most that"
        )
    if split is Split.SUBSETS:
        rows = experiment.get("rows", {}).get(dataset)
        if rows is None:
            raise ConfigError(f"config: {place}.rows names no number of rows for data set {dataset!r}")
        if rows > entry.n_samples:
            raise ConfigError(
                f"config: {place}.rows.{dataset} is {rows}; data set {dataset!r} has {entry.n_samples} samples, so it "
                f"must be between 2 and {entry.n_samples}"
            )
