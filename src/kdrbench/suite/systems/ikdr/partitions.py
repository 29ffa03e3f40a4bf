"""How much the mean of a cross validation varies when its folds are drawn again, from runs over many partitions.

The folds of one partition share training rows and together hold every row once: the spread over them, divided by the
root of their number, is no estimate of how their mean varies. Experiments with ``partitions`` repeat the whole cross
validation on partitions drawn again; the standard deviation of the means is the standard error of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.reports.records import IKDR, Config, experiments_of
from kdrbench.suite.reports.tables.labels import dataset_label, kernel_label, method_label
from kdrbench.suite.reports.tables.table import Column, Table, lay_out
from kdrbench.suite.systems.ikdr.config import is_redrawn

# Two means have a standard deviation, but say next to nothing.
FEWEST_PARTITIONS = 5
_TITLES = {"cost": "cost", "quality": "accuracy", "train_accuracy": "training accuracy"}
# Of whose partitions a rival's mean varies as well, where its own were not drawn again: the same problems on the same
# rows.
_INSTEAD = ("ism", "ism_authors")
# What makes the mean of another protocol another number, and what it is where nothing is said.
_DRAWN: dict[str, Any] = {"folds": None, "stratified": True, "scaling": "training"}
_DRAWN |= {"paradigm_params": {}, "evaluation": {}}


@dataclass(frozen=True)
class Spread:
    """Standard deviation (ddof 1) of the means over ``partitions`` partitions."""

    error: float
    partitions: int


# Data set, kernel, method, number, and how the samples are drawn and used.
Place = tuple[str, str, str, str, str]


class Partitions:
    """The spreads of all cells that were run over redrawn partitions."""

    def __init__(self, runs: pd.DataFrame, config: Config) -> None:
        self._spreads: dict[Place, Spread] = {}
        for name in experiments_of(config, IKDR):
            experiment = config["experiments"][name]
            if is_redrawn(experiment) and "partition" in runs:
                self._add(runs[runs["experiment"] == name], experiment)

    def _add(self, runs: pd.DataFrame, experiment: Mapping[str, Any]) -> None:
        axes, numbers = ["dataset", "kernel", "method"], [name for name in _TITLES if name in runs]
        # Of these columns alone: a row has some hundred.
        for cell, rows in runs[[*axes, "status", "partition", *numbers]].groupby(axes, sort=False):
            if (rows["status"] == str(Status.FAILED)).any():
                continue
            dataset, kernel, method = map(str, cell)
            for number in numbers:
                whole = rows.groupby("partition")[number]
                means = whole.mean()[whole.count() == int(experiment["folds"])]
                if len(means) >= FEWEST_PARTITIONS:
                    place = dataset, kernel, method, number, _protocol(experiment, dataset)
                    self._spreads.setdefault(place, Spread(float(means.std(ddof=1)), len(means)))

    def rows(self) -> Iterator[tuple[Place, Spread]]:
        """Yield every spread that is known with its place."""
        yield from self._spreads.items()

    def of(self, experiment: Mapping[str, Any], dataset: str, kernel: str, method: str, number: str) -> Spread | None:
        """Return how the mean of ``number`` ("cost", "quality") over the folds of an experiment varies.

        That of ISM on the same data and kernel where the method's own partitions were not redrawn.
        """
        protocol = _protocol(experiment, dataset)
        places = ((dataset, kernel, name, number, protocol) for name in (method, *_INSTEAD))
        return next((self._spreads[place] for place in places if place in self._spreads), None)


def _protocol(experiment: Mapping[str, Any], dataset: str) -> str:
    drawn = [experiment.get(name, default) for name, default in _DRAWN.items()]
    return str([experiment.get("components", {}).get(dataset), *drawn])


_COLUMNS = (
    Column("Data", lambda row: dataset_label(row[0][0])),
    Column("Kernel", lambda row: kernel_label(row[0][1])),
    Column("Method", lambda row: method_label(row[0][2])),
    Column("Mean of", lambda row: _TITLES[row[0][3]]),
    Column("Partitions", lambda row: row[1].partitions),
    Column("Standard deviation", lambda row: f"{row[1].error:.3g}"),
)


def spread_table(partitions: Partitions) -> Table:
    """Return how each mean varies, as a table."""
    note = "Standard deviation of the means over partitions drawn again: the standard error of one of them."
    return lay_out("spread", "How the means vary", _COLUMNS, partitions.rows(), notes=[note], n_labels=4)
